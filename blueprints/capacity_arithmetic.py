"""How much a node pool takes at most: nodes, also during upgrades, and addresses of its cluster's ranges.

Pure arithmetic on the models. Sources of the rules in it: GKE docs, "VPC-native clusters" and "Configure
maximum Pods per node" (addresses), "Node upgrade strategies" (extra nodes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from groundplan.blueprints.gke_pools import gke_pools
from groundplan.blueprints.machines import machine_of
from groundplan.blueprints.model import Cluster, NodePool
from groundplan.facts.accelerators import LocalSsd

#: Addresses of a subnet's primary range that Google Cloud keeps for itself.
TAKEN_PER_SUBNET = 4
DEFAULT_PODS_PER_NODE = 110

#: Nodes that an upgrade adds to each GKE node pool before it takes old ones away. Pools with accelerators
#: take away first: there may be no machine to add.
SURGE = 1

RangeKind = Literal["nodes", "pods"]


@dataclass(frozen=True, slots=True)
class RangeUse:
    """What the pools of a cluster take of one of its ranges at most.

    Attributes:
        kind: nodes, or pods.
        network: the range.
        holds: addresses that can be used.
        by_pool: pool → addresses that it takes at most.
    """

    kind: RangeKind
    network: IPv4Network
    holds: int
    by_pool: Mapping[str, int]

    @property
    def needs(self) -> int:
        """Addresses that all pools take at most."""
        return sum(self.by_pool.values())

    @property
    def exhausted(self) -> bool:
        """Whether there are not enough."""
        return self.needs > self.holds

    @property
    def prefix(self) -> int:
        """The longest prefix of a range that is large enough."""
        taken = TAKEN_PER_SUBNET if self.kind == "nodes" else 0
        return 32 - (self.needs + taken - 1).bit_length()


def most_nodes(pool: NodePool) -> int:
    """The most nodes of a pool, over all its GKE node pools, while nothing is upgraded."""
    return sum(part.most for part in gke_pools(pool))


def with_upgrades(pool: NodePool) -> int:
    """The most nodes of a pool, with those that an upgrade adds; none for a pool that never has one."""
    nodes = most_nodes(pool)
    return nodes + SURGE * len(gke_pools(pool)) if nodes and not has_accelerators(pool) else nodes


def has_accelerators(pool: NodePool) -> bool:
    """Whether the machines of a pool have GPUs or TPUs."""
    known = machine_of(pool)
    return bool(pool.gpu.type or (known and (known.gpu or known.tpu)))


def local_ssd_gib(pool: NodePool) -> int:
    """GiB of Local SSDs of each machine of a pool: those it always has, else as many as are asked for."""
    known = machine_of(pool)
    facts = known.local_ssd if known and known.local_ssd else LocalSsd()
    if facts.fixed is not None:
        return facts.fixed * facts.gib
    if pool.local_ssd.mode == "none":
        return 0
    return (pool.local_ssd.count or (facts.allowed[0] if facts.allowed else 1)) * facts.gib


def pod_block(pool: NodePool) -> int:
    """Addresses for pods that each node gets: a block of at least twice the pods it may run."""
    pods = pool.max_pods_per_node or DEFAULT_PODS_PER_NODE
    return 1 << (2 * pods - 1).bit_length()


def range_uses(cluster: Cluster, ranges: Mapping[str, IPv4Network | None]) -> Iterator[RangeUse]:
    """What the pools take of the ranges for nodes and for pods.

    Args:
        cluster: the cluster.
        ranges: its ranges by kind; None, or no entry, for one that is not known.
    """
    nodes = {key: with_upgrades(pool) for key, pool in cluster.node_pools.items()}
    network = ranges.get("nodes")
    if network is not None:
        yield RangeUse("nodes", network, max(0, network.num_addresses - TAKEN_PER_SUBNET), nodes)
    network = ranges.get("pods")
    if network is not None:
        pods = {key: nodes[key] * pod_block(pool) for key, pool in cluster.node_pools.items()}
        yield RangeUse("pods", network, network.num_addresses, pods)
