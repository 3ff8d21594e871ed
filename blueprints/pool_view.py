"""One node pool with what is needed to judge it: its cluster, where it stands, the facts about its machines.

Rules look at these; so may whatever can say in a blueprint's words what a plan is going to make.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from groundplan.blueprints.gke_pools import FROM_ZERO, GkePool, gke_pools, tpu_slice
from groundplan.blueprints.gpu_networks import Networking, networking
from groundplan.blueprints.machines import machine_of
from groundplan.blueprints.model import CapacityKind, Cluster, ExternalReservation, NodePool, Tier
from groundplan.blueprints.tree import Path
from groundplan.facts.accelerators import Machine, Topology

#: Keys of a pool whose attribute has another name.
_ATTRIBUTES = {"max_run_duration": "max_run_seconds"}


@dataclass(frozen=True, eq=False)
class PoolView:
    """A node pool as a rule sees it.

    Attributes:
        key: its key.
        pool: the pool.
        cluster: the cluster that it belongs to.
        region: the cluster's region.
        tier: of its environment.
        path: of the pool, from the root of its environment.
        reservations: what the blueprint says of reservations outside, by name.
        unread: its keys whose values were wrong, so that nobody knows what was meant.
    """

    key: str
    pool: NodePool
    cluster: Cluster
    region: str
    tier: Tier = "production"
    path: Path = ()
    reservations: Mapping[str, ExternalReservation] = field(default_factory=dict)
    unread: Collection[str] = ()

    @cached_property
    def machine(self) -> Machine | None:
        """The facts about its machines; None if there are none."""
        return machine_of(self.pool)

    @cached_property
    def gpu_type(self) -> str | None:
        """The accelerator type of its GPUs; None without GPUs."""
        if self.machine is not None and self.machine.gpu is not None:
            return self.machine.gpu.type
        return self.pool.gpu.type

    @cached_property
    def is_tpu(self) -> bool:
        """Whether its machines have TPU chips."""
        return self.machine is not None and self.machine.is_tpu

    @property
    def accelerated(self) -> bool:
        """Whether its machines have GPUs or TPU chips."""
        return self.is_tpu or self.gpu_type is not None

    @cached_property
    def slice(self) -> Topology | None:
        """The TPU slice that its topology is; None without one that exists."""
        return tpu_slice(self.pool)

    @property
    def slice_nodes(self) -> int | None:
        """Nodes of one slice of several machines; None where it has none."""
        return self.slice.nodes if self.slice is not None and self.slice.multi_host else None

    @cached_property
    def parts(self) -> tuple[GkePool, ...]:
        """The GKE node pools that it becomes."""
        return gke_pools(self.pool)

    @property
    def most_nodes(self) -> int:
        """The most nodes over all its GKE node pools."""
        return sum(part.most for part in self.parts)

    @property
    def kind(self) -> CapacityKind | None:
        """How its machines are obtained; None if nobody knows what was meant."""
        return None if "capacity" in self.unread else self.pool.capacity.kind

    @property
    def offered(self) -> bool | None:
        """Whether its machines can be obtained so; None: no source says."""
        kind = self.kind
        return self.machine.offers(kind) if self.machine is not None and kind is not None else None

    @property
    def waits(self) -> bool:
        """Whether its machines come when there are some: flex-start, or queued."""
        return self.kind in FROM_ZERO

    @cached_property
    def networking(self) -> Networking:
        """How its nodes are connected, with ``auto`` resolved."""
        return networking(self.pool)

    @cached_property
    def zones(self) -> tuple[str, ...]:
        """Its zones by their whole names; empty where GKE chooses them."""
        zones = self.pool.zones or self.cluster.zones
        return tuple(dict.fromkeys(z if "-" in z else f"{self.region}-{z}" for z in zones))

    def at(self, *keys: str | int) -> Path:
        """The path of one of its keys."""
        return (*self.path, *keys)

    def cluster_at(self, *keys: str | int) -> Path:
        """The path of one of its cluster's keys."""
        return (*self.path[:-2], *keys)

    @property
    def zones_path(self) -> Path:
        """Where its zones are said, or would be."""
        return self.cluster_at("zones") if self.cluster.zones and not self.pool.zones else self.at("zones")

    def writes(self, key: str) -> bool:
        """Whether a key of the pool is written."""
        return _ATTRIBUTES.get(key, key) in self.pool.model_fields_set

    def because(self, label: str, *keys: str) -> tuple[tuple[str, Path], ...]:
        """The places of those of the pool's keys that are written, for ``Problem.related``."""
        return tuple((label, self.at(key)) for key in keys if self.writes(key))
