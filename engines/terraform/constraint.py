"""Terraform's version constraints: ``>= 1.13``, ``~> 8.7``, ``>= 1.11, != 1.12.0, < 2``.

The rules are those of Terraform's documentation ("Version Constraints"): all conditions of a comma list
must hold; ``~>`` lets only the rightmost given part grow; a prerelease satisfies a condition only if the
condition names a prerelease of the same release.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from groundplan.errors import InputError

CONDITION = re.compile(r"\s*(=|!=|>=|<=|>|<|~>)?\s*v?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?(?:\+\S+)?\s*")

#: The numbers of a release, and its prerelease ("" for none).
Version = tuple[tuple[int, ...], str]

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def satisfies(version: str, constraint: str) -> bool:
    """Does ``version`` satisfy all conditions of ``constraint``? An empty constraint is always satisfied.

    Raises:
        InputError: one of the two cannot be read.
    """
    if not constraint.strip():
        return True
    _, found = _read(version)
    conditions = [_read(part) for part in constraint.split(",")]
    return all(_holds(found, sign, wanted) for sign, wanted in conditions)


def _read(text: str) -> tuple[str, Version]:
    match = CONDITION.fullmatch(text)
    if match is None:
        raise InputError(
            f"{text.strip()!r} is not a version constraint",
            hint="Write it as Terraform does: `>= 1.13`, `~> 1.13.0`, `>= 1.11, < 2`.",
        )
    sign, numbers, prerelease = match.groups(default="")
    return sign or "=", (tuple(int(n) for n in numbers.split(".")), prerelease)


def _holds(version: Version, sign: str, wanted: Version) -> bool:
    (numbers, prerelease), (wanted_numbers, wanted_prerelease) = version, wanted
    if prerelease and sign != "!=" and (not wanted_prerelease or _pad(numbers) != _pad(wanted_numbers)):
        return False
    if sign == "~>":
        fixed = len(wanted_numbers) - 1
        return _pad(numbers)[:fixed] == wanted_numbers[:fixed] and _order(version) >= _order(wanted)
    return COMPARE[sign](_order(version), _order(wanted))


def _order(version: Version) -> tuple[object, ...]:
    """A key that sorts versions: numbers first, then prereleases before the release itself."""
    numbers, prerelease = version
    parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in prerelease.split(".") if p)
    return _pad(numbers), not prerelease, parts


def _pad(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """At least three numbers: 1.13 is 1.13.0."""
    return numbers + (0,) * (3 - len(numbers))
