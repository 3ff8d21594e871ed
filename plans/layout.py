"""A summary as lines of text: columns, breaking of long lines, and how much fits a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundplan.plans.summary import Group, Line, Summary

#: What a piece of text is, for whoever gives it a colour.
ROLES = ("heading", "group", "add", "change", "danger", "delete", "keep", "note")
Colour = Callable[[str, str], str]

#: Lines of all groups together before groups are cut.
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
    label = max(min(len(line.label), _LABEL_MOST) for _, kept in shown for line in kept)
    texts = [len(line.text) for _, kept in shown for line in kept if line.text and line.facts]
    text = min(max(texts, default=0), _TEXT_MOST)
    for group, kept in shown:
        found.append(f"  {colour(group.name, 'group')}")
        for line in kept:
            found.extend(_line(line, label, text, width, colour))
        hidden = group.lines[len(kept) :]
        if hidden:
            found.append(colour(f"    {_more(hidden)}", "note"))
    number = summary.resources.total
    resources = f"{number} resource{'s' if number != 1 else ''}; --resources lists them"
    return [*found, "", f"  {summary.things} ({resources})", *_notes(summary, width, colour)]


def _more(hidden: tuple[Line, ...]) -> str:
    lost = sum(line.precious for line in hidden)
    danger = f", {lost} of them replace or delete" if lost else ""
    return f"… and {len(hidden)} more{danger} (--resources lists them)"


def _nothing(summary: Summary) -> str:
    rest = f", {summary.unchanged} resources are as the blueprint says" if summary.unchanged else ""
    return f"nothing to do{rest}"


def _notes(summary: Summary, width: int, colour: Colour) -> list[str]:
    wrapped = textwrap.wrap(" ".join(summary.notes), max(width - 2, 20))
    return [f"  {colour(part, 'note')}" for part in wrapped]


def _line(line: Line, label: int, text: int, width: int, colour: Colour) -> Iterator[str]:
    """One line, and its continuation below the text."""
    role = _ROLES[line.sign]
    indent = 4 + 2 + label + 2
    room = max(width - indent, 20)
    body = f"{line.text:<{text}}  {line.facts}" if line.text and line.facts else line.text or line.facts
    if len(body) > room and line.text and line.facts:
        parts = [*_wrap(line.text, room), *_wrap(line.facts, room)]
    else:
        parts = _wrap(body, room) or [""]
    head = f"{line.sign} {line.label:<{label}}"
    yield (
        f"    {colour(head, role)}  {parts[0]}".rstrip() if parts[0] else f"    {colour(head.rstrip(), role)}"
    )
    for part in parts[1:]:
        yield f"{'':{indent}}{part}"


def _wrap(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, room, break_on_hyphens=False)


def _cut(groups: tuple[Group, ...]) -> list[tuple[Group, int]]:
    """Groups, and how many of their lines are shown: a plan of 500 resources still fits a screen.

    What is precious is hidden only where there is very much of it.
    """
    most = SCREEN
    while sum(min(len(group.lines), most) for group in groups) > SCREEN and most > LEAST:
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
