"""The node pools of a cluster: CPUs and GPUs, on demand and Spot.

Two rules of GKE decide most of it. Sizes are per zone where they are fixed, and may be for the whole pool
where they are bounds; a blueprint always means the whole pool. And most settings of a node cannot change in
place, so a pool has a fixed name and is replaced only when a plan says so (GKE docs, "About node pools").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.naming import cloud_key, pool_name
from groundplan.modules.cluster import Gke
from groundplan.modules.graph import Graph, Lifecycle, Resource
from groundplan.modules.names import stack_name, zone_names
from groundplan.modules.node_config import has_gpu, node_config
from groundplan.modules.provisioned import node_pools

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment, NodePool, Nodes

#: Zones that GKE chooses for a regional cluster that names none.
USUAL_ZONES = 3

#: Long, since a pool may wait for scarce machines; one that timed out stays in the cloud, half made.
TIMEOUTS = {"create": "2h", "update": "2h", "delete": "2h"}

#: Upgrades take a node away before they add one where there may be no machine to add, and the other way
#: round elsewhere. Google's default of neither is refused.
SCARCE = {"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1}
PLENTY = {"strategy": "SURGE", "max_surge": 1, "max_unavailable": 0}


def add_node_pools(graph: Graph, env: Environment, gke: Gke) -> list[Resource]:
    """Add the pools of one cluster, those without GPUs first.

    Pods of the system have nowhere to run on tainted nodes, and without them a cluster never gets ready.
    """
    pools = node_pools(gke.cluster)
    plain = [_add(graph, env, gke, key, pool) for key, pool in pools.items() if not has_gpu(pool)]
    return plain + [
        _add(graph, env, gke, key, pool, depends_on=plain) for key, pool in pools.items() if has_gpu(pool)
    ]


def _add(
    graph: Graph, env: Environment, gke: Gke, key: str, pool: NodePool, depends_on: Sequence[Resource] = ()
) -> Resource:
    zones = zone_names(gke.region, pool.zones)
    scarce = has_gpu(pool)
    with graph.at("node_pools", key):
        return graph.add(
            "google_container_node_pool",
            stack_name((gke.key, gke.cluster), (key, pool)),
            # Only google-beta knows the maintenance policy of hosts (provider 8.7).
            provider="google-beta" if pool.host_maintenance else "google",
            name=pool_name(cloud_key(key, pool), pool),
            cluster=gke.resource["name"],
            location=gke.region,
            node_locations=zones or None,
            **size(pool.nodes, len(zones or gke.zones), spread=not scarce and pool.capacity.kind != "spot"),
            max_pods_per_node=pool.max_pods_per_node,
            management={"auto_repair": True, "auto_upgrade": True},
            upgrade_settings=SCARCE if scarce else PLENTY,
            network_config={"enable_private_nodes": True},
            node_config=node_config(pool, gke.account, graph.labels),
            timeouts=TIMEOUTS,
            lifecycle=Lifecycle(prevent_destroy=env.protect, ignore_changes=("initial_node_count",)),
            depends_on=depends_on,
        )


def size(nodes: Nodes | None, zones: int, *, spread: bool) -> dict[str, Any]:
    """The attributes that say how many nodes a pool has in all.

    A fixed number is written for each zone where it can be divided among them. Where it cannot, or where
    nobody knows the zones, equal bounds on the whole pool say the same to the autoscaler. The number at the
    start is never written beside a fixed one, and changes of it are ignored: it would replace the pool.

    Args:
        nodes: the total; None for none until somebody asks.
        zones: number of zones; 0 where GKE chooses them.
        spread: balance the zones, instead of taking machines wherever there are some.
    """
    least, most = (nodes.min, nodes.max) if nodes else (0, 1)
    if nodes and nodes.fixed and zones and most % zones == 0:
        return {"node_count": most // zones}
    count = zones or USUAL_ZONES
    enough = -(-least // count)
    return {
        "autoscaling": {
            "total_min_node_count": least,
            "total_max_node_count": most,
            "location_policy": "BALANCED" if spread else "ANY",
        },
        "initial_node_count": enough if enough * count <= most else least // count,
    }
