"""Does a tree have the shape of the language? Unknown keys, lists for maps, blanks; and plain data.

What does not fit is reported where it stands in the file, before the merge, and left out of the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundplan.blueprints.provider_words import instead
from groundplan.blueprints.shapes import Shape, called, places
from groundplan.blueprints.tree import Items, Map, Node, Path, Scalar, is_blank, named
from groundplan.blueprints.words import closest, did_you_mean, listed, quoted

_KINDS = {"model": "a map", "map": "a map", "list": "a list", "value": "one value"}
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?[0-9]{0,18}(\.[0-9]{1,18}|\.?[0-9]{0,18}[eE][-+]?[0-9]{1,2})")


@dataclass(frozen=True)
class Misfit:
    """Something that has no place in the language."""

    code: str
    path: Path
    node: Node
    message: str
    hint: str
    meant: str = ""  #: the known key that an unknown one was probably meant to be


def misfits(node: Node, shape: Shape, path: Path = (), place: Path = ()) -> Iterator[Misfit]:
    """Everything below ``node`` that does not fit ``shape``.

    Args:
        node: where to look.
        shape: what may stand there.
        path: the path of ``node``.
        place: the same with ``*`` for free keys and list items, for the names of places.
    """
    if not fits(node, shape):
        yield _wrong_kind(node, shape, path)
    elif isinstance(node, Items):
        for index, item in enumerate(node.items):
            yield from misfits(item, shape.step(index), (*path, index), (*place, "*"))
    elif isinstance(node, Map):
        for name, entry in node.entries.items():
            if shape.kind == "model" and name not in shape.keys:
                where = called(shape, place)
                message = f"unknown key {quoted(name)} {'in' if place else 'at'} {where}"
                meant = closest(name, shape.keys) or ""
                yield Misfit("BP001", (*path, name), entry.key, message, _advice(name, shape.keys), meant)
            elif isinstance(entry.value, Scalar) and entry.value.is_null:
                continue
            elif is_blank(entry.value) and (shape.step(name).whole):
                message = f"{quoted(name)} is left blank"
                yield Misfit("BP006", (*path, name), entry.key, message, "Write a value, or remove the key.")
            else:
                step = name if shape.kind == "model" else "*"
                yield from misfits(entry.value, shape.step(name), (*path, name), (*place, step))


def fits(node: Node, shape: Shape) -> bool:
    """Whether a map, list or value stands where one is wanted."""
    if isinstance(node, Scalar) and not node.is_null:
        blank_map = node.is_blank and not shape.whole
        return blank_map or shape.kind in ("value", "any") or shape.short_form
    wanted = {Map: ("model", "map", "any"), Items: ("list", "any"), Scalar: ("any",)}
    return shape.kind in wanted[type(node)]


def _usable(node: Node, shape: Shape) -> bool:
    """Whether data can be made of a node; of a single decision only if all of its keys are known."""
    if isinstance(node, Map) and shape.whole and shape.model and not node.entries.keys() <= shape.keys.keys():
        return False
    return fits(node, shape) and not (is_blank(node) and shape.whole)


def plain(node: Node, shape: Shape, left_out: list[Path], path: Path = ()) -> Any:
    """A merged tree as plain data: maps, lists, and the source text of scalars.

    Where anything may stand, scalars are what YAML's core schema makes of them.

    Args:
        node: the tree.
        shape: its shape; what does not fit is left out.
        left_out: gets the paths of what was left out although its key is known.
        path: the path of ``node``.
    """
    if isinstance(node, Map):
        data = {}
        for name, entry in node.entries.items():
            below, inner = shape.step(name), (*path, name)
            if shape.kind == "model" and name not in shape.keys:
                continue
            if _usable(entry.value, below):
                data[name] = plain(entry.value, below, left_out, inner)
            else:
                left_out.append(inner)
        return data
    if isinstance(node, Items):
        below = shape.step(0)
        if not all(fits(item, below) for item in node.items):
            left_out.append(path)
            return []
        return [plain(item, below, left_out, (*path, index)) for index, item in enumerate(node.items)]
    if node.is_blank:
        return {}
    return core_value(node) if shape.kind == "any" else node.text


def core_value(scalar: Scalar) -> Any:
    """What YAML's core schema makes of a scalar: text, a number, true, false or null."""
    text = scalar.text
    if scalar.quoted:
        return text
    if scalar.is_null:
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) and text[0] not in "eE" else text


def _wrong_kind(node: Node, shape: Shape, path: Path) -> Misfit:
    subject = named(path)
    kind = _KINDS.get(shape.kind, "a value")
    if isinstance(node, Scalar):
        given = "null" if node.is_null else "a blank" if node.is_blank else quoted(node.text)
        hint = f"Write `{path[-1]}: [{node.text}]`." if shape.kind == "list" and path else ""
    else:
        given = "a list" if isinstance(node, Items) else "a map"
        hint = ""
    if shape.kind == "model" and not hint:
        hint = f"Its keys are {listed(list(shape.keys), 'and')}."
    return Misfit("BP003", path, node, f"{subject} wants {kind}, not {given}", hint)


def _advice(name: str, known: Mapping[str, Any]) -> str:
    """What an unknown key was probably meant to be."""
    if words := instead(name, known):
        return words
    near = closest(name, known, 0.75)
    elsewhere = places().get(name)
    if near:
        return f"Did you mean `{near}`?"
    if elsewhere:
        return f"`{name}` belongs to {listed(elsewhere[:4])}."
    far = closest(name, places(), 0.8)
    if far:
        return f"Did you mean `{far}`, which belongs to {listed(places()[far][:4])}?"
    if suggestion := did_you_mean(name, known):
        return suggestion
    return f"The keys are {listed(list(known), 'and')}." if len(known) <= 12 else ""
