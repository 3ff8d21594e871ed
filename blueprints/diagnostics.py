"""Problems of a blueprint: what is wrong, where, what to write instead, and how that looks as text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]

#: ``(text, style name) -> text``; the style names are ``error``, ``warning``, ``note``, ``dim``, ``heading``.
Paint = Callable[[str, str], str]

LONGEST_LINE = 96  #: columns of a source line that are shown; longer ones are cut around the caret
TAB = "    "

Cell = tuple[str, int]  #: what is shown of one character, and its width in columns


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A stretch of a file. Lines and columns count characters from 1; the end is the column after it."""

    file: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem.

    Attributes:
        severity: ``error`` stops every command, ``warning`` and ``note`` none.
        code: two letters and three digits; what the same code means never changes.
        message: what is wrong, one sentence without a full stop.
        path: where in the blueprint, ``environments.ml-dev.clusters.main.node_pools.l4.nodes``.
        position: where in the file.
        hint: what to do or write instead; empty where nothing helps.
        related: further places that belong to it, each with what it is.
        lines: the lines of the file, for ``render``.
    """

    severity: Severity
    code: str
    message: str
    path: str
    position: Position
    hint: str = ""
    related: tuple[tuple[str, Position], ...] = ()
    lines: Sequence[str] = field(default=(), repr=False, compare=False)

    def as_json(self) -> dict[str, Any]:
        """The documented shape of ``validate --json``."""
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "path": self.path,
            "file": self.position.file,
            "line": self.position.line,
            "column": self.position.column,
            "hint": self.hint,
        }


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By position, each one once."""
    return tuple(sorted(dict.fromkeys(diagnostics), key=lambda one: (one.position, one.code, one.message)))


def plain(text: str, _style: str) -> str:
    """Paints nothing."""
    return text


def render(diagnostic: Diagnostic, lines: Sequence[str] | None = None, paint: Paint = plain) -> str:
    """The problem as text: position and message, the lines with a caret below, hints. No newline at its end.

    Args:
        diagnostic: what to show.
        lines: the lines of its file; left out, the diagnostic's own.
        paint: colours a text by style name.
    """
    place = diagnostic.position
    severity = paint(f"{diagnostic.severity}[{diagnostic.code}]", diagnostic.severity)
    head = f"{paint(str(place), 'heading')}: {severity}: {visible(diagnostic.message)}"
    snippet = list(_snippet(place, diagnostic.lines if lines is None else lines, diagnostic.severity, paint))
    margin = " " * len(str(place.line))
    notes = [diagnostic.hint] if diagnostic.hint else []
    # What is on the same line can be seen there.
    elsewhere = (one for one in diagnostic.related if (one[1].file, one[1].line) != (place.file, place.line))
    notes += [f"{label}: {where}" for label, where in elsewhere]
    if not diagnostic.code.startswith(("SY", "BP")):
        notes.append(f"groundplan explain {diagnostic.code}")
    return "\n".join([head, *snippet, *(f"{margin} {paint('=', 'dim')} {visible(note)}" for note in notes)])


def visible(text: str) -> str:
    """``text`` with control characters written as escapes, so that no file can steer a terminal."""
    return "".join(
        char if char == "\n" or not _hidden(char) else char.encode("unicode_escape").decode() for char in text
    )


def _snippet(place: Position, lines: Sequence[str], severity: Severity, paint: Paint) -> Iterator[str]:
    if not 1 <= place.line <= len(lines):
        return
    width = len(str(place.line))
    bar = paint("│", "dim")
    yield f"{' ' * width} {bar}"
    shown = _context(lines, place.line)
    for number in shown:
        gap = number == place.line and len(shown) > 1 and shown[-2] < number - 1
        if gap:
            yield f"{'…':>{width}} {bar}"
        text, carets = _cut(lines[number - 1], place if number == place.line else None)
        yield f"{paint(f'{number:>{width}}', 'dim')} {bar} {text}".rstrip()
    yield f"{' ' * width} {bar} {carets.replace('^', '') + paint('^' * carets.count('^'), severity)}"


def _context(lines: Sequence[str], line: int) -> list[int]:
    """The lines to show: the key above that holds this one, what is between them if little, the line."""

    def indentation(number: int) -> int:
        text = lines[number - 1]
        return len(text) - len(text.lstrip(" -"))

    for above in range(line - 1, 0, -1):
        text = lines[above - 1].strip()
        if text and not text.startswith("#") and indentation(above) < indentation(line):
            return list(range(above, line + 1)) if line - above <= 2 else [above, line]
    return [line]


def _cut(line: str, place: Position | None) -> tuple[str, str]:
    """A line as it is shown, at most ``LONGEST_LINE`` columns of it, and the carets for below it."""
    cells = [_cell(char) for char in line.rstrip()]
    start = min(place.column - 1, len(cells)) if place else 0
    end = len(cells)
    if place and place.end_line == place.line:
        end = min(max(place.end_column - 1, start + 1), max(len(cells), start + 1))
    first = 0
    if _width(cells) > LONGEST_LINE and _width(cells[:end]) > LONGEST_LINE - 2:
        first = max(0, start - LONGEST_LINE // 3)
    before = "… " if first else ""
    text, used = before, len(before)
    last = first
    for shown, width in cells[first:]:
        if used + width > LONGEST_LINE:
            text += "…"
            break
        text, used, last = text + shown, used + width, last + 1
    blank = " " * (len(before) + _width(cells[first:start]))
    return text, blank + "^" * max(1, _width(cells[start : min(end, last)]))


def _cell(char: str) -> Cell:
    if char == "\t":
        return TAB, len(TAB)
    if _hidden(char):
        return "\N{REPLACEMENT CHARACTER}", 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return char, 0
    return char, 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _width(cells: Sequence[Cell]) -> int:
    return sum(width for _, width in cells)


_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _hidden(char: str) -> bool:
    """Whether a character could change how the rest of the line is shown: control codes, text direction."""
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in _DIRECTION
