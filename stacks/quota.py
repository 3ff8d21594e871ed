"""The quota that an environment needs at most: every pool at its largest, with the nodes that upgrades add.

Read from the blueprint, not from the graph, so that it also counts what is not provisioned yet: quota takes
days to get. What each thing counts against is a fact (``facts/quotas.json``). Not counted, because nothing
tells how much: disks and addresses that workloads ask for, secondary boot disks, Filestore, Managed Lustre.
Nor is the pool that a cluster is made with: it is gone before the first of its own comes.

    >>> for need in quota(env):
    ...     print(need.region, need.metric, need.amount, need.unit)
    us-central1 PREEMPTIBLE_NVIDIA_L4_GPUS 2 GPUs
    us-central1 CPUS 16 vCPUs
    us-central1 SSD_TOTAL_GB 600 GB
    us-central1 INSTANCES 6 VMs
    None GPUS_ALL_REGIONS 2 GPUs
    None CPUS_ALL_REGIONS 16 vCPUs
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.capacity_arithmetic import (
    RangeUse,
    local_ssd_gib,
    range_uses,
    with_upgrades,
)
from groundplan.blueprints.gke_pools import gke_pools
from groundplan.facts.accelerators import catalog, machine, tpu_topology
from groundplan.facts.quotas import (
    Metric,
    accelerator_quota,
    cpu_quota,
    disk_quota,
    local_ssd_quota,
    quotas,
)
from groundplan.modules.node_config import boot_disk_type, gpus

if TYPE_CHECKING:
    from groundplan.blueprints.lock import Lock
    from groundplan.blueprints.model import Cluster, Environment, NodePool

#: Ways to obtain machines that count against preemptible quota.
PREEMPTIBLE = ("spot", "flex-start", "queued")

GPUS = "GPUs"
CHIPS = "chips"
CPUS = "vCPUs"
GB = "GB"

#: The order in which needs are listed: what is hardest to get first.
_UNITS = (GPUS, CHIPS, CPUS, GB, "MiB/s", "VMs", "addresses", "policies")


@dataclass(frozen=True, slots=True)
class Need:
    """The most that an environment takes of one quota.

    Attributes:
        project: whose quota it is: the environment's project, or the one that owns the reservation.
        region: where; None for all regions together.
        metric: the quota's name.
        dimensions: what it is counted by besides the region: ``gpu_family``.
        amount: how much, in ``unit``.
        unit: GPUs, chips, vCPUs, GB, MiB/s, VMs, addresses, policies.
        model: of the accelerators: ``H100``, ``TPU v5p``; empty for everything else.
        reservation: its name, if what is needed was taken when that reservation was made: nothing to ask for.
        confirmed: whether a source gives the quota's name.
        by: what takes it (``main/l4``) → how much.
    """

    project: str
    region: str | None
    metric: str
    dimensions: Mapping[str, str]
    amount: int
    unit: str
    model: str = ""
    reservation: str = ""
    confirmed: bool = True
    by: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The documented shape of ``groundplan quota --json``."""
        return {
            "project": self.project,
            "region": self.region,
            "metric": self.metric,
            "dimensions": dict(self.dimensions),
            "amount": self.amount,
            "unit": self.unit,
            "model": self.model or None,
            "reservation": self.reservation or None,
            "confirmed": self.confirmed,
            "by": dict(self.by),
        }


@dataclass(frozen=True, slots=True)
class ClusterUse:
    """The most nodes of a cluster, and what they take of its address ranges."""

    name: str
    region: str
    nodes: Mapping[str, int]  #: pool → nodes, with those that upgrades add
    ranges: tuple[RangeUse, ...]

    @property
    def total(self) -> int:
        """The most nodes of all pools."""
        return sum(self.nodes.values())

    def as_json(self) -> dict[str, Any]:
        """The documented shape of ``groundplan quota --json``."""
        return {
            "cluster": self.name,
            "region": self.region,
            "nodes": self.total,
            "ranges": [
                {"kind": use.kind, "range": str(use.network), "holds": use.holds, "needs": use.needs}
                for use in self.ranges
            ],
        }


@dataclass(frozen=True, slots=True)
class _Use:
    """One amount that counts against one quota."""

    metric: Metric
    amount: int
    unit: str
    by: str
    region: str | None
    model: str = ""
    project: str = ""  #: empty for the environment's
    reservation: str = ""


def quota(env: Environment) -> list[Need]:
    """What an environment takes of each quota at most, by project and region, accelerators first."""
    grouped: dict[tuple[Any, ...], list[_Use]] = {}
    for use in _uses(env):
        if use.amount:
            key = (
                use.project or env.project_id,
                use.region,
                use.metric.name,
                _key(use.metric),
                use.reservation,
            )
            grouped.setdefault(key, []).append(use)
    needs = [_need(key[0], uses) for key, uses in grouped.items()]
    return sorted(needs, key=_order)


def clusters(env: Environment, lock: Lock) -> list[ClusterUse]:
    """The nodes of each cluster and the addresses they take.

    Args:
        env: the environment.
        lock: its address ranges; a cluster that has none there is listed with those that the blueprint fixes.
    """
    held = lock.environment(env.name).ranges
    found = []
    for key, cluster in _own(env):
        ranges = held[key].by_kind() if key in held else dict(cluster.ranges)
        nodes = {name: with_upgrades(pool) for name, pool in cluster.node_pools.items()}
        found.append(ClusterUse(key, env.cluster_region(cluster), nodes, tuple(range_uses(cluster, ranges))))
    return found


def uncounted(env: Environment) -> dict[str, str]:
    """The pools of which not everything is counted, and why: ``main/x``, ``the catalog has no machine …``."""
    found = {}
    for key, cluster in _own(env):
        for name, pool in cluster.node_pools.items():
            known = machine(pool.machine)
            if known is None:
                found[f"{key}/{name}"] = f"the catalog has no machine {pool.machine}"
            elif known.is_tpu:
                found[f"{key}/{name}"] = "no source says what the CPUs of TPU machines count against"
    return found


def _own(env: Environment) -> Iterator[tuple[str, Cluster]]:
    """The clusters that are not somebody else's."""
    return ((key, cluster) for key, cluster in env.clusters.items() if not cluster.existing)


def _uses(env: Environment) -> Iterator[_Use]:
    nodes: dict[str, int] = {}
    for key, cluster in _own(env):
        region = env.cluster_region(cluster)
        for name, pool in cluster.node_pools.items():
            yield from _pool(env, f"{key}/{name}", pool, region)
            nodes[region] = nodes.get(region, 0) + with_upgrades(pool)
    if env.network.nat and not env.network.existing:
        for region, number in nodes.items():
            addresses = -(-number // quotas().nat.nodes_per_address) or 1
            for name in ("IN_USE_ADDRESSES", "STATIC_ADDRESSES"):
                metric = Metric(name=name, confirmed=False)
                yield _Use(metric, addresses, "addresses", "network/nat", region)
    yield from _disks(env)


def _pool(env: Environment, path: str, pool: NodePool, region: str) -> Iterator[_Use]:
    nodes = with_upgrades(pool)
    held = pool.capacity.reservation
    for use in (*_accelerators(path, pool, region), *_machines(path, pool, region)):
        use = replace(use, project=held.project or "", reservation=held.name) if held else use
        yield use
        everywhere = {GPUS: "GPUS_ALL_REGIONS", CPUS: "CPUS_ALL_REGIONS"}.get(use.unit)
        if everywhere and use.project in ("", env.project_id):
            yield _Use(Metric(name=everywhere), use.amount, use.unit, path, None)
    yield _Use(disk_quota(boot_disk_type(pool)), nodes * pool.boot_disk.size_gib, GB, path, region)
    yield _Use(Metric(name="INSTANCES"), nodes, "VMs", path, region)
    if nodes and _is_placed(pool):
        yield _Use(Metric(name="RESOURCE_POLICIES"), len(gke_pools(pool)), "policies", path, region)


def _accelerators(path: str, pool: NodePool, region: str) -> Iterator[_Use]:
    preemptible = pool.capacity.kind in PREEMPTIBLE
    known = machine(pool.machine)
    if found := gpus(pool):
        kind, count = found
        facts = catalog().gpus.get(kind)
        metric = accelerator_quota(kind, preemptible=preemptible)
        yield _Use(metric, with_upgrades(pool) * count, GPUS, path, region, facts.title if facts else kind)
    if known is not None and known.tpu is not None:
        metric = accelerator_quota(known.tpu.generation, preemptible=preemptible)
        model = f"TPU {known.tpu.generation.removeprefix('tpu')}"
        yield _Use(metric, with_upgrades(pool) * known.tpu.chips, CHIPS, path, region, model)


def _machines(path: str, pool: NodePool, region: str) -> Iterator[_Use]:
    """CPUs and Local SSDs."""
    known = machine(pool.machine)
    if known is None:
        return
    nodes, preemptible = with_upgrades(pool), pool.capacity.kind in PREEMPTIBLE
    metric = cpu_quota(known.family, preemptible=preemptible)
    if metric is not None:
        yield _Use(metric, nodes * known.vcpus, CPUS, path, region)
    metric = local_ssd_quota(known.family, preemptible=preemptible)
    yield _Use(metric, nodes * local_ssd_gib(pool), GB, path, region)


def _is_placed(pool: NodePool) -> bool:
    """Whether its nodes need a placement policy: because it is asked for, or as a slice of several nodes."""
    slice_ = tpu_topology(pool.machine, pool.topology) if pool.topology else None
    return pool.placement == "compact" or bool(slice_ and slice_.multi_host)


def _disks(env: Environment) -> Iterator[_Use]:
    for name, disk in env.storage.disks.items():
        path, number = f"storage/disks/{name}", len(disk.zones)
        yield _Use(disk_quota(disk.type), disk.size_gib * number, GB, path, env.region)
        if disk.type == "hyperdisk-ml" and disk.throughput_mib_per_second:
            metric = Metric(name=quotas().disks.ml_throughput)
            yield _Use(metric, disk.throughput_mib_per_second * number, "MiB/s", path, env.region)


def _key(metric: Metric) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(metric.dimensions.items()))


def _need(project: str, uses: list[_Use]) -> Need:
    first = uses[0]
    by: dict[str, int] = {}
    for use in uses:
        by[use.by] = by.get(use.by, 0) + use.amount
    return Need(
        project=project,
        region=first.region,
        metric=first.metric.name,
        dimensions=first.metric.dimensions,
        amount=sum(by.values()),
        unit=first.unit,
        model=first.model,
        reservation=first.reservation,
        confirmed=first.metric.confirmed,
        by=by,
    )


def _order(need: Need) -> tuple[Any, ...]:
    dimensions = tuple(need.dimensions.values())
    where = (bool(need.reservation), need.region is None, need.project, need.region or "")
    return (*where, _UNITS.index(need.unit), need.metric, dimensions)
