"""Where the nodes of a pool stand to each other: close together, or as one TPU slice or NVLink domain.

GKE makes a compact placement policy itself (``type: COMPACT``; GKE docs, "Define compact placement for GKE
nodes"). Three things need a workload policy of our own, of the type HIGH_THROUGHPUT:

- machines of which one NVLink domain or slice is made through the policy's topology: A4X, and TPU7x slices of
  several hosts (GKE's autoscaler; Cluster Toolkit's and xpk's node pools);
- compact placement of machines that wait for flex-start (Cluster Toolkit's module and its H4D example).

A policy's name says its topology: a policy cannot change, and while nodes use it, it cannot be replaced under
the same name. All GKE pools of one blueprint pool share it. The provider wants ``type`` in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundplan.blueprints.gke_pools import slice_nodes
from groundplan.blueprints.naming import cloud_key, cloud_name
from groundplan.facts.accelerators import machine
from groundplan.modules.cluster import Gke
from groundplan.modules.graph import Graph, Resource
from groundplan.modules.names import stack_name
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment, NodePool

#: How far apart the nodes of a compact flex-start pool may be, as in Cluster Toolkit's example.
FLEX_START_DISTANCE = "CLUSTER"


def placement(pool: NodePool, policy: Resource | None) -> dict[str, Any] | None:
    """The block ``placement_policy`` of a node pool.

    Args:
        pool: the pool.
        policy: the workload policy that ``add_policy`` made for it.
    """
    in_slice = slice_nodes(pool) is not None
    if policy is None and not in_slice and pool.placement != "compact":
        return None
    return {
        "type": "COMPACT",
        "policy_name": policy["name"] if policy else None,
        "tpu_topology": pool.topology if in_slice else None,
    }


def add_policy(
    graph: Graph, env: Environment, gke: Gke, key: str, pool: NodePool, services: Services
) -> Resource | None:
    """Add the workload policy of a node pool; None where it needs none of its own."""
    topology = _topology(pool)
    flexible = _compact_flex_start(pool)
    if topology is None and not flexible:
        return None
    parts = (cloud_key(gke.key, gke.cluster), cloud_key(key, pool))
    return graph.add(
        "google_compute_resource_policy",
        stack_name((gke.key, gke.cluster), (key, pool)),
        name=cloud_name(env, *parts, topology or "compact"),
        region=gke.region,
        workload_policy={
            "type": "HIGH_THROUGHPUT",
            "accelerator_topology": topology,
            "max_topology_distance": None if topology else FLEX_START_DISTANCE,
        },
        depends_on=services.needs("compute"),
    )


def _topology(pool: NodePool) -> str | None:
    """The accelerator topology that the pool's workload policy carries; None if there is no such policy."""
    known = machine(pool.machine)
    wanted = known.workload_policy if known is not None else None
    if wanted is None or (wanted.required == "multi-host" and slice_nodes(pool) is None):
        return None
    return pool.topology or (wanted.topologies[0] if wanted.topologies else None)


def _compact_flex_start(pool: NodePool) -> bool:
    known = machine(pool.machine)
    waits = pool.capacity.kind == "flex-start" and pool.placement == "compact"
    return waits and known is not None and known.compact_with_flex_start
