"""An access policy for each environment that has a perimeter: what its perimeter and access levels stand in.

An organization has one access policy for everything in it, and may have further ones that are scoped to one
folder or project each. A scoped policy can restrict only projects under its scope, and may be handed to
somebody who has no right on any other (Access Context Manager docs, "Scoped policies"). So each environment
gets its own, scoped to its folder: the identity that applies the environment then manages its perimeter, and
cannot even name the project of another environment in it. Two environments never write to one policy, which
would make their applies collide.

An existing project stays in the folder where it is, with others beside it; there the scope is the project.

The perimeter itself belongs to the environment's stack, which reads the policy's number in the lock file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.naming import cloud_name
from groundplan.modules.graph import Graph, Lifecycle, Reference, Resource, Text
from groundplan.modules.project import Project

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint, Environment


def wants_access_policy(blueprint: Blueprint, env: Environment) -> bool:
    """Whether an environment gets an access policy: it has a perimeter, in no policy of somebody else."""
    theirs = env.perimeter.existing or env.perimeter.access_policy
    own = env.perimeter.mode != "none" and not theirs
    return own and blueprint.organization is not None


def add_access_policy(
    graph: Graph, blueprint: Blueprint, env: Environment, home: Reference | Text, seed: Project
) -> Resource | None:
    """Add the access policy of an environment; None if it has no perimeter of its own.

    Its ``name`` is the number that perimeters and access levels are made in.

    Args:
        graph: the foundation's.
        blueprint: with the organization.
        env: the environment.
        home: its scope: ``folders/NUMBER`` or ``projects/NUMBER``.
        seed: whose API is called.
    """
    if not wants_access_policy(blueprint, env):
        return None
    return graph.add(
        "google_access_context_manager_access_policy",
        env.name,
        parent=f"organizations/{blueprint.organization}",
        title=cloud_name(env, env.name),
        scopes=[home],
        lifecycle=Lifecycle(prevent_destroy=env.protect),
        depends_on=seed.services.needs("accesscontextmanager"),
    )
