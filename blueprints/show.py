"""One environment after the merge, as text or as data, and where each value was written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from groundplan.blueprints.document import Document
from groundplan.blueprints.model import Environment
from groundplan.blueprints.tree import Entry, Items, Map, Node, Path, Scalar, Source, dotted
from groundplan.blueprints.words import did_you_mean, listed
from groundplan.errors import UsageError

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w./-]*")
COMMENT_COLUMN = 48


def as_text(document: Document, environment: str, *, origins: bool = False) -> str:
    """An environment as YAML: what was written, defaults under it, and what follows from its name.

    Args:
        document: the blueprint.
        environment: the environment's name.
        origins: add to each line where its value was written.

    Raises:
        UsageError: there is no such environment.
    """
    lines = []
    for text, node in _lines(_tree(document, environment), ""):
        origin = _origin(node) if origins and node else ""
        lines.append(f"{text:<{COMMENT_COLUMN}}  # {origin}" if origin else text)
    return "\n".join(lines) + "\n"


def as_data(document: Document, environment: str, *, origins: bool = False) -> dict[str, Any]:
    """An environment as plain data, complete with built-in defaults, quantities as people write them.

    Args:
        document: the blueprint.
        environment: the environment's name.
        origins: return ``values`` and ``origins``; the latter are by path: ``file:line``, or what a value
            follows from. Built-in defaults have none.

    Raises:
        UsageError: there is no such environment.
    """
    values = _environment(document, environment).model_dump(mode="json", by_alias=True)
    if not origins:
        return values
    leaves = _leaves(_tree(document, environment), ())
    return {"values": values, "origins": {dotted(path): _origin(node) for path, node in leaves}}


def _environment(document: Document, name: str) -> Environment:
    environments = document.blueprint.environments
    if name not in environments:
        hint = did_you_mean(name, environments) or f"There is {listed(list(environments), 'and')}."
        raise UsageError(f"there is no environment `{name}`", hint=hint)
    return environments[name]


def _tree(document: Document, name: str) -> Map:
    """The merged environment, with what follows from its name where nothing was written."""
    environment = _environment(document, name)
    tree = document.written.environments[name]
    project = Map(_origin_only("from names.project"), 0, 0)
    project.entries["id"] = _derived("id", environment.project_id, "from names.project")
    entries = {
        "tier": _derived("tier", environment.tier, f"from the name {name}"),
        "protect": _derived("protect", str(environment.protect).lower(), "from the tier"),
        "region": _derived("region", environment.region, "built in"),
        "project": Entry(Scalar(project.source, 0, 0, "project"), project),
    }
    return Map(tree.source, tree.start, tree.end, {**entries, **tree.entries})


def _derived(key: str, value: str, origin: str) -> Entry:
    source = _origin_only(origin)
    return Entry(Scalar(source, 0, 0, key), Scalar(source, 0, 0, value))


def _origin_only(origin: str) -> Source:
    """What stands for the file of a value that nobody wrote: its name says what the value follows from."""
    return Source(origin, "")


def _origin(node: Node) -> str:
    if not node.source.text:
        return node.source.name
    return f"{node.source.name}:{node.position.line}"


def _lines(node: Map | Items, indent: str) -> Iterator[tuple[str, Node | None]]:
    """The lines of a map or list, each with the node it shows, if it shows a value."""
    if isinstance(node, Map):
        heads = [(f"{indent}{_key(name)}:", entry.value) for name, entry in node.entries.items()]
    else:
        heads = [(f"{indent}-", item) for item in node.items]
    for head, value in heads:
        if isinstance(value, Scalar):
            yield f"{head} {_scalar(value)}", value
        elif not (value.entries if isinstance(value, Map) else value.items):
            yield f"{head} {'{}' if isinstance(value, Map) else '[]'}", value
        else:
            yield head, None
            yield from _lines(value, f"{indent}  ")


def _leaves(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    if isinstance(node, Map) and node.entries:
        for name, entry in node.entries.items():
            yield from _leaves(entry.value, (*path, name))
    elif isinstance(node, Items) and node.items:
        for index, item in enumerate(node.items):
            yield from _leaves(item, (*path, index))
    else:
        yield path, node


def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else _in_quotes(name)


def _scalar(scalar: Scalar) -> str:
    """A scalar as YAML that reads as the same text: plain where it was plain, else in quotes."""
    if scalar.is_blank:
        return "{}"
    if scalar.quoted or "\n" in scalar.text:
        return _in_quotes(scalar.text)
    return scalar.text


def _in_quotes(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in escaped) + '"'
