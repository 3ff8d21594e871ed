"""Which roles whoever applies a foundation needs: ``administrator.json``, dated and with its sources.

What comes with making a thing is not among them: the owner of a new project may do everything in it.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("administrator.json")

#: Where a role is needed, seen from the thing that is made.
Level = Literal[
    "parent", "billing account", "organization", "bucket", "project", "host project", "existing project"
]


class Need(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A role that making something takes."""

    makes: str  #: resource type; with ``data.`` before it for what is there already and is used
    role: str
    on: Level
    reason: str


class Administrator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``administrator.json``."""

    checked: str  #: YYYY-MM-DD
    sources: tuple[str, ...]
    needs: tuple[Need, ...]


@functools.cache
def administrator() -> Administrator:
    """Everything that is known about an administrator's roles."""
    return msgspec.json.decode(DATA.read_bytes(), type=Administrator)
