"""What each persona may do in each tier, and why: ``personas.json``, dated and with its sources.

No basic role is among the roles, and none that grants others. A persona that a tier does not list may do
nothing there.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("personas.json")

Persona = Literal["operators", "ml_engineers", "data_scientists", "auditors"]
PersonaTier = Literal["development", "staging", "production"]


class Rights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one persona may do in one tier."""

    project: dict[str, str] = {}  #: role on the project → what it is for
    things: dict[str, str] = {}  #: kind as references have it → role on each of the environment's


class Personas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``personas.json``."""

    checked: str  #: YYYY-MM-DD
    sources: tuple[str, ...]
    note: str
    tiers: dict[PersonaTier, dict[Persona, Rights]]


@functools.cache
def personas() -> Personas:
    """Everything that is known about personas."""
    return msgspec.json.decode(DATA.read_bytes(), type=Personas)


def rights(tier: PersonaTier) -> dict[Persona, Rights]:
    """What each persona may do in a tier, in the order of the file."""
    return personas().tiers[tier]
