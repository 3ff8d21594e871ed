"""Environments that left the blueprint: how one is destroyed, and when the foundation may give it up.

An environment that is no longer in the file has no graph. What it consists of stands in its state, which is
all that Terraform needs to destroy it. To take protection away Terraform needs the configuration, too: that
is the one of its last apply, unchanged but for the attributes that protect.

The foundation deletes the project of what left the file, and a project takes everything in it along. So it
does that only for an environment with a tombstone, whose own stack was destroyed before.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundplan.facts.schema import resource_type, type_names
from groundplan.modules.automation import Task
from groundplan.modules.graph import Graph, Stack
from groundplan.modules.project import SEED
from groundplan.stacks.state import frame

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint
    from groundplan.plans.model import Change, Plan

Json = Mapping[str, Any]

STATE = "state_"  #: what the names of places for states begin with
APPLY: Task = "apply"  #: every environment has an identity for it, named so

#: Attributes that protect from deletion, each with the value that does, and the one that lets it happen
#: (provider docs of each type). ``force_destroy`` lets a bucket go with what is in it, as ``protect: false``.
PROTECTING: Mapping[str, tuple[Any, Any]] = {
    "deletion_protection": (True, False),
    "deletion_protection_enabled": (True, False),
    "deletion_policy": ("PREVENT", "DELETE"),
    "force_destroy": (False, True),
}


@dataclass(frozen=True, slots=True)
class Departed:
    """An environment that the foundation's plan gives up.

    Attributes:
        name: its name.
        project: its project; empty if nothing in the plan says it.
        addresses: what the plan deletes of it.
    """

    name: str
    project: str
    addresses: tuple[str, ...]


def tombstone(blueprint: Blueprint, name: str, written: Json | None = None) -> Stack:
    """The stack of an environment that left the file.

    Args:
        blueprint: with a tombstone for it, which names its project.
        name: the environment.
        written: its configuration; None for one without resources, with which Terraform destroys everything.
    """
    graph = Graph(project=blueprint.removed[name].confirm)
    settings = [{"project": graph.project}]
    bare: Json = {"provider": {"google": settings, "google-beta": settings}}
    return frame(blueprint, name, graph, written=bare if written is None else written)


def lifted(written: Json, names: Collection[str] | None = None) -> tuple[Json, list[str]]:
    """A configuration in which nothing is protected, and the addresses of what was.

    Args:
        written: a configuration, as the writer gives it.
        names: for the foundation's, the environments that it is about, whose states stay; None for all.
    """
    result = copy.deepcopy(dict(written))
    found = []
    for kind, resources in result.get("resource", {}).items():
        for name, body in resources.items():
            mine = names is None or (_owner(name) in names and not name.startswith(STATE))
            if mine and _lift(kind, body):
                found.append(f"{kind}.{name}")
    return result, sorted(found)


def size(written: Json) -> int:
    """The number of resources in a configuration."""
    return sum(map(len, written.get("resource", {}).values()))


def only_lifts(plan: Plan) -> bool:
    """Whether a plan does nothing but take protection away."""
    from groundplan.plans.differences import differences
    from groundplan.plans.model import Action

    return all(
        change.action is Action.UPDATE and {d.attribute for d in differences(change)} <= PROTECTING.keys()
        for change in plan.actual
    )


def departed(plan: Plan, environments: Collection[str]) -> list[Departed]:
    """The environments whose part of the foundation a plan deletes, although they are not in the blueprint.

    Args:
        plan: of the foundation.
        environments: those in the blueprint.
    """
    deleted = [change for change in plan.actual if change.deletes]
    names = dict.fromkeys(
        _owner(change.name)
        for change in deleted
        if change.type in ("google_project", "google_folder") or change.name.endswith(f"_{APPLY}")
    )
    found = []
    for name in names:
        if name not in environments and name != SEED:
            own = [change for change in deleted if _owner(change.name) == name]
            found.append(Departed(name, _project(own), tuple(change.address for change in own)))
    return found


def _lift(kind: str, body: dict[str, Any]) -> bool:
    """Take the protection of one resource away; whether it had any."""
    if kind not in type_names("google-beta"):
        return False
    facts = resource_type(kind, "google-beta")
    defaults = {"deletion_protection": facts.deletion_protection}
    found = False
    for attribute, (protecting, free) in PROTECTING.items():
        value = body.get(attribute, defaults.get(attribute))
        if attribute in facts.block.attributes and value == protecting:
            body[attribute], found = free, True
    return found


def _owner(name: str) -> str:
    """The environment that something of the foundation belongs to: names begin with its name."""
    return name.removeprefix(STATE).partition("_")[0]


def _project(changes: Iterable[Change]) -> str:
    """The project of an environment, as its project, its APIs or its grants name it."""
    for kind, attribute in (
        ("google_project", "project_id"),
        ("google_project_service", "project"),
        ("google_project_iam_member", "project"),
    ):
        for change in changes:
            value = change.before[attribute]
            if change.type == kind and value.is_known:
                return str(value)
    return ""
