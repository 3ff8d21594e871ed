"""The node pools of a cluster: CPUs, GPUs and TPUs, obtained in each of the ways that GKE has.

Three rules of GKE decide most of it. Sizes are per zone where they are fixed, and may be for the whole pool
where they are bounds; a blueprint always means the whole pool. Most settings of a node cannot change in
place, so a pool has a fixed name and is replaced only when a plan says so (GKE docs, "About node pools"). And
pools of flex-start start from no node, are never repaired, and are upgraded in a way of their own that
Terraform must not name (GKE docs, "About flex-start", "Run a large-scale workload with flex-start with queued
provisioning"; the provider takes only SURGE and BLUE_GREEN).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.gke_pools import FROM_ZERO, GkePool, gke_pools, slice_nodes
from groundplan.blueprints.gpu_networks import networking, networks_of
from groundplan.blueprints.naming import cloud_key, pool_name
from groundplan.modules.cluster import Gke
from groundplan.modules.compute_classes import class_of
from groundplan.modules.gpu_networks import Fabric
from groundplan.modules.graph import Graph, Lifecycle, Resource
from groundplan.modules.names import stack_name, zone_names
from groundplan.modules.node_config import is_accelerated, node_config
from groundplan.modules.placement import add_policy, placement
from groundplan.modules.provisioned import node_pools
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment, NodePool

#: Zones that GKE chooses for a regional cluster that names none.
USUAL_ZONES = 3

#: Long, since a pool may wait for scarce machines; one that timed out stays in the cloud, half made.
TIMEOUTS = {"create": "2h", "update": "2h", "delete": "2h"}

#: Upgrades take a node away before they add one where there may be no machine to add, and the other way
#: round elsewhere. Google's default of neither is refused.
SCARCE = {"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1}
PLENTY = {"strategy": "SURGE", "max_surge": 1, "max_unavailable": 0}

#: Local SSDs that come with a machine type whose number nobody told us: GKE fills it in, and a plan must not
#: take that for a change.
LOCAL_SSD_BLOCKS = (
    "node_config[0].ephemeral_storage_local_ssd_config",
    "node_config[0].local_nvme_ssd_block_config",
)


@dataclass(frozen=True, slots=True)
class _Builder:
    """What all pools of one cluster are made with."""

    graph: Graph
    env: Environment
    gke: Gke
    fabrics: Mapping[str, Fabric]
    services: Services


def add_node_pools(
    graph: Graph, env: Environment, gke: Gke, fabrics: Mapping[str, Fabric], services: Services
) -> list[Resource]:
    """Add the pools of one cluster, those without accelerators first.

    Pods of the system have nowhere to run on tainted nodes, and without them a cluster never gets ready.

    Args:
        graph: where to.
        env: the environment.
        gke: the cluster.
        fabrics: the cluster's GPU networks, by key.
        services: the APIs.
    """
    build = _Builder(graph, env, gke, fabrics, services)
    pools = node_pools(gke.cluster)
    plain, accelerated = (
        {key: pool for key, pool in pools.items() if is_accelerated(pool) is wanted}
        for wanted in (False, True)
    )
    first = [made for key, pool in plain.items() for made in _add(build, key, pool, ())]
    return first + [made for key, pool in accelerated.items() for made in _add(build, key, pool, first)]


def _add(build: _Builder, key: str, pool: NodePool, depends_on: Sequence[Resource]) -> list[Resource]:
    """The GKE pools that one pool of the blueprint becomes, and their workload policy."""
    with build.graph.at("node_pools", key):
        policy = add_policy(build.graph, build.env, build.gke, key, pool, build.services)
        return [_add_part(build, key, pool, part, policy, depends_on) for part in gke_pools(pool)]


def _add_part(
    build: _Builder,
    key: str,
    pool: NodePool,
    part: GkePool,
    policy: Resource | None,
    depends_on: Sequence[Resource],
) -> Resource:
    graph, env, gke = build.graph, build.env, build.gke
    networks = networks_of(gke.cluster, pool)
    # What stands in one zone stays there when the cluster gets another one.
    bound = slice_nodes(pool) or pool.placement == "compact" or part.block or (networks and networks.zone)
    zones = zone_names(gke.region, pool.zones or (gke.cluster.zones if bound else ()))
    fabric = build.fabrics[networks.key] if networks else None
    return graph.add(
        "google_container_node_pool",
        stack_name((gke.key, gke.cluster), (key, pool), *([part.part] if part.part else [])),
        # Only google-beta knows the maintenance policy of hosts (provider 8.7).
        provider="google-beta" if pool.host_maintenance else "google",
        name=pool_name(cloud_key(key, pool), pool, part.part),
        cluster=gke.resource["name"],
        location=gke.region,
        node_locations=zones or None,
        version=pool.version,
        **size(pool, part, len(zones or gke.zones)),
        **life(pool, follows_channel=gke.cluster.release_channel != "none"),
        max_pods_per_node=pool.max_pods_per_node,
        placement_policy=placement(pool, policy),
        network_config=_network(pool, fabric),
        node_config=node_config(
            pool,
            part,
            gke.account,
            graph.labels,
            project=env.project_id,
            compute_class=class_of(gke.cluster, key),
        ),
        timeouts=TIMEOUTS,
        lifecycle=Lifecycle(prevent_destroy=env.protect, ignore_changes=_ignored(pool)),
        depends_on=[*depends_on, *(fabric.rules if fabric else ())],
    )


def size(pool: NodePool, part: GkePool, zones: int) -> dict[str, Any]:
    """The attributes that say how many nodes a GKE pool has in all.

    A fixed number is written for each zone where it can be divided among them. Where it cannot, or where
    nobody knows the zones, equal bounds on the whole pool say the same to the autoscaler. The number at the
    start is never written beside a fixed one, and changes of it are ignored: it would replace the pool.

    A TPU slice stands in one zone and takes its bounds for that zone: GKE reads a bound on the whole pool as
    none, and refuses a slice of at most no node.

    Args:
        pool: the pool of the blueprint.
        part: the GKE pool that it becomes here.
        zones: number of zones; 0 where GKE chooses them.
    """
    least, most = part.least, part.most
    if slice_nodes(pool) is not None:
        if part.fixed:
            return {"node_count": most}
        bounds = {"min_node_count": least, "max_node_count": most, "location_policy": "ANY"}
        return {"autoscaling": bounds, "initial_node_count": 0}
    if part.fixed and zones and most % zones == 0:
        return {"node_count": most // zones}
    count = zones or USUAL_ZONES
    enough = -(-least // count)
    # Balanced zones where there are machines anywhere; else machines wherever there are some.
    spread = pool.capacity.kind == "on-demand" and not is_accelerated(pool)
    return {
        "autoscaling": {
            "total_min_node_count": least,
            "total_max_node_count": most,
            "location_policy": "BALANCED" if spread else "ANY",
        },
        "initial_node_count": enough if enough * count <= most else least // count,
    }


def life(pool: NodePool, *, follows_channel: bool) -> dict[str, Any]:
    """How nodes are obtained in turn, repaired and upgraded.

    Args:
        pool: the pool.
        follows_channel: the cluster is in a release channel, in which GKE upgrades every pool.
    """
    kind = pool.capacity.kind
    if kind in FROM_ZERO:
        return {
            "management": {"auto_repair": False, "auto_upgrade": True},
            "queued_provisioning": {"enabled": True} if kind == "queued" else None,
        }
    scarce = is_accelerated(pool) or kind in ("any-reservation", "reservation")
    return {
        # A version stays pinned only where GKE does not upgrade.
        "management": {"auto_repair": True, "auto_upgrade": follows_channel or pool.version is None},
        "upgrade_settings": SCARCE if scarce else PLENTY,
    }


def _network(pool: NodePool, fabric: Fabric | None) -> dict[str, Any]:
    return {
        "enable_private_nodes": True,
        "accelerator_network_profile": "auto" if networking(pool) == "dranet" else None,
        "additional_node_network_configs": [
            {"network": network["name"], "subnetwork": subnetwork["name"]}
            for network, subnetwork in fabric.interfaces
        ]
        if fabric
        else None,
    }


def _ignored(pool: NodePool) -> tuple[str, ...]:
    return ("initial_node_count", *(LOCAL_SSD_BLOCKS if pool.machine.endswith("-lssd") else ()))
