"""What a resource is, in few words: ``16 × a3-ultragpu-8g, 128 × H200``. Plans show it beside its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.quantities import duration
from groundplan.facts.accelerators import catalog
from groundplan.modules.graph import Graph
from groundplan.modules.node_config import gpus

if TYPE_CHECKING:
    from groundplan.blueprints.model import Bucket, Cluster, Environment, NodePool


def descriptions(env: Environment, graph: Graph) -> dict[str, str]:
    """Address → what the blueprint says of it, for clusters, node pools and buckets."""
    found: dict[str, str] = {}
    for resource in graph:
        match resource.type, resource.origin:
            case "google_container_cluster", ("clusters", key):
                found[resource.address] = _cluster(env, env.clusters[key])
            case "google_container_node_pool", ("clusters", key, "node_pools", pool):
                found[resource.address] = _pool(env.clusters[key].node_pools[pool])
            case "google_storage_bucket", ("storage", "buckets", key):
                found[resource.address] = _bucket(env, env.storage.buckets[key])
    return {address: text for address, text in found.items() if text}


def _cluster(env: Environment, cluster: Cluster) -> str:
    channel = cluster.release_channel
    version = f"{cluster.min_version} or later" if cluster.min_version else ""
    return _joined(
        env.cluster_region(cluster), "no channel" if channel == "none" else f"{channel} channel", version
    )


def _pool(pool: NodePool) -> str:
    least, most = (pool.nodes.min, pool.nodes.max) if pool.nodes else (0, 1)
    found = gpus(pool)
    accelerators = ""
    if found:
        kind, count = found
        known = catalog().gpus.get(kind)
        accelerators = f"{_between(least * count, most * count)} × {known.title if known else kind}"
    spot = "Spot" if pool.capacity.kind == "spot" else ""
    return _joined(f"{_between(least, most)} × {pool.machine}", accelerators, spot)


def _bucket(env: Environment, bucket: Bucket) -> str:
    kept = bucket.soft_delete_seconds
    return _joined(
        bucket.location if bucket.location and bucket.location.lower() != env.region else "",
        "hierarchical" if bucket.hierarchical else "",
        "versions" if bucket.versioning else "",
        "" if kept is None else f"soft delete {duration(kept)}" if kept else "no soft delete",
    )


def _between(least: int, most: int) -> str:
    return str(most) if least == most else f"{least}–{most}"


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)
