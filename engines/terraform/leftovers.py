"""What the work files say of stacks that no blueprint mentions any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from groundplan.engines.terraform.workspace import Root
from groundplan.engines.terraform.writer import FILE_NAME, STATE_FILE, Json

_PLATFORM = "platform"  #: the label that every stack of a blueprint gives what it makes


@dataclass(frozen=True, slots=True)
class Held:
    """What a state holds.

    Attributes:
        resources: number of managed resources.
        project: the project that most of them are in; empty if none says one.
    """

    resources: int
    project: str


class _Instance(msgspec.Struct):
    attributes: dict[str, Any] = {}


class _Resource(msgspec.Struct):
    mode: str
    instances: list[_Instance] = []


class _State(msgspec.Struct):
    resources: list[_Resource] = []


def held(state: bytes) -> Held:
    """What a stored state holds; nothing for no state."""
    content = msgspec.json.decode(state, type=_State) if state.strip() else _State()
    found = [
        instance.attributes
        for resource in content.resources
        if resource.mode == "managed"
        for instance in resource.instances
    ]
    projects = Counter(str(one["project"]) for one in found if one.get("project"))
    return Held(len(found), projects.most_common(1)[0][0] if projects else "")


def leftovers(directory: Path, platform: str, known: Collection[str]) -> dict[str, Held]:
    """What is left of stacks that are not known any more, by name, where their states are files.

    Blueprints that stand side by side share their work files, so stacks of another platform do not count.

    Args:
        directory: work files of one mode.
        platform: the blueprint's name.
        known: the names of its stacks.
    """
    found = {}
    for state in sorted(directory.glob(f"*/{STATE_FILE}")):
        name = state.parent.name
        if name not in known and _platform(state.parent) in (platform, ""):
            left = held(state.read_bytes())
            if left.resources:
                found[name] = left
    return found


def recorded(root: Root) -> Json | None:
    """The configuration of a stack's last apply; None if these work files saw none."""
    if not root.applied.exists():
        return None
    content: Json = msgspec.json.decode(root.applied.read_bytes(), type=dict[str, Any])
    return content


def _platform(root: Path) -> str:
    """The platform that a stack belongs to; empty if its configuration does not say it."""
    path = root / FILE_NAME
    if not path.exists():
        return ""
    content: Json = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    settings: Json = (content.get("provider", {}).get("google") or [{}])[0]
    return str(settings.get("default_labels", {}).get(_PLATFORM, ""))
