"""Artifact Registry: the environment's own repositories for images and packages.

Nodes pull images, so their service accounts may read each repository of images, and no other. A repository's
encryption key cannot be changed later (provider docs, google_artifact_registry_repository).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import cloud_key, suffixed
from groundplan.facts.roles import roles
from groundplan.modules.graph import Graph, Lifecycle
from groundplan.modules.identity import NodeAccount
from groundplan.modules.keys import Keys
from groundplan.modules.names import stack_name
from groundplan.modules.services import Services
from groundplan.modules.targets import GRANTS, Target

if TYPE_CHECKING:
    from groundplan.blueprints.model import Cluster, Environment, Repository


def add_repositories(graph: Graph, env: Environment, keys: Keys, services: Services) -> dict[str, Target]:
    """Add the environment's repositories; by key."""
    found: dict[str, Target] = {}
    for key, repository in env.registry.items():
        if repository.existing:
            found[key] = Target(repository, existing_repository(repository.existing))
            continue
        location = repository_location(env, repository)
        with graph.at("registry", key):
            encryption = keys.use("registry", location)
            made = graph.add(
                "google_artifact_registry_repository",
                stack_name((key, repository)),
                repository_id=repository_id(key, repository),
                location=location,
                format=repository.format.upper(),
                mode="STANDARD_REPOSITORY",
                kms_key_name=encryption.key,
                lifecycle=Lifecycle(prevent_destroy=env.protect),
                depends_on=[*services.needs("artifactregistry"), *encryption.grants],
            )
        found[key] = Target(repository, {"location": location, "repository": made["repository_id"]})
    return found


def repository_id(key: str, repository: Repository) -> str:
    """The id of a repository in its project and location."""
    return suffixed(repository.name or cloud_key(key, repository), repository.generation)


def repository_location(env: Environment, repository: Repository) -> str:
    """Where a repository is: a region, or ``us``, ``europe``, ``asia``."""
    return (repository.location or env.region).lower()


def existing_repository(name: str) -> dict[str, str]:
    """What names a repository that exists: ``projects/PROJECT/locations/LOCATION/repositories/NAME``."""
    parts = name.split("/")
    return {"project": parts[1], "location": parts[3], "repository": parts[5]}


def let_nodes_pull(
    graph: Graph, repositories: Mapping[str, Target], clusters: Iterable[tuple[str, Cluster, NodeAccount]]
) -> None:
    """Let the nodes of each cluster read each repository of images.

    Args:
        graph: the environment's.
        repositories: by key.
        clusters: each cluster's key, the cluster, and what its nodes run as.
    """
    (reader,) = roles().things["registry"]["read"]
    images = {key: target for key, target in repositories.items() if target.item.format == "docker"}  # type: ignore[union-attr]
    for cluster_key, cluster, account in clusters:
        for key, target in images.items():
            with graph.at("registry", key):
                graph.add(
                    GRANTS["registry"],
                    stack_name((cluster_key, cluster), "nodes", (key, target.item)),
                    role=reader,
                    member=account.account["member"],
                    **target.attributes,
                )
