"""From names in the blueprint to names in the cloud: derived, stable, short enough, never two the same.

A name that would be too long keeps its beginning and gets a hash of the whole, so that ``…-dev`` and
``…-staging`` cannot collapse to one id, and the same input gives the same name for ever.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundplan.blueprints.model import (
        Bucket,
        Cluster,
        Environment,
        Names,
        NodePool,
        ProjectSpec,
        Renamable,
        Workload,
    )

PROJECT_LIMIT = 30  #: Resource Manager: project ids have 6 to 30 characters
ACCOUNT_LIMIT = 30  #: IAM: service account ids have 6 to 30 characters
CLUSTER_LIMIT = 40  #: GKE: clusters and node pools have at most 40 characters
BUCKET_LIMIT = 63  #: Cloud Storage: bucket names have 3 to 63 characters
NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
NAME_LIMIT = 63  #: Compute Engine and most others: RFC 1035


def is_name(text: str) -> bool:
    """Whether ``text`` can be the name of an environment or of any other item."""
    return bool(NAME.fullmatch(text))


def cloud_key(key: str, item: Renamable) -> str:
    """The key that an item's name in the cloud is made from: the first it had, for names cannot change."""
    return item.former[-1].key if item.former else key


def kubernetes_account(key: str, workload: Workload) -> str:
    """The Kubernetes service account of a workload: as written, else called like the workload at first."""
    return workload.service_account or cloud_key(key, workload)


def shorten(name: str, limit: int) -> str:
    """``name`` if it fits into ``limit`` characters, else its beginning and eight digits of its hash."""
    if len(name) <= limit:
        return name
    import hashlib  # loads OpenSSL, which most blueprints never need

    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: limit - 9].rstrip('-')}-{digest}"


def suffixed(name: str, generation: int) -> str:
    """``name`` for the first generation, ``name-g2`` for the second."""
    return name if generation == 1 else f"{name}-g{generation}"


def project_id(platform: str, environment: str, names: Names, project: ProjectSpec) -> str:
    """The id of an environment's project: existing, written, or by the pattern ``names.project``."""
    if project.existing or project.id:
        return str(project.existing or project.id)
    pattern = names.project.replace("{name}", platform).replace("{env}", environment)
    return shorten(suffixed(pattern, project.generation), PROJECT_LIMIT)


def bucket_name(
    platform: str, environment: str, project: str, key: str, names: Names, generation: int = 1
) -> str:
    """The name of a bucket by the pattern ``names.bucket``; bucket names are unique in the whole world."""
    pattern = names.bucket
    for field, value in {"name": platform, "env": environment, "project": project, "key": key}.items():
        pattern = pattern.replace(f"{{{field}}}", value)
    return shorten(suffixed(pattern, generation), BUCKET_LIMIT)


def bucket_of(platform: str, environment: str, project: str, key: str, names: Names, bucket: Bucket) -> str:
    """The name of a bucket: existing, written, or by the pattern ``names.bucket`` from its first key."""
    if bucket.existing or bucket.name:
        return str(bucket.existing or bucket.name)
    return bucket_name(platform, environment, project, cloud_key(key, bucket), names, bucket.generation)


def cloud_name(environment: Environment, *parts: str, limit: int = NAME_LIMIT, generation: int = 1) -> str:
    """``llm-main`` for ``main`` of the platform ``llm``: the name of something inside an environment."""
    return shorten(suffixed("-".join((environment.platform, *parts)), generation), limit)


def account_id(environment: Environment, *parts: str) -> str:
    """The id of a service account: ``llm-main-nodes``, 6 to 30 characters."""
    name = cloud_name(environment, *parts, limit=ACCOUNT_LIMIT)
    return name if len(name) >= 6 else f"{name}-account"


def cluster_name(environment: Environment, key: str, cluster: Cluster) -> str:
    """The name of a GKE cluster: ``name``, or its key after the platform's name, with the generation."""
    if cluster.name:
        return shorten(suffixed(cluster.name, cluster.generation), CLUSTER_LIMIT)
    return cloud_name(environment, key, limit=CLUSTER_LIMIT, generation=cluster.generation)


def pool_name(key: str, pool: NodePool, part: str = "") -> str:
    """The name of a GKE node pool: its key or ``name``, its part if there are several, the generation."""
    name = f"{pool.name or key}-{part}" if part else pool.name or key
    return shorten(suffixed(name, pool.generation), CLUSTER_LIMIT)


def terraform_name(*parts: str) -> str:
    """A resource's name in the stack, from blueprint keys: ``main_train``.

    Blueprint keys hold no underscore, so two different paths never give one name.
    """
    return "_".join(parts)
