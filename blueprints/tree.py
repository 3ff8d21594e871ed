"""A YAML file as a tree of maps, lists and scalars that know where they stand and what was written there."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from groundplan.blueprints.diagnostics import Position

Path = tuple[str | int, ...]  #: from the root to a place: keys, and numbers of list items

_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN_KEY = re.compile(r"[\w-]+")
_STEP = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[]+)')


class Source:
    """The text of one file, and the name people know it by."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self.lines: Sequence[str] = _LINE_END.split(text)

    def position(self, start: int, end: int) -> Position:
        """Where the characters from ``start`` up to ``end`` (not included) are."""
        line, column = self._place(start)
        end_line, end_column = self._place(max(start, end))
        return Position(self.name, line, column, end_line, end_column)

    def _place(self, index: int) -> tuple[int, int]:
        line = bisect.bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1


@dataclass(slots=True, eq=False)
class _Node:
    source: Source
    start: int  #: index of the first character
    end: int  #: index after the last one

    @property
    def position(self) -> Position:
        """Where it stands."""
        return self.source.position(self.start, self.end)


@dataclass(slots=True, eq=False)
class Scalar(_Node):
    """Text, as it was written; what it means is for the field that reads it."""

    text: str
    quoted: bool = False  #: in quotes, or a block of text: never null, never blank

    @property
    def is_null(self) -> bool:
        """Whether it was written as null."""
        return not self.quoted and self.text in ("null", "Null", "NULL", "~")

    @property
    def is_blank(self) -> bool:
        """Whether nothing was written."""
        return not self.quoted and not self.text


@dataclass(slots=True, eq=False)
class Items(_Node):
    """A list."""

    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Entry:
    """One key of a map with its value."""

    key: Scalar
    value: Node


@dataclass(slots=True, eq=False)
class Map(_Node):
    """A map, in the order in which it was written."""

    entries: dict[str, Entry] = field(default_factory=dict)


Node = Scalar | Items | Map


def is_null(node: Node) -> bool:
    """Whether a node is a written null."""
    return isinstance(node, Scalar) and node.is_null


def is_blank(node: Node) -> bool:
    """Whether a node stands for a value that was left out."""
    return isinstance(node, Scalar) and node.is_blank


def find(root: Node, path: Path) -> tuple[Scalar | None, Node, int]:
    """The deepest node on the way to ``path``: its key (if it has one), itself, how many steps led there."""
    key: Scalar | None = None
    node = root
    for steps, step in enumerate(path):
        if isinstance(node, Map) and step in node.entries:
            entry = node.entries[str(step)]
            key, node = entry.key, entry.value
        elif isinstance(node, Items) and isinstance(step, int) and step < len(node.items):
            key, node = None, node.items[step]
        else:
            return key, node, steps
    return key, node, len(path)


def scalars(node: Node) -> Iterator[Scalar]:
    """All scalars below a node, keys included."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Items):
        for item in node.items:
            yield from scalars(item)
    else:
        for entry in node.entries.values():
            yield entry.key
            yield from scalars(entry.value)


def dotted(path: Path) -> str:
    """A path as text: ``clusters.main.zones[0]``, ``labels["example.com/a"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            escaped = step.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{escaped}"]'
    return text


def named(path: Path) -> str:
    """What messages call a value: its key, with its number where it is in a list."""
    last = next((index for index in range(len(path) - 1, -1, -1) if isinstance(path[index], str)), 0)
    return f"`{dotted(path[last:])}`" if path else "this"


def undotted(text: str) -> Path:
    """The path that ``dotted`` wrote as ``text``."""
    path: list[str | int] = []
    for match in _STEP.finditer(text):
        quoted, index, key = match.groups()
        path.append(int(index) if index else key if key else re.sub(r"\\(.)", r"\1", quoted))
    return tuple(path)
