"""A summary as lines of text: columns, breaking of long lines, and how much fits a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from groundplan.plans.summary import Group, Line, Summary

#: What a piece of text is, for whoever gives it a colour.
ROLES = ("heading", "group", "add", "change", "danger", "delete", "keep", "dim")
Colour = Callable[[str, str], str]

#: Lines of all groups together, headings included, before groups are cut.
SCREEN = 40
#: What is left of a cut group at least, and how many of its dangerous lines are shown in any case.
LEAST = 4
PRECIOUS_MOST = 20
_LABEL_MOST, _TEXT_MOST = 34, 44
_ROLES = {"+": "add", "~": "change", "±": "danger", "-": "delete", "=": "keep"}


def lines(summary: Summary, width: int, colour_fn: Colour | None) -> list[str]:
    """``Summary.lines``."""
    colour = colour_fn or _plain
    heading = colour(str(summary.header), "heading")
    if not summary.groups:
        return [f"{heading} · {_nothing(summary)}", *_notes(summary, width, colour)]
    found = [heading, ""]
    shown = [(group, group.lines[:keep]) for group, keep in _cut(summary.groups)]
    columns = _columns([line for _, kept in shown for line in kept], width)
    for group, kept in shown:
        found.append(f"  {colour(group.name, 'group')}")
        for line in kept:
            found.extend(_line(line, columns, colour))
        hidden = group.lines[len(kept) :]
        if hidden:
            found.append(colour(f"    {_more(hidden)}", "dim"))
    number = summary.resources.total
    resources = f"{number} resource{'s' if number != 1 else ''}; --resources lists them"
    counts = textwrap.wrap(f"{summary.things} ({resources})", max(width - 2, 20))
    return [*found, "", *(f"  {part}" for part in counts), *_notes(summary, width, colour)]


def _more(hidden: tuple[Line, ...]) -> str:
    lost = sum(line.precious for line in hidden)
    danger = f", {lost} of them replace or delete" if lost else ""
    return f"… and {len(hidden)} more{danger} (--resources lists them)"


def _nothing(summary: Summary) -> str:
    rest = f", {summary.unchanged} resources are as the blueprint says" if summary.unchanged else ""
    return f"nothing to do{rest}"


def _notes(summary: Summary, width: int, colour: Colour) -> list[str]:
    wrapped = textwrap.wrap(" ".join(summary.notes), max(width - 2, 20))
    return [f"  {colour(part, 'dim')}" for part in wrapped]


class _Columns(NamedTuple):
    """Widths of the columns, and how many rows one line may take."""

    label: int
    text: int
    room: int
    rows: int


def _columns(lines: list[Line], width: int) -> _Columns:
    label = max(min(len(line.label), _LABEL_MOST) for line in lines)
    text = max((len(line.text) for line in lines if line.text and line.facts), default=0)
    rows = 2 if len(lines) > SCREEN / 2 else 6
    return _Columns(label, min(text, _TEXT_MOST), max(width - label - 8, 20), rows)


def _line(line: Line, columns: _Columns, colour: Colour) -> Iterator[str]:
    """One line, and its continuation below the text."""
    label, text, room, rows = columns
    body = f"{line.text:<{text}}  {line.facts}" if line.text and line.facts else line.text or line.facts
    if len(body) > room and line.text and line.facts:
        facts = _wrap(line.facts, room, 1)
        parts = [*_wrap(line.text, room, rows - 1), *facts]
    else:
        parts = _wrap(body, room, rows)
    head = f"{line.sign} {line.label:<{label}}" if parts else f"{line.sign} {line.label}"
    first = f"    {colour(head, _ROLES[line.sign])}"
    yield f"{first}  {parts[0]}" if parts else first
    for part in parts[1:]:
        yield f"{'':{label + 8}}{part}"


def _wrap(text: str, room: int, rows: int) -> list[str]:
    return textwrap.wrap(text, room, break_on_hyphens=False, max_lines=rows, placeholder=" …")


def _cut(groups: tuple[Group, ...]) -> list[tuple[Group, int]]:
    """Groups, and how many of their lines are shown: a plan of 500 resources still fits a screen.

    What is precious is hidden only where there is very much of it.
    """
    most = SCREEN
    while sum(min(len(group.lines), most) + 2 for group in groups) > SCREEN and most > LEAST:
        most -= 1
    found = []
    for group in groups:
        precious = sum(line.precious for line in group.lines)
        keep = max(most, min(precious, PRECIOUS_MOST))
        # "… and 1 more" would take the room of the line itself.
        found.append((group, len(group.lines) if len(group.lines) <= keep + 1 else keep))
    return found


def _plain(text: str, role: str) -> str:
    return text
