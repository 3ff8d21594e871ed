"""Tags of Resource Manager: what conditions of IAM and of organization policies ask for. They are no labels.

Keys and values are defined in the organization, once for all environments, and bound to each environment's
folder, so that its project inherits them; an existing project, which stays where it is, is bound itself. A
binding is a resource of its own: the ``tags`` of a project can only be set when it is made, and an edit would
replace it (provider docs, google_project).

A value that exists already (``tagValues/123``) is bound and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import terraform_name
from groundplan.modules.graph import Graph, Reference, Text, text
from groundplan.modules.project import Project

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint, Environment

EXISTING = "tagValues/"

#: Key and value → id of the value.
Tags = Mapping[tuple[str, str], Reference]


def add_tags(graph: Graph, blueprint: Blueprint, seed: Project) -> Tags:
    """Define the keys and values that environments use."""
    wanted: dict[str, set[str]] = {}
    for env in blueprint.environments.values():
        for key, value in env.tags.items():
            if not value.startswith(EXISTING):
                wanted.setdefault(key, set()).add(value)
    made: dict[tuple[str, str], Reference] = {}
    for key in sorted(wanted):
        defined = graph.add(
            "google_tags_tag_key",
            key,
            parent=f"organizations/{blueprint.organization}",
            short_name=key,
            description=f"Environments of {blueprint.name}",
            depends_on=seed.services.needs("cloudresourcemanager"),
        )
        for value in sorted(wanted[key]):
            added = graph.add(
                "google_tags_tag_value", terraform_name(key, value), parent=defined["id"], short_name=value
            )
            made[key, value] = added["id"]
    return made


def bind_tags(graph: Graph, env: Environment, home: Reference | Text, tags: Tags, seed: Project) -> None:
    """Bind an environment's tags to its folder, or to its project.

    Args:
        graph: the foundation's.
        env: the environment.
        home: ``folders/NUMBER`` or ``projects/NUMBER``.
        tags: what ``add_tags`` defined.
        seed: whose API is called.
    """
    for key, value in sorted(env.tags.items()):
        graph.add(
            "google_tags_tag_binding",
            terraform_name(env.name, key),
            parent=text("//cloudresourcemanager.googleapis.com/", home),
            tag_value=value if value.startswith(EXISTING) else tags[key, value],
            depends_on=seed.services.needs("cloudresourcemanager"),
        )
