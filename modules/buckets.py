"""Cloud Storage buckets: never public, access by IAM alone, deleted things restorable for a while.

Rules of Cloud Storage that are encoded here (Cloud Storage docs, "Hierarchical namespace: limitations"): a
hierarchical namespace needs uniform access and has no object versioning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.modules.graph import Graph, Lifecycle, Resource
from groundplan.modules.names import stack_name
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Bucket, Environment

WEEK = 7 * 86400  #: seconds; Cloud Storage's own default for soft delete


def add_buckets(graph: Graph, env: Environment, services: Services) -> dict[str, Resource]:
    """Add the environment's buckets, and look up those that exist already; by key."""
    buckets: dict[str, Resource] = {}
    for key, bucket in env.storage.buckets.items():
        with graph.at("storage", "buckets", key):
            buckets[key] = (
                graph.data(
                    "google_storage_bucket",
                    key,
                    name=bucket.existing,
                    depends_on=services.needs("storage"),
                )
                if bucket.existing
                else _bucket(graph, env, key, bucket, services)
            )
    return buckets


def _bucket(graph: Graph, env: Environment, key: str, bucket: Bucket, services: Services) -> Resource:
    retention = bucket.soft_delete_seconds
    return graph.add(
        "google_storage_bucket",
        stack_name((key, bucket)),
        name=env.bucket_names[key],
        location=(bucket.location or env.region).upper(),
        storage_class="STANDARD",
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        hierarchical_namespace={"enabled": True} if bucket.hierarchical else None,
        versioning=None if bucket.hierarchical else {"enabled": bucket.versioning},
        soft_delete_policy={"retention_duration_seconds": WEEK if retention is None else retention},
        force_destroy=not env.protect,
        lifecycle=Lifecycle(prevent_destroy=env.protect),
        depends_on=services.needs("storage"),
    )
