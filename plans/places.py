"""Where in the blueprint a resource belongs: the group and the line of the summary that it is part of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from groundplan.plans.grants import is_grant, member, target_name, workload
from groundplan.plans.model import Change
from groundplan.plans.words import NOUNS, label, noun

Origin = tuple[str, ...]

#: Keys of the blueprint → the noun of one item, which is also the noun of its main resource.
_KINDS = {
    "access_levels": "access level",
    "bigquery": "dataset",
    "buckets": "bucket",
    "clusters": "cluster",
    "crossings": "crossing",
    "disks": "disk",
    "environments": "project",
    "filestore": "Filestore instance",
    "foundation": "project",
    "lustre": "Lustre instance",
    "network": "network",
    "node_pools": "node pool",
    "registry": "repository",
    "secrets": "secret",
    "workloads": "",
}
#: Keys whose items are groups of their own: ``clusters/main``.
_GROUPS = ("clusters", "environments")

#: Where resources belong that no key of the blueprint asked for by name: by the beginning of their type.
_BY_TYPE = (
    ("google_access_context_manager_", "perimeter"),
    ("google_artifact_registry_", "registry"),
    ("google_bigquery_", "storage"),
    ("google_billing_", "project"),
    ("google_compute_disk", "storage"),
    ("google_compute_instance", "machines"),
    ("google_compute_region_disk", "storage"),
    ("google_compute_resource_policy", "machines"),
    ("google_compute_", "network"),
    ("google_container_", "clusters"),
    ("google_dns_", "network"),
    ("google_essential_contacts_", "project"),
    ("google_filestore_", "storage"),
    ("google_folder", "project"),
    ("google_iam_", "identities"),
    ("google_kms_", "keys"),
    ("google_logging_", "logs"),
    ("google_lustre_", "storage"),
    ("google_monitoring_", "logs"),
    ("google_org_policy_", "organization policies"),
    ("google_privileged_access_manager_", "access"),
    ("google_project_iam_custom_role", "identities"),
    ("google_project", "project"),
    ("google_resource_manager_lien", "project"),
    ("google_secret_manager_", "secrets"),
    ("google_service_account", "identities"),
    ("google_storage_", "storage"),
    ("google_tags_", "project"),
)
#: Groups in the order they are shown in.
_ORDER = (
    "foundation", "environments", "clusters", "machines", "storage", "workloads", "crossings", "network",
    "perimeter", "keys", "encryption", "secrets", "registry", "identities", "access", "project",
    "organization policies", "logs", "services",
)  # fmt: skip
#: Attributes that name an object in the cloud, the first that is known counts.
_NAMES = (
    "account_id",
    "name",
    "secret_id",
    "repository_id",
    "dataset_id",
    "bucket_id",
    "role_id",
    "display_name",
    "service",
)


_PLAIN_ADDRESS = re.compile(r"(\w+)\.([\w-]+)")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the summary: what of the blueprint several resources belong to.

    Attributes:
        group: the heading: ``clusters/main``, ``storage``.
        label: what the line is about: ``node pool train``.
        noun: what its main resource is called; empty where there is none.
    """

    group: str
    label: str
    noun: str = ""

    @property
    def rank(self) -> tuple[int, str]:
        """For sorting groups."""
        head = self.group.partition("/")[0]
        return (_ORDER.index(head) if head in _ORDER else len(_ORDER), self.group)


def place(change: Change, origins: Mapping[str, Origin]) -> Place:
    """Where a resource belongs: by its origin, else (if it is deleted, or nobody's) by its type and name."""
    origin = origin_of(change, origins)
    found = _by_origin(origin) if origin else _by_type(change)
    if change.type == "google_project_service":
        return Place(found.group if origin else "services", "APIs", "API")
    return found


def target_names(changes: Iterable[Change], origins: Mapping[str, Origin]) -> dict[tuple[str, str], str]:
    """What the blueprint calls the things that roles are granted on, by type and name in the cloud."""
    found = {}
    for change in changes:
        name, origin = target_name(change), origin_of(change, origins)
        if name and origin:
            found[change.type, name] = "/".join(origin[1:] if origin[0] == "storage" else origin)
    return found


def origin_of(change: Change, origins: Mapping[str, Origin]) -> Origin:
    """The key that asked for a resource, as far as it is known; else empty."""
    return origins.get(change.address) or _by_name(change)


def former(change: Change) -> str:
    """What a moved resource was so far: ``node pool serve``, else Terraform's address."""
    previous = change.previous_address or ""
    match = _PLAIN_ADDRESS.fullmatch(previous)
    guess = _by_name(msgspec.structs.replace(change, type=match[1], name=match[2])) if match else ()
    return _by_origin(guess).label if guess else previous


def _by_origin(origin: Origin) -> Place:
    depth = 2 if origin[0] in _GROUPS else 1
    group, rest = "/".join(origin[:depth]), origin[depth:]
    if not rest:
        kind, name = origin[0], ""
    elif origin[0] in (*_GROUPS, "perimeter", "storage"):
        kind, name = rest[0], " ".join(rest[1:])
    else:
        kind, name = origin[0], " ".join(rest)
    kind_noun = _KINDS.get(kind, label(kind))
    return Place(group, f"{kind_noun} {name}".strip(), kind_noun)


def _by_type(change: Change) -> Place:
    if is_grant(change.type):
        account = workload(change)
        return Place("workloads", account) if account else Place("access", member(change))
    group = next((group for prefix, group in _BY_TYPE if change.type.startswith(prefix)), "others")
    return Place(group, f"{noun(change.type)} {title(change)}", noun(change.type))


def _by_name(change: Change) -> Origin:
    """The key that a resource of groundplan's own came from: names derive from keys, joined by ``_``.

    Keys hold no underscore, so the way back is unique.
    """
    if change.module or change.index is not None:
        return ()
    first, _, second = change.name.partition("_")
    match NOUNS.get(change.type):
        case "cluster" if not second:
            return ("clusters", first)
        case "node pool" if second:
            return ("clusters", first, "node_pools", second)
        case "bucket" if not second:
            return ("storage", "buckets", first)
    return ()


def title(change: Change) -> str:
    """The name of one resource: in the cloud where the plan knows it, else Terraform's."""
    held = change.latest
    for attribute in _NAMES:
        value = held[attribute]
        text = str(value).rpartition("/")[2] if value.is_known and not value.sensitive else ""
        if text and not text.isdigit():
            return text
    return change.name if change.index is None else f"{change.name} {change.index}"
