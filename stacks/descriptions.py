"""What is made, in a few words of the blueprint: the text beside a new thing in a plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from groundplan.facts.accelerators import machine

if TYPE_CHECKING:
    from groundplan.blueprints.model import Cluster, Environment, NodePool
    from groundplan.modules.graph import Graph

CAPACITY = {"on-demand": "", "spot": "Spot", "flex-start": "flex-start", "queued": "queued"}


def descriptions(env: Environment, graph: Graph) -> dict[str, str]:
    """Address → what it is, for clusters, node pools and buckets of an environment."""
    return {
        resource.address: text
        for resource in graph
        if resource.mode == "managed" and (text := _describe(env, resource.type, resource.origin))
    }


def _describe(env: Environment, type: str, origin: tuple[str, ...]) -> str:
    match type, origin:
        case "google_container_node_pool", ("clusters", cluster, "node_pools", pool):
            return _pool(env.clusters[cluster].node_pools[pool])
        case "google_container_cluster", ("clusters", cluster):
            return _cluster(env, env.clusters[cluster])
        case "google_storage_bucket", ("storage", "buckets", bucket):
            return env.storage.buckets[bucket].location or env.region
    return ""


def _cluster(env: Environment, cluster: Cluster) -> str:
    return (
        f"{env.cluster_region(cluster)}, {cluster.release_channel} channel, {cluster.endpoint.kind} endpoint"
    )


def _pool(pool: NodePool) -> str:
    return ", ".join(_pool_parts(pool))


def _pool_parts(pool: NodePool) -> Iterator[str]:
    nodes = pool.nodes
    if nodes is None:
        yield pool.machine
        return
    number = str(nodes.max) if nodes.min == nodes.max else f"{nodes.min} to {nodes.max}"
    yield f"{number} × {pool.machine}"
    known = machine(pool.machine)
    gpu = known.gpu if known else None
    if gpu:
        most = f"{nodes.max * gpu.count:g}"
        yield f"{'' if nodes.min == nodes.max else 'up to '}{most} × {gpu.type.removeprefix('nvidia-')}"
    elif pool.gpu.type and pool.gpu.count:
        yield f"{nodes.max * pool.gpu.count} × {pool.gpu.type.removeprefix('nvidia-')}"
    if CAPACITY.get(pool.capacity.kind):
        yield CAPACITY[pool.capacity.kind]
