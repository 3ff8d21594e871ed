"""Cloud Storage buckets: never public, access by IAM alone, deleted things restorable for a while.

Rules of Cloud Storage that are encoded here (Cloud Storage docs, "Hierarchical namespace: limitations"): a
hierarchical namespace needs uniform access and has no object versioning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from groundplan.modules.graph import Graph, Lifecycle, Resource
from groundplan.modules.keys import Keys
from groundplan.modules.names import stack_name
from groundplan.modules.services import Services
from groundplan.modules.targets import Target

if TYPE_CHECKING:
    from groundplan.blueprints.model import Bucket, Environment

WEEK = 7 * 86400  #: seconds; Cloud Storage's own default for soft delete


def add_buckets(graph: Graph, env: Environment, keys: Keys, services: Services) -> dict[str, Resource]:
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
                else _bucket(graph, env, key, bucket, keys, services)
            )
    return buckets


def bucket_targets(env: Environment, buckets: Mapping[str, Resource]) -> dict[str, Target]:
    """What roles on buckets are granted on; by key."""
    return {
        key: Target(env.storage.buckets[key], {"bucket": bucket["name"]}) for key, bucket in buckets.items()
    }


def _bucket(
    graph: Graph, env: Environment, key: str, bucket: Bucket, keys: Keys, services: Services
) -> Resource:
    retention = bucket.soft_delete_seconds
    location = bucket.location or env.region
    encryption = keys.use("buckets", location)
    return graph.add(
        "google_storage_bucket",
        stack_name((key, bucket)),
        name=env.bucket_names[key],
        location=location.upper(),
        storage_class="STANDARD",
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        hierarchical_namespace={"enabled": True} if bucket.hierarchical else None,
        versioning=None if bucket.hierarchical else {"enabled": bucket.versioning},
        soft_delete_policy={"retention_duration_seconds": WEEK if retention is None else retention},
        encryption=encryption.block("default_kms_key_name"),
        force_destroy=not env.protect,
        lifecycle=Lifecycle(prevent_destroy=env.protect),
        depends_on=[*services.needs("storage"), *encryption.grants],
    )
