"""What of a blueprint the modules make so far. Everything that asks "does this exist yet?" asks here.

A pool that needs what is not made yet is left out whole: half of it (without its networks) would have to be
replaced later. ``validate`` warns about each such key, and a real plan refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.gpu_networks import unserved

if TYPE_CHECKING:
    from pydantic import BaseModel

    from groundplan.blueprints.model import Cluster, Environment, NodePool


def clusters(env: Environment) -> dict[str, Cluster]:
    """The clusters of an environment that are made, by key."""
    return {key: cluster for key, cluster in env.clusters.items() if not cluster.existing}


def node_pools(cluster: Cluster) -> dict[str, NodePool]:
    """The node pools of a cluster that are made, by key."""
    return {key: pool for key, pool in cluster.node_pools.items() if provisioned(cluster, pool)}


def provisioned(cluster: Cluster, pool: NodePool) -> bool:
    """Whether a node pool is made: it uses nothing that comes later, and gets the networks it asks for."""
    return not _uses_later(pool) and unserved(cluster, pool) is None


def _uses_later(model: BaseModel) -> bool:
    """Whether a key that the language marks as not provisioned yet has another value than its default."""
    return any(
        getattr(model, name) != field.get_default(call_default_factory=True)
        for name, field in type(model).model_fields.items()
        if isinstance(field.json_schema_extra, dict) and "x-groundplan-later" in field.json_schema_extra
    )
