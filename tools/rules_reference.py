"""Writes the tables in ``docs/rules.md`` from the rules themselves.

Usage: ``python tools/rules_reference.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from generated_part import rewrite

from groundplan.blueprints.explanations import Explanation, explanations
from groundplan.blueprints.rules.areas import AREAS, area
from groundplan.blueprints.rules.construction import IMPOSSIBLE, SAID_BY

TOOL = Path(__file__).name


def main() -> None:
    """Write the page."""
    for page, part in generated().items():
        rewrite(page, TOOL, part)


def generated() -> dict[str, str]:
    """The generated part of each page."""
    return {"docs/rules.md": "\n\n".join([*_areas(), _impossible(), _elsewhere()])}


def _areas() -> Iterator[str]:
    """A section for each area that has rules, in the order of the table of areas."""
    letters = list(AREAS)
    every = sorted(
        explanations().values(),
        key=lambda one: letters.index(one.code[:2]) if one.code[:2] in letters else 99,
    )
    by_title: dict[str, list[Explanation]] = {}
    for one in every:
        by_title.setdefault(area(one.code).title, []).append(one)
    for title, found in by_title.items():
        rows = [
            (one.code, one.severity, one.basis, _sentence(one.title), one.why, one.source) for one in found
        ]
        yield f"## {title}\n\n" + _table(("code", "", "basis", "rule", "why", "source"), rows)


def _impossible() -> str:
    text = "Mistakes that other tools look for, and why they cannot be made in a blueprint."
    rows = [(one.code, _sentence(one.title), one.why) for one in IMPOSSIBLE]
    return f"## What cannot go wrong\n\n{text}\n\n" + _table(
        ("code", "rule", "why nothing can break it"), rows
    )


def _elsewhere() -> str:
    rows = [f"{code} is part of {other}." for code, other in SAID_BY.items()]
    return " ".join(rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _cell(text: str) -> str:
    return " ".join(text.replace("``", "`").split()).replace("|", "\\|")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    main()
