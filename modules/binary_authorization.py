"""Binary Authorization: which images may run in the clusters of a project.

Every cluster asks the project's one policy (``PROJECT_SINGLETON_POLICY_ENFORCE`` in ``modules.cluster``).
Google's own system images pass by Google's global policy, which is on.

Without a repository of its own and without declared outside projects nobody can tell which images are meant,
so all may run. Else images may come from the environment's repositories and from the projects under
``external.projects``. In production everything else is blocked; in the tiers below it runs and is written to
the audit log, so that it shows before production refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from groundplan.modules.graph import Graph
from groundplan.modules.provisioned import clusters
from groundplan.modules.registry import existing_repository, repository_id, repository_location
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint, Environment


def add_image_policy(graph: Graph, blueprint: Blueprint, env: Environment, services: Services) -> None:
    """Add the project's policy on images, if there is a cluster that asks it."""
    if not clusters(env):
        return
    allowed = sorted(set(image_patterns(blueprint, env)))
    blocks = allowed and env.tier == "production"
    with graph.at("registry"):
        graph.add(
            "google_binary_authorization_policy",
            "images",
            description="Images that may run, by where they come from",
            global_policy_evaluation_mode="ENABLE",
            admission_whitelist_patterns=[{"name_pattern": pattern} for pattern in allowed] or None,
            default_admission_rule={
                "evaluation_mode": "ALWAYS_DENY" if allowed else "ALWAYS_ALLOW",
                "enforcement_mode": "ENFORCED_BLOCK_AND_AUDIT_LOG"
                if blocks or not allowed
                else "DRYRUN_AUDIT_LOG_ONLY",
            },
            depends_on=services.needs("binaryauthorization"),
        )


def image_patterns(blueprint: Blueprint, env: Environment) -> Iterator[str]:
    """Where images may come from; ``**`` is every path below (Binary Authorization docs, "Policies")."""
    images = {key: one for key, one in env.registry.items() if one.format == "docker"}
    for key, repository in images.items():
        if repository.existing:
            named = existing_repository(repository.existing)
            yield f"{named['location']}-docker.pkg.dev/{named['project']}/{named['repository']}/**"
        else:
            location = repository_location(env, repository)
            yield f"{location}-docker.pkg.dev/{env.project_id}/{repository_id(key, repository)}/**"
    for project in blueprint.external.projects if images else ():
        for region in {env.cluster_region(cluster) for cluster in clusters(env).values()}:
            for location in (region, *_multi_region(region)):
                yield f"{location}-docker.pkg.dev/{project}/**"


def _multi_region(region: str) -> tuple[str, ...]:
    """The multi-region of Artifact Registry around a region, if there is one."""
    return tuple(name for name in ("us", "europe", "asia") if region.startswith(f"{name}-"))
