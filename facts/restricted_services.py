"""What VPC Service Controls can protect: ``restricted_services.json``, dated and with its sources."""

from __future__ import annotations

import functools
from collections.abc import Collection
from pathlib import Path

import msgspec

DATA = Path(__file__).with_name("restricted_services.json")


class MethodForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the methods of one service are written in rules of perimeters."""

    pattern: str  #: a regular expression for the whole name
    example: str


class RestrictedServices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``restricted_services.json``. Services are full names."""

    checked: str  #: YYYY-MM-DD
    sources: tuple[str, ...]
    ga: tuple[str, ...]  #: may be protected, fully supported
    beta: tuple[str, ...]  #: may be protected, in preview
    methods: dict[str, tuple[str, ...]]  #: service → some of its methods, those that are most in use
    method_forms: dict[str, MethodForm]  #: by service; methods of others are written in several ways

    @property
    def supported(self) -> frozenset[str]:
        """Everything that a perimeter can protect."""
        return frozenset((*self.ga, *self.beta))


@functools.cache
def restricted_services() -> RestrictedServices:
    """Everything that is known about restricted services."""
    return msgspec.json.decode(DATA.read_bytes(), type=RestrictedServices)


def restricted(used: Collection[str], add: Collection[str] = (), remove: Collection[str] = ()) -> list[str]:
    """The services that a perimeter restricts, sorted.

    All that are fully supported, whether they are used or not: what nobody uses today would be the way out
    tomorrow. Of those in preview only what the environment uses (Google Cloud docs, VPC Service Controls,
    "Supported products": preview is not meant for production).

    Args:
        used: the APIs that the environment uses, by full name.
        add: further services.
        remove: services that stay open.
    """
    known = restricted_services()
    return sorted({*known.ga, *(name for name in known.beta if name in used), *add} - {*remove})
