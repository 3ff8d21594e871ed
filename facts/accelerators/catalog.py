"""Look-ups in the catalog of machines."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import msgspec

from groundplan.facts.accelerators.model import Catalog, CpuFamily, LocalSsd, Machine

DATA = Path(__file__).with_name("catalog.json")

#: Suffix of variants of a machine type that have no Local SSDs.
NO_LOCAL_SSD = "-nolssd"

#: ``n2-standard-8``, ``c3-standard-8-lssd``, ``n2-custom-8-16384``; vCPUs are the first number after a word.
_CPU_NAME = re.compile(r"[a-z]\w*-[a-z]+-(?P<vcpus>\d+)(-[a-z0-9]+)*")
#: Shared-core machines, whose names carry no number.
_SHARED_CORE = {"e2-micro": 2, "e2-small": 2, "e2-medium": 2, "f1-micro": 1, "g1-small": 1}


@functools.cache
def catalog() -> Catalog:
    """Everything the catalog knows."""
    return msgspec.json.decode(DATA.read_bytes(), type=Catalog)


def family(name: str) -> str:
    """The family of a machine type, known or not: ``a3`` of ``a3-ultragpu-8g``."""
    return name.partition("-")[0]


@functools.cache
def machine(name: str) -> Machine | None:
    """The facts about a machine type; None if the catalog knows neither it nor its family.

    A machine of a family without fixed accelerators has the facts of its family, and its vCPUs from its name.
    """
    known = catalog().machines
    if name in known:
        return known[name]
    base = known.get(name.removesuffix(NO_LOCAL_SSD))
    if base is not None and base.without_local_ssd:
        return msgspec.structs.replace(base, name=name, local_ssd=LocalSsd(), without_local_ssd=False)
    cpu = catalog().cpu_families.get(family(name))
    return _cpu_machine(name, cpu) if cpu else None


def _cpu_machine(name: str, cpu: CpuFamily) -> Machine | None:
    matched = _CPU_NAME.fullmatch(name)
    vcpus = int(matched["vcpus"]) if matched else _SHARED_CORE.get(name)
    if vcpus is None:
        return None
    facts = msgspec.structs.asdict(cpu)
    return Machine(name=name, family=family(name), series=facts.pop("title"), vcpus=vcpus, **facts)
