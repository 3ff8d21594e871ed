"""The behaviour of Terraform types, which the bindings do not know, and how it joins their shapes.

``behaviour/<service package>.json`` holds it by type, in the words of ``groundplan.facts.schema``. Every
attribute and block that can be set stands in exactly one place:

* ``updates``: a change is an update; nothing else to say;
* ``replaces``: a change replaces the resource; nothing else to say;
* ``attributes``: everything that has more to it, with all of it.

``updates`` and ``replaces`` give the names below each dotted path, ``""`` for the top. What stands nowhere
is newer than the behaviour: its ``force_new`` is not known. Read-only attributes need no entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from groundplan.facts.schema import Attribute, Block, NestedBlock, Provider, ResourceType

Entry = dict[str, Any]
Member = TypeVar("Member", Attribute, NestedBlock)
Struct = TypeVar("Struct", Attribute, NestedBlock, ResourceType)

#: What the bindings know better. Of blocks they do not know whether the provider fills them in.
SHAPE = frozenset({"provider", "type", "required", "optional", "nesting", "block"})
FIELDS = {
    Attribute: frozenset(Attribute.__struct_fields__) - SHAPE - {"computed"},
    NestedBlock: frozenset(NestedBlock.__struct_fields__) - SHAPE,
    ResourceType: frozenset(ResourceType.__struct_fields__) - SHAPE - {"provider_version"},
}
UNKNOWN: Entry = {"force_new": None, "source": "bindings"}
#: Never replace a resource, whatever its type: nobody sets the one, the other exists only in the state.
NEVER_REPLACE = frozenset({"id", "deletion_policy"})


class BehaviourError(Exception):
    """An entry of the behaviour files that the schema cannot take."""


@dataclass(frozen=True)
class Behaviour:
    """What is known about one type."""

    of_type: Entry  #: fields of ``ResourceType``
    entries: dict[str, Entry]  #: fields of ``Attribute`` and ``NestedBlock``, by dotted path


NOTHING = Behaviour({}, {})


def read_behaviour(folder: Path) -> dict[str, Behaviour]:
    """The behaviour of each type, from all files of ``folder``.

    Raises:
        BehaviourError: a type or a path stands in two places.
    """
    found: dict[str, Behaviour] = {}
    for file in sorted(set(folder.glob("*.json")) - {folder / "sources.json"}):
        types = msgspec.json.decode(file.read_bytes(), type=dict[str, Entry])
        if twice := found.keys() & types.keys():
            raise BehaviourError(f"{file.name}: {', '.join(sorted(twice))} stands in another file too")
        found |= {name: _behaviour(name, entry) for name, entry in types.items()}
    return found


def _behaviour(name: str, entry: Entry) -> Behaviour:
    entries: dict[str, Entry] = {}
    for path, facts in [
        *((path, {}) for path in _paths(entry.pop("updates", {}))),
        *((path, {"force_new": True}) for path in _paths(entry.pop("replaces", {}))),
        *entry.pop("attributes", {}).items(),
    ]:
        if path in entries:
            raise BehaviourError(f"{name}: {path} stands in two places")
        entries[path] = facts
    return Behaviour(entry, entries)


def _paths(names: Mapping[str, str]) -> Iterator[str]:
    """``{"": "name", "scheduling": "spot priority"}`` -> name, scheduling.spot, scheduling.priority."""
    for parent, members in names.items():
        yield from (f"{parent}.{name}" if parent else name for name in members.split())


def join(name: str, version: str, shapes: Mapping[Provider, Block], behaviour: Behaviour) -> ResourceType:
    """Shapes and behaviour of one type as one.

    Args:
        name: the type's name, ``data.`` before it for a data source.
        version: release of the provider that the shapes come from.
        shapes: the type's schema in each provider that has it.
        behaviour: what is known about it.

    Raises:
        BehaviourError: an entry names a field that its attribute or block cannot have.
    """
    google, beta = shapes.get("google"), shapes.get("google-beta")
    shape = {
        "type": name.removeprefix("data."),
        "provider_version": version,
        "provider": "google" if google else "google-beta",
    }
    of_type = _convert(shape, behaviour.of_type, ResourceType, name)
    block = _both(google, beta) if google and beta else google or beta or Block()
    # Only resources are replaced: of data sources and the provider's configuration nothing is unknown.
    replaceable = name.startswith("google_")
    return msgspec.structs.replace(of_type, block=_with_behaviour(block, behaviour.entries, replaceable))


def _both(google: Block, beta: Block) -> Block:
    """The schema of google-beta with its own members marked; google's word counts for common ones."""
    attributes = {name: google.attributes.get(name) or _beta_only(a) for name, a in beta.attributes.items()}
    blocks = {}
    for name, nested in beta.blocks.items():
        common = google.blocks.get(name)
        blocks[name] = (
            msgspec.structs.replace(common, block=_both(common.block, nested.block))
            if common
            else _beta_only_block(nested)
        )
    return Block(
        dict(sorted((google.attributes | attributes).items())),
        dict(sorted((google.blocks | blocks).items())),
    )


def _beta_only(attribute: Attribute) -> Attribute:
    return msgspec.structs.replace(attribute, provider="google-beta")


def _beta_only_block(nested: NestedBlock) -> NestedBlock:
    block = Block(
        {name: _beta_only(attribute) for name, attribute in nested.block.attributes.items()},
        {name: _beta_only_block(inner) for name, inner in nested.block.blocks.items()},
    )
    return msgspec.structs.replace(nested, provider="google-beta", block=block)


def _with_behaviour(block: Block, entries: Mapping[str, Entry], replaceable: bool, prefix: str = "") -> Block:
    attributes = {}
    for name, attribute in block.attributes.items():
        path = prefix + name
        settable = (attribute.required or attribute.optional) and path not in NEVER_REPLACE
        default = UNKNOWN if replaceable and settable else {}
        attributes[name] = _add(attribute, entries.get(path, default), path)
    blocks = {}
    for name, nested in block.blocks.items():
        path = prefix + name
        of_resource = replaceable and nested.nesting != "single"  # timeouts are no part of the resource
        inner = _with_behaviour(nested.block, entries, of_resource, path + ".")
        nested = _add(nested, entries.get(path, UNKNOWN if of_resource else {}), path)
        blocks[name] = msgspec.structs.replace(nested, block=inner)
    return Block(attributes, blocks)


def _add(member: Member, entry: Entry, path: str) -> Member:
    """``member`` with the facts of its ``entry``."""
    if not entry:
        return member
    shape = {name: getattr(member, name) for name in member.__struct_fields__ if name != "block"}
    return _convert(shape, entry, type(member), path)


def _convert(shape: Entry, entry: Entry, of: type[Struct], where: str) -> Struct:
    if wrong := entry.keys() - FIELDS[of]:
        raise BehaviourError(f"{where}: {', '.join(sorted(wrong))} cannot be said here")
    try:
        return msgspec.convert({**shape, **entry}, type=of)
    except msgspec.ValidationError as error:
        raise BehaviourError(f"{where}: {error}") from None
