"""Organization policies: constraints, and two sets of them for an ML platform: ``org_policies.json``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("org_policies.json")

#: What a preset says of a constraint: enforced or not, everything denied or allowed, or lists under ``allow``
#: and ``deny``. ``regions`` stands for the regions that the environment is in.
Value = bool | Literal["allow-all", "deny-all", "regions"] | dict[Literal["allow", "deny"], tuple[str, ...]]


class Constraint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A constraint of Google's, or one of ours."""

    kind: Literal["boolean", "list"]
    group: str  #: what it is about
    why: str


class Custom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands behind a constraint of ours: it denies what meets the condition."""

    resource: str
    condition: str
    title: str


class OrgPolicies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``org_policies.json``."""

    checked: str  #: YYYY-MM-DD
    sources: tuple[str, ...]
    constraints: dict[str, Constraint]
    presets: dict[Literal["starter", "hardened"], dict[str, Value]]
    left_out: dict[str, str]  #: constraints that others demand and no preset does, and why
    custom: dict[str, Custom]
    locations: dict[str, tuple[str, ...]]  #: value group → beginnings of the locations in it


@functools.cache
def org_policies() -> OrgPolicies:
    """Everything that is known about organization policies."""
    return msgspec.json.decode(DATA.read_bytes(), type=OrgPolicies)


def preset(name: str) -> dict[str, Value]:
    """The constraints of a preset, each with its value; none for ``none``."""
    return {} if name == "none" else dict(org_policies().presets[name])  # type: ignore[index]


def covers(value: str, location: str) -> bool | None:
    """Whether a value of ``gcp.resourceLocations`` covers a region or multi-region; None if not known.

    Args:
        value: a location, or a group of them: ``in:us-locations``, ``in:us-central1-locations``.
        location: ``us-central1``, ``US``.
    """
    place = location.lower()
    if not value.startswith("in:"):
        return value.lower() == place
    group = value.removeprefix("in:").removesuffix("-locations").lower()
    if group in org_policies().locations:
        beginnings = org_policies().locations[group]
        return any(place == one or (place.startswith(one) and len(one) > 2) for one in beginnings)
    return group == place if group[-1:].isdigit() else None
