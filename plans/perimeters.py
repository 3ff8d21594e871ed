"""What changes about a perimeter, in the blueprint's words.

``status`` and ``spec`` hold everything, so the move from a dry run to an enforced perimeter looks to
Terraform as if all of it came and went. Here it is one word, beside what really changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundplan.plans.formats import blocks_of
from groundplan.plans.model import Change
from groundplan.plans.values import Attributes

PERIMETER = "google_access_context_manager_service_perimeter"

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that changes: the blueprint's key, the provider's path, and how."""

    key: str
    attribute: str
    text: str


def said(change: Change) -> list[Said]:
    """What an update of a perimeter changes; nothing for what is said better attribute by attribute."""
    before, after = _mode(change.before), _mode(change.after)
    found = [Said("mode", "status", f"{before or 'none'} → {after or 'none'}")] if before != after else []
    found += _parts(
        _main(change.before), _main(change.after), "", "status" if after == "enforced" else "spec"
    )
    old, new = _trial(change.before), _trial(change.after)
    if old is None or new is None:
        if old != new:
            found.append(Said("dry_run", "spec", "on → off" if new is None else "off → on"))
    else:
        found += _parts(old, new, "dry_run.", "spec")
    return found


def _mode(side: Attributes) -> str:
    return "enforced" if _config(side, "status") else "dry-run" if _config(side, "spec") else ""


def _main(side: Attributes) -> Config:
    return _config(side, "status") or _config(side, "spec") or {}


def _trial(side: Attributes) -> Config | None:
    return _config(side, "spec") if _config(side, "status") else None


def _config(side: Attributes, name: str) -> Config | None:
    found = side[name]
    return next(iter(blocks_of(found.raw)), None) if found.is_known else None


def _parts(before: Config, after: Config, prefix: str, attribute: str) -> Iterator[Said]:
    """What differs between two contents: names that come (+), go (-) or mean something else (~)."""
    for key, part in (
        ("inside", "resources"),
        ("restricted_services", "restricted_services"),
        ("ingress", "ingress_policies"),
        ("egress", "egress_policies"),
    ):
        old, new = _named(before.get(part)), _named(after.get(part))
        changed = [f"+{name}" for name in new if name not in old]
        changed += [f"-{name}" for name in old if name not in new]
        changed += [f"~{name}" for name in new if name in old and old[name] != new[name]]
        if changed:
            yield Said(prefix + key, f"{attribute}.{part}", ", ".join(changed))


def _named(items: Any) -> dict[str, str]:
    """The items of a list by what they are called: texts are their own names, rules have titles."""
    found = {}
    for item in items if isinstance(items, list) else []:
        name = str(item.get("title")) if isinstance(item, dict) else str(item)
        found[name] = json.dumps(item, sort_keys=True, default=repr)
    return found
