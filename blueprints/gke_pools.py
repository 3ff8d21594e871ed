"""Which GKE node pools one node pool of the blueprint becomes: one, or one for each slice or block.

A GKE pool holds exactly one multi-host TPU slice (GKE docs, "About TPUs in GKE"), and consumes at most one
reservation, block or sub-block (provider docs, ``reservation_affinity.values``; Cluster Toolkit refuses
more). The parts are named after what they are, so adding one changes no other: slices are numbered from 1,
even if there is only one, and blocks have their own names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundplan.blueprints.model import NodePool
    from groundplan.blueprints.model.node_pool import Reservation
    from groundplan.facts.accelerators import Topology

#: Ways to obtain machines that start from no node: they wait until there are machines for all that is asked.
FROM_ZERO = ("flex-start", "queued")


@dataclass(frozen=True, slots=True)
class GkePool:
    """One GKE node pool.

    Attributes:
        part: what its name ends with: ``1``, ``b1``, ``b1-s1``; empty if it is the only one.
        least: fewest nodes over all zones.
        most: most nodes over all zones.
        fixed: the number does not change with the load; then ``least`` is ``most``.
        block: the block of the reservation that it consumes.
        sub_block: the sub-block in that block.
    """

    part: str
    least: int
    most: int
    fixed: bool
    block: str | None = None
    sub_block: str | None = None


def gke_pools(pool: NodePool) -> tuple[GkePool, ...]:
    """The GKE node pools that a pool of the blueprint becomes, in the order of slices and blocks."""
    hosts = slice_nodes(pool)
    reservation = pool.capacity.reservation
    if reservation is not None and reservation.blocks:
        return tuple(_in_blocks(reservation, hosts))
    size = _size(pool, hosts)
    if hosts is None and pool.slices == 1:
        return (GkePool("", *size),)
    return tuple(GkePool(str(number), *size) for number in range(1, pool.slices + 1))


def tpu_slice(pool: NodePool) -> Topology | None:
    """The TPU slice that the pool's topology is; None for other machines, or without a topology."""
    from groundplan.facts.accelerators import tpu_topology

    return tpu_topology(pool.machine, pool.topology) if pool.topology else None


def slice_nodes(pool: NodePool) -> int | None:
    """The number of nodes of one multi-host TPU slice; None if the pool has no such slices."""
    found = tpu_slice(pool)
    return found.nodes if found is not None and found.multi_host else None


def _size(pool: NodePool, hosts: int | None) -> tuple[int, int, bool]:
    """Fewest and most nodes of one GKE pool, and whether the number is fixed.

    A slice is there as a whole or not at all, so it is fixed, or grows from nothing to all of it.
    """
    nodes = pool.nodes
    if hosts is not None:
        least, most, fixed = hosts, hosts, nodes is None or nodes.fixed
        least = hosts if fixed else 0
    elif nodes is None:
        least, most, fixed = (1, 1, True) if tpu_slice(pool) else (0, 1, False)
    else:
        least, most, fixed = nodes.min, nodes.max, nodes.fixed
    return (0, most, False) if pool.capacity.kind in FROM_ZERO else (least, most, fixed)


def _in_blocks(reservation: Reservation, hosts: int | None) -> Iterator[GkePool]:
    """A GKE pool for each block or sub-block; in each for every slice that it has room for."""
    for block, spec in reservation.blocks.items():
        shares: list[tuple[str | None, int]] = [(None, spec.nodes)]
        if spec.sub_blocks:
            each, left = divmod(spec.nodes, len(spec.sub_blocks))
            shares = [(name, each + (index < left)) for index, name in enumerate(spec.sub_blocks)]
        for sub_block, nodes in shares:
            part = f"{block}-{sub_block}" if sub_block else block
            if hosts is None:
                yield GkePool(part, nodes, nodes, True, block, sub_block)
                continue
            for number in range(1, max(1, nodes // hosts) + 1):
                yield GkePool(f"{part}-{number}", hosts, hosts, True, block, sub_block)
