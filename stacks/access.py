"""Who can do what, and which key of the blueprint says so: read from the graphs, so that nothing is left out.

Every grant that groundplan makes is one resource, whoever asked for it: people, nodes, workloads, pipelines,
service agents. What people get in an emergency only stands there too, under the condition that somebody
approves it. What others granted outside of groundplan is not here, since nothing authoritative is.

    >>> for grant in access(stack):
    ...     print(grant.principal, grant.role, grant.resource)
    group:ml-eng@example.com roles/container.developer project llm-ml-dev
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from groundplan.modules.graph import Graph, Reference, Resource, Stack, Text

GRANTS = "_iam_member"
ENTITLEMENT = "google_privileged_access_manager_entitlement"

#: What roles are granted on: type without ``_iam_member`` → what people call it, the attribute that names it.
_ON = {
    "google_access_context_manager_access_policy": ("access policy", "name"),
    "google_artifact_registry_repository": ("repository", "repository"),
    "google_bigquery_dataset": ("dataset", "dataset_id"),
    "google_billing_account": ("billing account", "billing_account_id"),
    "google_compute_subnetwork": ("subnet", "subnetwork"),
    "google_folder": ("folder", "folder"),
    "google_kms_crypto_key": ("key", "crypto_key_id"),
    "google_organization": ("organization", "org_id"),
    "google_project": ("project", "project"),
    "google_pubsub_topic": ("topic", "topic"),
    "google_secret_manager_secret": ("secret", "secret_id"),
    "google_service_account": ("service account", "service_account_id"),
    "google_storage_bucket": ("bucket", "bucket"),
    "google_storage_managed_folder": ("managed folder", "managed_folder"),
}
#: Attributes by which a resource is known, the first that it has counts.
_NAMES = (
    "project_id", "account_id", "repository_id", "dataset_id", "secret_id", "role_id", "name", "display_name",
    "title", "service",
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One role of one principal on one thing.

    Attributes:
        principal: as IAM writes it. A project's number that nobody knows yet is written as ``NUMBER``.
        resource: what it is on: ``bucket llm-ml-dev-datasets``.
        role: the role.
        condition: title of the condition that it holds under; empty for none.
        stack: the stack that grants it.
        address: of the resource in that stack.
        origin: path of the key in the blueprint that asks for it, below the environment; in the foundation
            below the file.
    """

    principal: str
    resource: str
    role: str
    condition: str
    stack: str
    address: str
    origin: tuple[str, ...]

    @property
    def environment(self) -> str | None:
        """The environment that it belongs to; None for the foundation's own."""
        if self.origin[:1] == ("environments",):
            return self.origin[1]
        return None if self.stack == "foundation" else self.stack

    def as_json(self) -> dict[str, Any]:
        """The documented shape of one grant in ``groundplan access --json``."""
        return {
            "principal": self.principal,
            "role": self.role,
            "resource": self.resource,
            "condition": self.condition or None,
            "environment": self.environment,
            "stack": self.stack,
            "address": self.address,
        }


def access(stack: Stack) -> list[Grant]:
    """Every grant of a stack, sorted by principal, thing and role."""
    return sorted(_grants(stack))


def _grants(stack: Stack) -> Iterator[Grant]:
    graph = stack.graph
    for resource in graph:
        if resource.mode == "managed" and resource.type.endswith(GRANTS):
            attributes = resource.attributes
            condition = attributes.get("condition") or {}
            yield Grant(
                principal=_principal(graph, attributes["member"]),
                resource=_target(graph, resource),
                role=shown(graph, attributes["role"]),
                condition=str(condition.get("title", "")),
                stack=stack.name,
                address=resource.address,
                origin=resource.origin,
            )
        elif resource.type == ENTITLEMENT:
            yield from _emergency(stack, resource)


def _emergency(stack: Stack, entitlement: Resource) -> Iterator[Grant]:
    """What may be asked for: every role, by everybody who may ask."""
    attributes, graph = entitlement.attributes, stack.graph
    bindings = attributes["privileged_access"]["gcp_iam_access"]["role_bindings"]
    for principal, binding in product(attributes["eligible_users"][0]["principals"], bindings):
        yield Grant(
            principal=principal,
            resource=f"project {shown(graph, attributes['parent']).removeprefix('projects/')}",
            role=binding["role"],
            condition=f"{attributes['entitlement_id']}: asked for and approved",
            stack=stack.name,
            address=entitlement.address,
            origin=entitlement.origin,
        )


def _target(graph: Graph, resource: Resource) -> str:
    """What a role is granted on, with the project or bucket around it where that is another one."""
    kind = resource.type.removesuffix(GRANTS)
    noun, attribute = _ON.get(kind, (kind.removeprefix("google_").replace("_", " "), ""))
    name = shown(graph, resource.attributes.get(attribute, resource.name))
    if kind == "google_storage_managed_folder":
        name = f"{shown(graph, resource.attributes['bucket'])}/{name}"
    around = resource.attributes.get("project")
    other = shown(graph, around) if around is not None and attribute != "project" else graph.project
    return f"{noun} {name}" + ("" if other == graph.project else f" of {other}")


def _principal(graph: Graph, member: str | Reference | Text) -> str:
    if not isinstance(member, Reference):
        return shown(graph, member)
    source = member.resource
    if source.type == "google_service_account":
        project = shown(graph, source.attributes.get("project", graph.project or ""))
        return f"serviceAccount:{source.attributes['account_id']}@{project}.iam.gserviceaccount.com"
    if source.type == "google_project_service_identity":
        return f"service agent of {source.attributes['service']}"
    service = source.type.removeprefix("google_").partition("_")[0]
    return f"service agent of {service}.googleapis.com"


def shown(graph: Graph, value: str | Reference | Text) -> str:
    """A value as text: what it refers to by its name in the cloud."""
    if isinstance(value, Text):
        return "".join(
            part if isinstance(part, str) else _number_or_name(graph, part) for part in value.parts
        )
    return _name(graph, value.resource) if isinstance(value, Reference) else str(value)


def _number_or_name(graph: Graph, reference: Reference) -> str:
    return "NUMBER" if reference.attribute == "number" else _name(graph, reference.resource)


def _name(graph: Graph, resource: Resource) -> str:
    if resource.type == "google_kms_crypto_key":
        ring = resource.attributes["key_ring"].resource
        return f"{ring.attributes['location']}/{resource.attributes['name']}"
    for attribute in _NAMES:
        if attribute in resource.attributes:
            return shown(graph, resource.attributes[attribute])
    return resource.name
