"""Projects: the unit of isolation. Each environment has one, in a folder of its own.

A project that exists already is looked up and used: it is neither moved into a folder nor relabelled, and
the roles of its default service accounts stay, since others may rely on them.

A new project starts without the default network. The provider does that by deleting the network after the
fact, which needs the Compute API and room for one more network. Where the environment's organization policies
have ``compute.skipDefaultNetworkCreation``, none is made in the first place, and the provider is left out of
it (provider docs, google_project, ``auto_create_network``). A policy takes effect within minutes, so a
project that is made right after its policy may still get the network: unused, and outside of everything that
groundplan makes. The other way costs more when it fails: a half-made project, whose id stays reserved for
thirty days.

The Compute API brings a default service account that is Editor of the whole project unless the organization
forbids it. The role is taken away; deleting the account could not be undone after thirty days (IAM docs).

A protected project has a lien: Google refuses to delete it, whoever asks and with whatever tool, until
somebody takes the lien away. The lien goes first when protection is lifted, and the project can go then
(Resource Manager docs, "Protecting projects from accidental deletion").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.naming import cloud_name
from groundplan.facts.services import Group, needed
from groundplan.modules.graph import Graph, Lifecycle, Reference, Resource, text
from groundplan.modules.names import labels
from groundplan.modules.org_policies import skips_default_network
from groundplan.modules.services import Services, add_services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint, Environment

FOLDER_LIMIT = 30  #: Resource Manager: display names of folders have 3 to 30 characters

#: The seed project's part of resource names; no environment can be called so.
SEED = "foundation"


@dataclass(frozen=True, slots=True)
class Project:
    """A project and its APIs."""

    id: Reference
    number: Reference
    services: Services


def add_seed(graph: Graph, blueprint: Blueprint, seed_id: str) -> Project:
    """Add the seed project.

    It stands in the organization, else beside the environment of the highest tier, which also pays for it. It
    is protected as long as any environment is.
    """
    env = highest(blueprint)
    protect = any(other.protect for other in blueprint.environments.values())
    project = graph.add(
        "google_project",
        SEED,
        project_id=seed_id,
        name=seed_id,
        org_id=blueprint.organization,
        folder_id=None if blueprint.organization else env.folder,
        billing_account=env.billing_account,
        auto_create_network=False,
        **_protection(protect),
    )
    contacts = any(other.contacts for other in blueprint.environments.values())
    groups: tuple[Group, ...] = ("seed", "contacts") if contacts else ("seed",)
    groups += ("budget",) if any(other.budget for other in blueprint.environments.values()) else ()
    emergency = any(other.access.break_glass for other in blueprint.environments.values())
    groups += ("break_glass",) if emergency else ()
    services = add_services(
        graph, needed(*groups), project=project["project_id"], prefix=(SEED,), depends_on=(project,)
    )
    found = Project(project["project_id"], project["number"], services)
    _deprive_default_accounts(graph, SEED, found)
    _hold(graph, SEED, found, found, protect=protect)
    return found


def add_folder(graph: Graph, blueprint: Blueprint, env: Environment, seed: Project) -> Resource | None:
    """Add the folder of an environment's new project; None without anything that it could be in."""
    above = f"folders/{env.folder}" if env.folder else f"organizations/{blueprint.organization}"
    if env.project.existing or not (env.folder or blueprint.organization):
        return None
    return graph.add(
        "google_folder",
        env.name,
        display_name=cloud_name(env, env.name, limit=FOLDER_LIMIT),
        parent=above,
        deletion_protection=env.protect,
        depends_on=seed.services.needs("cloudresourcemanager"),
    )


def add_project(
    graph: Graph, env: Environment, folder: Resource | None, above: Sequence[Resource], seed: Project
) -> Project:
    """Add an environment's project, or look up the existing one, with the APIs that come before all else.

    Args:
        graph: the foundation's.
        env: the environment.
        folder: the environment's own, which a new project is made in.
        above: organization policies of the folder: the project is made under them.
        seed: whose APIs are called.
    """
    needs = seed.services.needs("cloudresourcemanager", "cloudbilling", "serviceusage", "compute")
    if env.project.existing:
        project = graph.data("google_project", env.name, project_id=env.project_id, depends_on=needs)
    else:
        project = graph.add(
            "google_project",
            env.name,
            project_id=env.project_id,
            name=env.project_id,
            folder_id=folder["name"] if folder else None,
            billing_account=env.billing_account,
            auto_create_network=None if folder and skips_default_network(env) else False,
            labels=labels(env),
            **_protection(env.protect),
            depends_on=[*needs, *above],
        )
    groups: tuple[Group, ...] = ("project",)
    groups += ("audit_logs",) if env.audit_logs else ()
    groups += ("break_glass",) if env.access.break_glass else ()
    services = add_services(
        graph,
        needed(*groups),
        project=project["project_id"],
        prefix=(env.name,),
        depends_on=(project,),
    )
    found = Project(project["project_id"], project["number"], services)
    if not env.project.existing:
        _deprive_default_accounts(graph, env.name, found)
        _hold(graph, env.name, found, seed, protect=env.protect)
    return found


def highest(blueprint: Blueprint) -> Environment:
    """The environment of the highest tier; the last by name among several."""
    from groundplan.blueprints.model import TIER_ORDER

    return max(blueprint.environments.values(), key=lambda env: (TIER_ORDER.index(env.tier), env.name))


def _protection(protect: bool) -> dict[str, Any]:
    """The provider refuses to delete a protected project; Terraform refuses even to plan it."""
    return {
        "deletion_policy": "PREVENT" if protect else "DELETE",
        "lifecycle": Lifecycle(prevent_destroy=protect),
    }


def _hold(graph: Graph, name: str, project: Project, seed: Project, *, protect: bool) -> None:
    """Add a lien to a protected project."""
    if protect:
        graph.add(
            "google_resource_manager_lien",
            name,
            parent=text("projects/", project.number),
            restrictions=["resourcemanager.projects.delete"],
            origin="groundplan",
            reason="Protected by its blueprint: write protect: false there, and apply.",
            depends_on=seed.services.needs("cloudresourcemanager"),
        )


def _deprive_default_accounts(graph: Graph, name: str, project: Project) -> None:
    graph.add(
        "google_project_default_service_accounts",
        name,
        project=project.id,
        action="DEPRIVILEGE",
        restore_policy="REVERT_AND_IGNORE_FAILURE",
        depends_on=project.services.needs("iam", "compute", "cloudresourcemanager"),
    )
