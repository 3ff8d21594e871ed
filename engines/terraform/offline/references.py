"""Attributes that name other objects, and whether what they name exists in the stand-in's cloud.

Only objects of projects that live in this cloud are looked for. What lies outside of it (an existing
project, somebody else's network) is taken to be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from groundplan.facts.schema import resource_type

from .cloud import Cloud, CloudObject, project_in
from .templates import fields, fill


class Reference(NamedTuple):
    """An attribute that names another object. ``holds``: the other cannot be deleted while it is named."""

    type: str
    path: str
    target: str
    holds: bool = False


NETWORK, SUBNETWORK = "google_compute_network", "google_compute_subnetwork"
CLUSTER, NODE_POOL = "google_container_cluster", "google_container_node_pool"

REFERENCES = (
    Reference(SUBNETWORK, "network", NETWORK, holds=True),
    Reference(CLUSTER, "network", NETWORK, holds=True),
    Reference(CLUSTER, "subnetwork", SUBNETWORK, holds=True),
    Reference(CLUSTER, "database_encryption.key_name", "google_kms_crypto_key"),
    Reference(NODE_POOL, "cluster", CLUSTER),
    Reference("google_compute_firewall", "network", NETWORK, holds=True),
    Reference("google_compute_router", "network", NETWORK, holds=True),
    Reference("google_compute_router_nat", "router", "google_compute_router"),
    Reference("google_compute_global_address", "network", NETWORK, holds=True),
    Reference("google_service_networking_connection", "network", NETWORK),
    Reference("google_kms_crypto_key", "key_ring", "google_kms_key_ring"),
    Reference("google_kms_crypto_key_iam_member", "crypto_key_id", "google_kms_crypto_key"),
    Reference("google_secret_manager_secret_version", "secret", "google_secret_manager_secret"),
    Reference("google_service_account_iam_member", "service_account_id", "google_service_account"),
    Reference("google_pubsub_subscription", "topic", "google_pubsub_topic"),
)


def owns(cloud: Cloud, project: str) -> bool:
    """Does the project with this id live in this cloud?"""
    return cloud.get("google_project", f"projects/{project}") is not None


def missing(cloud: Cloud, item: CloudObject) -> Iterator[tuple[Reference, str]]:
    """What an object names and what does not exist: the reference and the id."""
    for reference in REFERENCES:
        if reference.type == item.type:
            for target in _targets(reference, item):
                if not _exists(cloud, reference.target, target):
                    yield reference, target


def users(cloud: Cloud, item: CloudObject) -> Iterator[CloudObject]:
    """Objects that keep ``item`` from being deleted."""
    for reference in REFERENCES:
        if reference.holds and reference.target == item.type:
            for other in cloud.all(reference.type):
                if item.id in _targets(reference, other):
                    yield other


def values_at(state: Any, path: str) -> Iterator[Any]:
    """All values at a dotted path, in every element of the blocks on the way."""
    name, _, rest = path.partition(".")
    for element in state if isinstance(state, list) else [state]:
        value = element.get(name) if isinstance(element, dict) else None
        if rest:
            yield from values_at(value, rest)
        else:
            yield value


def _targets(reference: Reference, item: CloudObject) -> Iterator[str]:
    """Ids that the attribute names; a bare name is completed from the object itself, as the API does."""
    template = resource_type(reference.target, "google-beta").id
    *_, own = fields(template)
    region = "-".join(str(item.attributes.get("location")).split("-")[:2])
    for value in values_at(item.attributes, reference.path):
        if isinstance(value, str) and value:
            relative = re.sub(r"^(https?:)?//[^/]+/(compute/)?(v1/|beta/)?(?=projects/)", "", value)
            known = {"region": region, **item.attributes, own: relative}
            yield relative if "/" in relative else fill(template, known.get)


def _exists(cloud: Cloud, type_name: str, id_: str) -> bool:
    project = project_in(id_)
    if project is None or not owns(cloud, project) or cloud.get(type_name, id_) is not None:
        return True
    return _is_automatic(cloud, type_name, project, id_.rpartition("/")[2])


def _is_automatic(cloud: Cloud, type_name: str, project: str, name: str) -> bool:
    """Networks named default, and the subnetworks of networks in auto mode, come into being by themselves."""
    if type_name not in (NETWORK, SUBNETWORK):
        return False
    owner = cloud.get("google_project", f"projects/{project}")
    if name == "default" and owner and owner.attributes.get("auto_create_network") is not False:
        return True
    network = cloud.get(NETWORK, f"projects/{project}/global/networks/{name}")
    return type_name == SUBNETWORK and bool(network and network.attributes.get("auto_create_subnetworks"))
