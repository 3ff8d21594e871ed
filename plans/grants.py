"""Grants of IAM roles as sentences: ``trainer may now write buckets/checkpoints``.

One resource grants one role to one member (or several), on one target. What the blueprint says in one line
(``writes: [buckets/checkpoints]``) may be several of them, so they are read together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from groundplan.plans.model import Change
from groundplan.plans.values import ABSENT, Attributes, Value
from groundplan.plans.words import noun

_VERBS = {
    "roles/artifactregistry.reader": "read",
    "roles/artifactregistry.writer": "write",
    "roles/bigquery.dataEditor": "write",
    "roles/bigquery.dataViewer": "read",
    "roles/cloudkms.cryptoKeyEncrypterDecrypter": "encrypt and decrypt with",
    "roles/iam.serviceAccountTokenCreator": "make tokens of",
    "roles/iam.serviceAccountUser": "act as",
    "roles/iam.workloadIdentityUser": "act as",
    "roles/secretmanager.secretAccessor": "read",
    "roles/storage.objectCreator": "add to",
    "roles/storage.objectUser": "write",
    "roles/storage.objectViewer": "read",
}
#: What a role is granted on: the attribute that names it, and the attribute by which that resource is known.
_TARGETS = {
    "google_artifact_registry_repository": ("repository", "repository_id"),
    "google_bigquery_dataset": ("dataset_id", "dataset_id"),
    "google_folder": ("folder", "name"),
    "google_kms_crypto_key": ("crypto_key_id", "id"),
    "google_organization": ("org_id", "org_id"),
    "google_project": ("project", "project_id"),
    "google_secret_manager_secret": ("secret_id", "secret_id"),
    "google_service_account": ("service_account_id", "name"),
    "google_storage_bucket": ("bucket", "name"),
}
_KUBERNETES = re.compile(
    r"/ns/(?P<namespace>[^/]+)/sa/(?P<name>[^/]+)$|\[(?P<old>[^/]+)/(?P<account>[^\]]+)\]$"
)


#: Where a role says more than a verb would: it reaches many things.
_WIDE = ("google_project", "google_folder", "google_organization")


@dataclass(frozen=True, slots=True)
class Grant:
    """One role as a phrase: ``read`` ``buckets/datasets``, ``use`` ``roles/x`` ``on the project``."""

    verb: str
    what: str
    where: str = ""


def is_grant(type: str) -> bool:
    """Whether resources of this type grant roles."""
    return type.endswith(("_iam_member", "_iam_binding"))


def target_name(change: Change) -> str:
    """The name by which grants know a resource that roles can be granted on; empty for all others."""
    name = change.latest[_TARGETS[change.type][1]] if change.type in _TARGETS else ABSENT
    return str(name) if name.is_known and not name.sensitive else ""


def member(change: Change) -> str:
    """Who gets the role, short: a Kubernetes account or a service account by its name, people as they are."""
    held = change.latest
    value = held["member"] if not held["member"].is_absent else held["members"]
    if not value.is_known or value.sensitive:
        return change.name
    return ", ".join(map(_short, map(str, value.raw))) if isinstance(value.raw, list) else _short(str(value))


def workload(change: Change) -> str:
    """Name of the Kubernetes service account that gets the role; empty for other members."""
    match = _KUBERNETES.search(str(change.latest["member"]))
    return (match["name"] or match["account"]) if match else ""


def sentence(changes: list[Change], names: Mapping[tuple[str, str], str], *, new: bool) -> str:
    """What several grants mean together for one member: ``may now write buckets/checkpoints``.

    Args:
        changes: grants of one member.
        names: what the blueprint calls a target, by its type and ``target_name``.
        new: the member gets its first roles; it "may", not "may now".
    """
    gained = [_grant(c, c.after, names) for c in changes if c.after.exists]
    lost = [_grant(c, c.before, names) for c in changes if c.deletes]
    parts = []
    if gained:
        parts.append(f"{'may' if new else 'may now'} {_phrases(gained)}")
    if lost:
        parts.append(f"may no longer {_phrases(lost)}")
    return "; ".join(parts)


def _grant(change: Change, held: Attributes, names: Mapping[tuple[str, str], str]) -> Grant:
    on = change.type.rpartition("_iam_")[0]
    attribute = _TARGETS.get(on, ("", ""))[0]
    name = held[attribute] if attribute else Value(held["id"].state)
    role = held["role"]
    condition = "" if held["condition"].is_absent or held["condition"].raw == [] else " on a condition"
    shown = str(name) if name.is_known and not name.sensitive else change.name
    target = names.get((on, shown)) or f"{noun(on)} {shown.rpartition('/')[2]}"
    verb = _VERBS.get(str(role)) if on not in _WIDE else None
    if verb:
        return Grant(verb, f"{target}{condition}")
    return Grant("use", str(role), f" on {'the project' if on == 'google_project' else target}{condition}")


def _phrases(grants: list[Grant]) -> str:
    """``read buckets/a and buckets/b, write buckets/c``."""
    kinds: dict[tuple[str, str], set[str]] = {}
    for grant in grants:
        kinds.setdefault((grant.verb, grant.where), set()).add(grant.what)
    return ", ".join(f"{verb} {_and(things)}{where}" for (verb, where), things in sorted(kinds.items()))


def _and(texts: set[str]) -> str:
    *most, last = sorted(texts)
    return f"{', '.join(most)} and {last}" if most else last


def _short(principal: str) -> str:
    match = _KUBERNETES.search(principal)
    if match:
        return match["name"] or match["account"]
    kind, _, name = principal.partition(":")
    return name.partition("@")[0] if kind == "serviceAccount" else principal
