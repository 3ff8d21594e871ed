"""The networks over which the GPUs of different nodes talk: which a pool needs, and what they are called.

A3 High and A3 Mega want four and eight VPCs beside the node's own (GPUDirect-TCPX and -TCPXO); A3 Ultra, A4
and A4X one more VPC and one for RDMA, made from a profile of their zone (Google Cloud docs, "Maximize GPU
network bandwidth in GKE Standard mode clusters" and "Create a custom AI-optimized GKE cluster"). Bare-metal
machines take no networks made by hand; GKE makes theirs (the same guide for A4X Max).

Networks belong to a cluster and a machine type, and for RDMA to a zone. Pools that agree in these share
them: a project has few VPCs to give away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from groundplan.facts.accelerators import machine
from groundplan.facts.accelerators.catalog import NO_LOCAL_SSD

if TYPE_CHECKING:
    from groundplan.blueprints.model import Cluster, NodePool
    from groundplan.facts.accelerators import GpuDirect

Networking = Literal["tcpx", "tcpxo", "rdma", "dranet", "none"]


@dataclass(frozen=True, slots=True)
class GpuNetworks:
    """The networks of one machine type in one cluster.

    Attributes:
        key: what names derive from: ``a3-megagpu-8g``, with the zone's letter where they belong to a zone.
        direct: how many networks there are, and of which kind.
        zone: what follows the region's name in that of their zone; None for any zone of the region.
    """

    key: str
    direct: GpuDirect
    zone: str | None

    @property
    def subnets(self) -> int:
        """Number of subnets, each with a range of its own."""
        return self.direct.extra_networks + self.direct.rdma_subnets


def networking(pool: NodePool) -> Networking:
    """How the pool's nodes are connected: as it is written, or for ``auto`` as the machine needs it."""
    if pool.networking != "auto":
        return pool.networking
    known, direct = machine(pool.machine), _direct(pool)
    if direct is not None:
        kinds: dict[str, Networking] = {"TCPX": "tcpx", "TCPXO": "tcpxo", "RDMA": "rdma"}
        return kinds[direct.kind]
    return "dranet" if known is not None and known.managed_dranet else "none"


def networks_of(cluster: Cluster, pool: NodePool) -> GpuNetworks | None:
    """The networks that are made for a pool.

    None where none are asked for, or where the pool cannot have them: ``unserved`` says why.
    """
    direct = _direct(pool)
    if direct is None or networking(pool) != direct.kind.lower():
        return None
    key = pool.machine.removesuffix(NO_LOCAL_SSD)
    if direct.network_profile is None:
        return GpuNetworks(key, direct, None)
    zones = {zone.rpartition("-")[2] for zone in pool.zones or cluster.zones}
    if len(zones) != 1:
        return None
    (zone,) = zones
    return GpuNetworks(f"{key}-{zone}", direct, zone)


def unserved(cluster: Cluster, pool: NodePool) -> str | None:
    """Why a pool does not get the networks that it asks for; None if it gets them or asks for none."""
    asked, direct = networking(pool), _direct(pool)
    if asked in ("dranet", "none") or networks_of(cluster, pool) is not None:
        return None
    if direct is None:
        return f"{pool.machine} takes no {asked} networks"
    if asked != direct.kind.lower():
        return f"{pool.machine} takes {direct.kind.lower()} networks, not {asked}"
    return "RDMA networks belong to one zone, and the pool has no single one"


def gpu_networks(cluster: Cluster, pools: Iterable[NodePool]) -> dict[str, GpuNetworks]:
    """The networks of these pools of a cluster, each once, by key in alphabetical order."""
    found = (networks_of(cluster, pool) for pool in pools)
    return {one.key: one for one in sorted((one for one in found if one), key=lambda one: one.key)}


def _direct(pool: NodePool) -> GpuDirect | None:
    known = machine(pool.machine)
    return None if known is None or known.bare_metal else known.gpudirect
