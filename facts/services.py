"""Which APIs a thing needs, and why: ``services.json``, dated and with its sources."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("services.json")

#: base: every project. seed, project: what the foundation needs in its own and in each environment's project.
#: The others are named after what an environment uses.
Group = Literal[
    "base", "seed", "project", "network", "endpoint", "perimeter", "cluster", "image_streaming", "buckets",
    "bigquery", "registry", "secrets", "cmek", "budget", "break_glass", "audit_logs", "contacts",
]  # fmt: skip


class Services(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``services.json``. A group maps the names of APIs to the reason why they are needed."""

    checked: str  #: YYYY-MM-DD
    sources: tuple[str, ...]
    groups: dict[Group, dict[str, str]]


@functools.cache
def services() -> Services:
    """Everything that is known about needed APIs."""
    return msgspec.json.decode(DATA.read_bytes(), type=Services)


def api(name: str) -> str:
    """The full name of an API: ``compute.googleapis.com`` of ``compute`` or of itself."""
    return name if "." in name else f"{name}.googleapis.com"


def needed(*groups: Group) -> tuple[str, ...]:
    """The APIs of these groups, each once, in alphabetical order."""
    return tuple(sorted({name for group in groups for name in services().groups[group]}))
