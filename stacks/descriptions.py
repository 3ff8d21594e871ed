"""What a resource is, in few words: ``16 × a3-ultragpu-8g, 128 × H200``. Plans show it beside its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.gke_pools import GkePool, gke_pools, tpu_slice
from groundplan.blueprints.naming import terraform_name
from groundplan.blueprints.quantities import duration
from groundplan.facts.accelerators import catalog, machine
from groundplan.modules import gpu_networks
from groundplan.modules.graph import Graph
from groundplan.modules.node_config import gpus

if TYPE_CHECKING:
    from groundplan.blueprints.model import Bucket, Cluster, Environment, NodePool


def descriptions(env: Environment, graph: Graph) -> dict[str, str]:
    """Address → what the blueprint says of it, for clusters, node pools, buckets and perimeters."""
    found: dict[str, str] = {}
    for resource in graph:
        match resource.type, resource.origin:
            case "google_container_cluster", ("clusters", key):
                found[resource.address] = _cluster(env, env.clusters[key])
            case "google_container_node_pool", ("clusters", key, "node_pools", pool):
                spec = env.clusters[key].node_pools[pool]
                names = {terraform_name(key, pool, part.part).rstrip("_"): part for part in gke_pools(spec)}
                found[resource.address] = _pool(pool, spec, names[resource.name])
            case "google_storage_bucket", ("storage", "buckets", key):
                found[resource.address] = _bucket(env, env.storage.buckets[key])
            case _, ("perimeter",):
                found[resource.address] = _perimeter(env)
    return {address: text for address, text in found.items() if text}


def _cluster(env: Environment, cluster: Cluster) -> str:
    channel = cluster.release_channel
    version = f"{cluster.min_version} or later" if cluster.min_version else ""
    fabrics = ", ".join(gpu_networks.made(cluster))
    return _joined(
        env.cluster_region(cluster),
        "no channel" if channel == "none" else f"{channel} channel",
        version,
        f"GPU networks for {fabrics}" if fabrics else "",
    )


def _pool(key: str, pool: NodePool, part: GkePool) -> str:
    """The nodes of a GKE pool; which one it is where the blueprint's pool becomes several."""
    nodes = f"{_between(part.least, part.most)} × {pool.machine}"
    which = f"{key}-{part.part}: " if part.part else ""
    return which + _joined(nodes, _chips(pool, part), _capacity(pool, part))


def _chips(pool: NodePool, part: GkePool) -> str:
    """The GPUs, or the TPU chips and the slice they form; empty for CPUs."""
    known, found = machine(pool.machine), gpus(pool)
    if found:
        kind, count = found
        model = catalog().gpus.get(kind)
        return f"{_between(part.least * count, part.most * count)} × {model.title if model else kind}"
    if known is None or known.tpu is None:
        return ""
    chips = f"{_between(part.least * known.tpu.chips, part.most * known.tpu.chips)} × {known.series} chips"
    return f"{chips} in {pool.topology}" if tpu_slice(pool) else chips


def _capacity(pool: NodePool, part: GkePool) -> str:
    """How the machines are obtained; empty for the usual way."""
    reservation = pool.capacity.reservation
    if reservation is not None:
        return "reservation " + "/".join(filter(None, (reservation.name, part.block, part.sub_block)))
    longest = f" up to {duration(pool.max_run_seconds)}" if pool.max_run_seconds else ""
    words = {"on-demand": "", "spot": "Spot", "any-reservation": "any reservation"}
    return (words.get(pool.capacity.kind, pool.capacity.kind) + longest).strip()


def _bucket(env: Environment, bucket: Bucket) -> str:
    kept = bucket.soft_delete_seconds
    return _joined(
        bucket.location if bucket.location and bucket.location.lower() != env.region else "",
        "hierarchical" if bucket.hierarchical else "",
        "versions" if bucket.versioning else "",
        "" if kept is None else f"soft delete {duration(kept)}" if kept else "no soft delete",
    )


def _perimeter(env: Environment) -> str:
    perimeter = env.perimeter
    rules = {"ingress": perimeter.ingress, "egress": perimeter.egress}
    return _joined(
        perimeter.mode,
        *(f"{way} {' '.join(sorted(keys))}" if keys else "" for way, keys in rules.items()),
        "and a trial" if perimeter.dry_run else "",
    )


def _between(least: int, most: int) -> str:
    return str(most) if least == most else f"{least}–{most}"


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)
