"""YAML text becomes a tree with positions. Nothing is constructed: scalars stay the text that was written.

Built on the parser's events, with libyaml's parser where PyYAML has it. Aliases share one node; what would
grow beyond reason when aliases are followed is refused before it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from groundplan.blueprints.diagnostics import Diagnostic, Severity
from groundplan.blueprints.tree import Entry, Items, Map, Node, Path, Scalar, Source, dotted, is_blank
from groundplan.errors import BlueprintError

DEEPEST = 100  #: levels of nesting
MOST_NODES = 200_000  #: of the tree when all aliases are followed

MERGE_KEY = "<<"
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{tag}" for tag in ("null", "bool", "int", "float", "map", "seq"))
_NOT_ALLOWED = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: What the YAML parser says (a part of it) → what is wrong, and what to do.
_MISTAKES = (
    ("tab", "a tab stands where YAML wants spaces", "Indent with spaces."),
    (
        "mapping values are not allowed",
        "`:` cannot stand here",
        "Is the line indented too far, or is a text with `: ` in it not in quotes?",
    ),
    ("expected ':'", "`:` is missing after a key", "Write `key: value`."),
    ("expected key", "this line does not fit the indentation around it", "Align it with its neighbours."),
    (
        "expected <block end>",
        "this line does not fit the indentation around it",
        "Align it with its neighbours.",
    ),
    (
        "sequence entries are not allowed",
        "a list cannot begin here",
        "Put it on lines of its own, or write [a, b].",
    ),
    ("expected ',' or ']'", "a list that began with [ has no end", "Close it with ]."),
    ("expected ',' or '}'", "a map that began with { has no end", "Close it with }."),
    ("unexpected end of stream", "a text that began with a quote has no end", "Close the quote."),
    (
        "unknown escape character",
        "an escape after \\ that YAML does not know",
        "Use single quotes, or write \\\\.",
    ),
    ("node content", "a value is missing here", ""),
    ("maximum nesting depth", "this is nested too deep", ""),
    ("cannot start any token", "a value cannot begin with this character", "Put the value into quotes."),
)


#: Mistakes that are shown where the text, list or map began instead of where its end was missed.
_UNCLOSED = ("expected ',' or", "unexpected end of stream")


def parse(source: Source, loader: Any = None) -> tuple[Node, list[Diagnostic]]:
    """The tree of the only document in ``source``, and what is wrong but leaves a usable tree.

    Args:
        source: the text.
        loader: a PyYAML loader class; left out, the fastest safe one.

    Raises:
        BlueprintError: it is not YAML, or no tree can be made of it. Exactly one problem.
    """
    builder = _Builder(source)
    bad = _NOT_ALLOWED.search(source.text)
    if bad:
        builder.fail("SY001", f"the character U+{ord(bad[0]):04X} is not allowed in YAML", bad.start())
    try:
        root = builder.document(yaml.parse(source.text, Loader=loader or _fastest()))
    except yaml.MarkedYAMLError as error:
        builder.fail_as(error)
    return root, builder.diagnostics


def _fastest() -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Builder:
    """Builds the tree of one file from events."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.anchors: dict[str, Node | None] = {}  #: None while the node is being built
        self.size: dict[Node, tuple[int, int]] = {}  #: of anchored nodes: nodes in it, levels in it
        self.nodes = 0

    def document(self, events: Iterator[Any]) -> Node:
        """The root of the only document."""
        root: Node | None = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    self.fail("SY006", "a second document begins here; a blueprint is one", _start(event))
            elif isinstance(event, yaml.NodeEvent):
                root, _ = self.node(event, events, 1, ())
        if root is None or (isinstance(root, Scalar) and root.is_blank):
            self.fail(
                "SY006", "the file is empty", 0, hint="`groundplan init FOLDER` writes a first blueprint."
            )
        return root

    def node(self, event: Any, events: Iterator[Any], depth: int, path: Path) -> tuple[Node, int]:
        """The node that begins with ``event``, and how many levels it has."""
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, depth)
        first = self.count(1, event)
        if depth > DEEPEST:
            self.fail("SY005", f"this is nested deeper than {DEEPEST} levels", _start(event))
        if event.anchor:
            if event.anchor in self.anchors:
                self.fail("SY003", f"the anchor &{event.anchor} is set twice", _start(event))
            self.anchors[event.anchor] = None
        text = self.tag(event, path)
        node: Node
        start, end = _start(event), _end(event)
        if isinstance(event, yaml.ScalarEvent):
            end = start + len(self.source.text[start:end].rstrip())
            node, levels = Scalar(self.source, start, end, event.value, text or bool(event.style)), 1
        elif isinstance(event, yaml.SequenceStartEvent):
            node, levels = self.items(event, events, depth, path)
        else:
            node, levels = self.map(event, events, depth, path)
        if event.anchor:
            self.anchors[event.anchor] = node
            self.size[node] = (self.nodes - first + 1, levels)
        return node, levels

    def alias(self, event: Any, depth: int) -> tuple[Node, int]:
        """The node that an alias stands for."""
        if event.anchor not in self.anchors:
            self.fail("SY003", f"no anchor &{event.anchor} stands before this alias", _start(event))
        node = self.anchors[event.anchor]
        if node is None:
            self.fail("SY003", f"the alias *{event.anchor} stands inside what it names", _start(event))
        nodes, levels = self.size[node]
        self.count(nodes, event)
        if depth + levels > DEEPEST:
            self.fail("SY005", f"this is nested deeper than {DEEPEST} levels", _start(event))
        return node, levels

    def items(self, event: Any, events: Iterator[Any], depth: int, path: Path) -> tuple[Items, int]:
        """The list that begins with ``event``."""
        node = Items(self.source, _start(event), _end(event))
        deepest = 0
        for inner in events:
            if isinstance(inner, yaml.SequenceEndEvent):
                node.end = _end(inner) if event.flow_style else node.end
                break
            item, levels = self.node(inner, events, depth + 1, (*path, len(node.items)))
            node.items.append(item)
            node.end, deepest = max(node.end, item.end), max(deepest, levels)
        return node, deepest + 1

    def map(self, event: Any, events: Iterator[Any], depth: int, path: Path) -> tuple[Map, int]:
        """The map that begins with ``event``, its merge keys followed: what is written beside them wins."""
        node = Map(self.source, _start(event), _end(event))
        merged: dict[str, Entry] = {}
        merge_key: Scalar | None = None
        deepest = 0
        for inner in events:
            if isinstance(inner, yaml.MappingEndEvent):
                node.end = _end(inner) if event.flow_style else node.end
                break
            key, _ = self.node(inner, events, depth + 1, path)
            name = key.text if isinstance(key, Scalar) else ""
            value, levels = self.node(next(events), events, depth + 1, (*path, name))
            if is_blank(value):
                value.start = value.end = key.end
            node.end, deepest = max(node.end, key.end, value.end), max(deepest, levels)
            if not isinstance(key, Scalar) or not name:
                self.report("SY002", "a key is text", path, key, hint="Write `key: value`.")
            elif name == MERGE_KEY and not key.quoted:
                if merge_key:
                    self.twice(key, merge_key, path, hint="Merge several maps with one key: `<<: [*a, *b]`.")
                merge_key = key
                self.merge(value, merged, path)
            elif name in node.entries:
                self.twice(
                    key, node.entries[name].key, (*path, name), hint="Put everything under one of them."
                )
                node.entries[name].value = _joined(node.entries[name].value, value)
            else:
                node.entries[name] = Entry(key, value)
        node.entries = {**merged, **node.entries}
        return node, deepest + 1

    def merge(self, value: Node, merged: dict[str, Entry], path: Path) -> None:
        """Add the entries of the maps that a merge key names; the first of them wins."""
        for one in value.items if isinstance(value, Items) else [value]:
            if isinstance(one, Map):
                merged.update((name, entry) for name, entry in one.entries.items() if name not in merged)
            else:
                self.report(
                    "SY003",
                    "a merge key takes a map, or a list of maps",
                    path,
                    one,
                    hint="Write `<<: *anchor`.",
                )

    def tag(self, event: Any, path: Path) -> bool:
        """Whether a tag says that the value is text; other tags than YAML's own are refused."""
        tag = getattr(event, "tag", None)
        if tag is None or tag in _PLAIN_TAGS:
            return False
        if tag not in _TEXT_TAGS:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            place = Scalar(self.source, _start(event), _start(event) + len(shown), shown)
            self.report(
                "SY004", f"the tag {shown} is not used in blueprints", path, place, hint="Remove the tag."
            )
        return True

    def count(self, nodes: int, event: Any) -> int:
        """Add to the number of nodes; the new number."""
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            self.fail(
                "SY005",
                f"the file has more than {MOST_NODES:,} values when its aliases are followed",
                _start(event),
            )
        return self.nodes

    def twice(self, key: Scalar, first: Scalar, path: Path, hint: str) -> None:
        """Report a key that is written twice in one map."""
        line = first.position.line
        message = f"`{key.text}` is written twice in one map; the first is in line {line}"
        self.report("SY002", message, path, key, hint=hint, related=(("first written", first),))

    def report(
        self,
        code: str,
        message: str,
        path: Path,
        node: Node,
        *,
        hint: str = "",
        related: tuple[tuple[str, Node], ...] = (),
        severity: Severity = "error",
    ) -> None:
        """Note a problem that leaves a usable tree."""
        places = tuple((label, other.position) for label, other in related)
        self.diagnostics.append(
            Diagnostic(severity, code, message, dotted(path), node.position, hint, places, self.source.lines)
        )

    def fail(self, code: str, message: str, index: int, *, hint: str = "") -> NoReturn:
        """Give up.

        Raises:
            BlueprintError: always.
        """
        position = self.source.position(index, index + 1)
        raise BlueprintError([Diagnostic("error", code, message, "", position, hint, (), self.source.lines)])

    def fail_as(self, error: yaml.MarkedYAMLError) -> NoReturn:
        """Give up with our words for what the YAML parser says.

        Raises:
            BlueprintError: always.
        """
        problem = f"{error.context or ''} {error.problem or ''}".strip()
        marks = [error.problem_mark, error.context_mark]
        if any(part in problem for part in _UNCLOSED):
            marks.reverse()
        index = next((mark.index for mark in marks if mark), 0)
        if self.source.text[index : index + 1] == "\t":
            problem = "tab"
        for part, message, hint in _MISTAKES:
            if part in problem:
                self.fail("SY001", message, index, hint=hint)
        self.fail("SY001", f"this is not YAML: {problem}", index)


def _start(event: Any) -> int:
    return int(event.start_mark.index)


def _end(event: Any) -> int:
    return int(event.end_mark.index)


def _joined(first: Node, second: Node) -> Node:
    """What two values of one key hold together, so that the rest of the file is judged as it was meant."""
    if isinstance(first, Map) and isinstance(second, Map):
        return Map(first.source, first.start, first.end, {**second.entries, **first.entries})
    return first
