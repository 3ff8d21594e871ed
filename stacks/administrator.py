"""What somebody must be allowed to do above the projects in order to apply a stack."""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.facts.administrator import Level, administrator
from groundplan.modules.graph import Reference, Resource, Stack, references

ORGANIZATION = "the organization"  #: where the blueprint does not say which


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """A role, where it is needed, and why."""

    role: str
    where: str  #: ``folders/345678901234``, ``organizations/123456789012``, ``gs://BUCKET`` …
    reason: str


def administrator_grants(stack: Stack) -> list[Grant]:
    """The roles that applying this stack takes, in the order of the facts; each once per place."""
    found: dict[Grant, None] = {}
    for need in administrator().needs:
        for resource in stack.graph:
            if resource.address.startswith(f"{need.makes}."):
                where = _where(resource, need.on, stack)
                if where:
                    found[Grant(need.role, where, need.reason)] = None
    return list(found)


def _where(resource: Resource, level: Level, stack: Stack) -> str:
    """Where a role is needed to make a resource; empty if there is no such place."""
    attributes = resource.attributes
    match level:
        case "parent":
            return _parent(resource)
        case "billing account":
            account = attributes.get("billing_account")
            return f"billingAccounts/{account}" if account else ""
        case "bucket":
            return f"gs://{attributes['bucket']}"
        case "project":
            return f"projects/{attributes['project_id']}"
        case "host project":
            return f"projects/{attributes['host_project']}"
        case "existing project":
            return _existing_project(resource)
        case "organization":
            return _organization(stack)


def _parent(resource: Resource) -> str:
    """The folder or organization that a folder or project is made in, the nearest that exists already."""
    attributes = resource.attributes
    parent = attributes.get("parent") or attributes.get("folder_id")
    if isinstance(parent, Reference):
        return _parent(parent.resource)
    if parent:
        return parent if "/" in parent else f"folders/{parent}"
    return f"organizations/{attributes['org_id']}" if attributes.get("org_id") else ""


def _existing_project(resource: Resource) -> str:
    """The project that a resource is in, if the stack only looks it up: of a new one, its maker is owner."""
    above = [one.resource for one in references(resource.attributes["parent"])]
    return next((f"projects/{one.attributes['project_id']}" for one in above if one.mode == "data"), "")


def _organization(stack: Stack) -> str:
    parents = {_parent(resource) for resource in stack.graph.of_type("google_folder", "google_project")}
    return next((parent for parent in sorted(parents) if parent.startswith("organizations/")), ORGANIZATION)
