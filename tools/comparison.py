"""Writes ``docs/comparison.md``: what Cluster Toolkit and groundplan make of the same forty node pools.

Usage: ``python tools/comparison.py``. What Cluster Toolkit made of them was measured once and stands in
``tests/data/comparison.yaml``; what groundplan makes of them is computed here, by reading each.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from generated_part import rewrite

from groundplan.blueprints.diagnostics import Diagnostic
from groundplan.blueprints.reader import judge
from groundplan.blueprints.rules.examples import complete
from groundplan.blueprints.tree import Source

TOOL = Path(__file__).name
DATA = Path(__file__).parents[1] / "tests" / "data" / "comparison.yaml"
PAGE = "docs/comparison.md"


@dataclass(frozen=True)
class Case:
    """One node pool and what both make of it.

    Attributes:
        pool: what it is.
        peer: what Cluster Toolkit made of it.
        write: how it was written for groundplan.
        about: the code that fits its mistake; empty for a right pool.
        note: what else is to be said.
        found: everything that groundplan says of it.
    """

    pool: str
    peer: str
    write: str
    about: str
    note: str
    found: Sequence[Diagnostic]

    @property
    def fitting(self) -> Diagnostic | None:
        """What groundplan says about the mistake; None if nothing."""
        return next((one for one in self.found if one.code == self.about), None)

    @property
    def verdict(self) -> str:
        """``refused`` or ``warned`` for a mistake that is found; ``accepted`` if nothing is said at all."""
        if self.about:
            fitting = self.fitting
            return {"error": "refused", "warning": "warned"}.get(
                fitting.severity if fitting else "", "missed"
            )
        return "refused" if self.found else "accepted"


def main() -> None:
    """Write the page."""
    for page, part in generated().items():
        rewrite(page, TOOL, part)


def cases() -> tuple[list[Case], list[Case]]:
    """The wrong pools and the right ones, each judged."""
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    wrong, right = ([_judged(**one) for one in data[kind]] for kind in ("wrong", "right"))
    return wrong, right


def generated() -> dict[str, str]:
    """The generated part of the page."""
    wrong, right = cases()
    parts = [
        _sums(wrong, right),
        _table("Wrong or risky", wrong),
        _table("Right", right),
        *_texts(wrong, right),
    ]
    return {PAGE: "\n\n".join(parts)}


def _judged(pool: str, peer: str, write: str, about: str = "", note: str = "") -> Case:
    _, found = judge(Source("pool.yaml", complete(write)))
    return Case(pool, peer, write, about, note, found)


def _sums(wrong: Sequence[Case], right: Sequence[Case]) -> str:
    peer = [one.peer.split()[0] for one in wrong]
    ours = [one.verdict for one in wrong]
    rows = [
        ("wrong or risky: stopped", f"{peer.count('stopped')}", f"{ours.count('refused')}"),
        ("wrong or risky: warned of", f"{peer.count('warned')}", f"{ours.count('warned')}"),
        ("wrong or risky: passed", f"{peer.count('passed')}", f"{ours.count('missed')}"),
        (
            "right: accepted",
            f"{sum(one.peer.startswith('not recorded') for one in right)} of {len(right)}",
            f"{sum(one.verdict == 'accepted' for one in right)} of {len(right)}",
        ),
    ]
    lines = [
        "| | Cluster Toolkit | groundplan |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    unwritable = sum(one.about in ("BP001", "BP003") for one in wrong)
    text = (
        f"Of the {ours.count('refused')} that groundplan refuses, {unwritable} cannot be written at all: "
        "there is no such key, because groundplan decides it, or no such value."
    )
    return "\n".join([*lines, "", text])


def _table(title: str, found: Sequence[Case]) -> str:
    lines = [f"## {title}", "", "| pool | Cluster Toolkit | groundplan | what it says |", "|---|---|---|---|"]
    for one in found:
        says = f"{one.fitting.code}: {one.fitting.message}" if one.fitting else ""
        cells = (one.pool, one.peer, one.verdict, _joined(says, one.note))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def _joined(says: str, note: str) -> str:
    return ". ".join(filter(None, (says, note)))


def _texts(wrong: Sequence[Case], right: Sequence[Case]) -> Iterator[str]:
    yield "## How each pool was written"
    blocks = (f"# {one.pool}\n{one.write.strip()}" for one in (*wrong, *right))
    yield "```text\n" + textwrap.dedent("\n\n".join(blocks)) + "\n```"


if __name__ == "__main__":
    main()
