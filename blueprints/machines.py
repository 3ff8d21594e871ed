"""What is known of the machines of a node pool: the catalog's facts, else those that the blueprint states."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundplan.facts.accelerators import Gpu, LocalSsd, Machine, family, machine

if TYPE_CHECKING:
    from groundplan.blueprints.model import MachineFacts, NodePool

_LAST_NUMBER = re.compile(r"(\d+)(?!.*\d)")


def machine_of(pool: NodePool) -> Machine | None:
    """The facts about a pool's machines; None if neither the catalog nor the blueprint has any."""
    known = machine(pool.machine)
    if known is None and pool.machine_facts is not None:
        return _stated(pool.machine, pool.machine_facts)
    return known


def _stated(name: str, facts: MachineFacts) -> Machine:
    """Facts of a blueprint in the catalog's form. What they leave out is not known, so nothing is refused."""
    number = _LAST_NUMBER.search(name)
    gpu = facts.gpu
    return Machine(
        name=name,
        family=family(name),
        series=name,
        vcpus=facts.vcpus or (int(number[1]) if number else 1),
        arm=facts.arm,
        gpu=Gpu(type=gpu.type, count=gpu.count, memory_gb=0) if gpu else None,
        local_ssd=None if facts.local_ssds is None else LocalSsd(fixed=facts.local_ssds or None),
        boot_disks=facts.boot_disks,
        sources={},
    )
