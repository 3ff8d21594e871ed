"""Look-ups in the catalog of machines."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from groundplan.facts.accelerators.model import Catalog, CpuFamily, Dispute, LocalSsd, Machine

DATA = Path(__file__).with_name("catalog.json")

#: Suffix of machine types that lack the Local SSDs of the type without it.
NO_LOCAL_SSD = "-nolssd"

#: ``n2-standard-8``, ``c3-standard-8-lssd``, ``n2-custom-8-16384``.
_CPU_NAME = re.compile(r"[a-z]+\d+[a-z]*-(?P<shape>[a-z]+)-(?P<vcpus>\d+)(?P<more>(-[a-zA-Z0-9]+)*)")
#: ``g2-standard-12``, ``a3-highgpu-8g``: what differs only in size.
_SIZED = re.compile(r"(?P<before>.+-)(?P<size>\d+)(?P<unit>[a-z]?)")
#: Machines that share cores, whose names carry no number.
_SHARED_CORE = {"e2-micro": 2, "e2-small": 2, "e2-medium": 2}

#: Facts of a machine that are not confirmed where they are None.
_NULLABLE = (
    "memory_gb",
    "local_ssd",
    "boot_disks",
    "data_disks",
    "max_disks",
    "nics",
    "gbps",
    "managed_dranet",
    "confidential",
    "compact",
)


@functools.cache
def catalog() -> Catalog:
    """Everything the catalog knows."""
    return msgspec.json.decode(DATA.read_bytes(), type=Catalog)


def family(name: str) -> str:
    """The family of a machine type, known or not: ``a3`` of ``a3-ultragpu-8g``."""
    return name.partition("-")[0]


@functools.cache
def machine(name: str) -> Machine | None:
    """The facts about a machine type; None: the catalog does not know it.

    A machine type without accelerators has the facts of its family, and its vCPUs from its name.
    """
    known = catalog().machines
    if name in known:
        return known[name]
    base = known.get(name.removesuffix(NO_LOCAL_SSD))
    if base is not None and base.without_local_ssd:
        return msgspec.structs.replace(base, name=name, local_ssd=LocalSsd(), without_local_ssd=False)
    cpu = catalog().cpu_families.get(family(name))
    return _cpu_machine(name, cpu) if cpu else None


def machines(*, gpu: str | None = None, capacity: str | None = None) -> tuple[Machine, ...]:
    """All machine types that have accelerators or take some, or those of them that fit.

    Args:
        gpu: an accelerator type (``nvidia-h100-80gb``), or how the name of a model begins (``h100``).
        capacity: a word of the blueprint's ``capacity``; kept is what is not known to lack it.
    """
    types = None if gpu is None else set(_gpu_types(gpu))
    return tuple(
        found
        for found in _accelerated()
        if (types is None or types & _gpus_of(found))
        and (capacity is None or found.offers(capacity) is not False)
    )


def closest(name: str) -> list[str]:
    """Known machine types to write instead of ``name``, best first: nearest in size, else in spelling."""
    names = [*catalog().machines, *_shaped_names()]
    if sizes := _other_sizes(name, names):
        return sizes[:3]
    import difflib

    same_family = [known for known in names if family(known) == family(name)]
    return difflib.get_close_matches(name, same_family or names, n=3)


def unconfirmed(found: Machine) -> list[str]:
    """Names of the facts about a machine type that no source confirms: ``consumption.spot``."""
    missing = [fact for fact in _NULLABLE if getattr(found, fact) is None]
    ways = found.consumption.__struct_fields__
    missing += [f"consumption.{way}" for way in ways if getattr(found.consumption, way) is None]
    if found.gpudirect and found.gpudirect.min_gke is None:
        missing.append("gpudirect.min_gke")
    if found.gpu and catalog().gpus[found.gpu.type].partitions is None:
        missing.append("gpu.partitions")
    return missing


def disputes(found: Machine) -> tuple[Dispute, ...]:
    """Facts about this machine type on which sources contradict each other."""
    return tuple(d for d in catalog().disputes if found.name in d.of or found.series in d.of)


def checked(sources: Iterable[str]) -> datetime.date:
    """The day on which facts with these sources were checked, the earliest of them: for messages.

    Raises:
        ValueError: there are no sources.
    """
    return min(catalog().sources[key].checked for key in sources)


def _other_sizes(name: str, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that differ from ``name`` only in size, the nearest first."""
    asked = _SIZED.fullmatch(name)
    if asked is None:
        return []
    known = [match for match in map(_SIZED.fullmatch, names) if match]
    sizes = [match for match in known if match.group("before", "unit") == asked.group("before", "unit")]
    return [
        match[0] for match in sorted(sizes, key=lambda match: abs(int(match["size"]) - int(asked["size"])))
    ]


def _cpu_machine(name: str, cpu: CpuFamily) -> Machine | None:
    facts = msgspec.structs.asdict(cpu)
    title, shapes = facts.pop("title"), facts.pop("shapes")
    memory_gb = None
    if (vcpus := _SHARED_CORE.get(name)) is None:
        matched = _CPU_NAME.fullmatch(name)
        if matched is None:
            return None
        vcpus = int(matched["vcpus"])
        if shapes and matched["shape"] != "custom":
            shape = shapes.get(matched["shape"])
            if shape is None or vcpus not in shape.vcpus or matched["more"]:
                return None
            memory_gb = round(vcpus * shape.gb_per_vcpu, 2)
    return Machine(name=name, family=family(name), series=title, vcpus=vcpus, memory_gb=memory_gb, **facts)


def _accelerated() -> Iterator[Machine]:
    yield from catalog().machines.values()
    for name in _shaped_names():
        found = machine(name)
        if found is not None and found.attachable_gpus:
            yield found


def _shaped_names() -> Iterator[str]:
    for prefix, cpu in catalog().cpu_families.items():
        for shape, sizes in cpu.shapes.items():
            yield from (f"{prefix}-{shape}-{vcpus}" for vcpus in sizes.vcpus)


def _gpu_types(word: str) -> Iterator[str]:
    for accelerator, model in catalog().gpus.items():
        if accelerator == word or model.title.lower().startswith(word.lower()):
            yield accelerator


def _gpus_of(found: Machine) -> set[str]:
    own = {found.gpu.type} if found.gpu else set()
    fitting = {t for t, counts in found.attachable_gpus.items() if found.vcpus <= max(counts.values())}
    return own | fitting
