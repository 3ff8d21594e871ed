"""What a change changes, attribute by attribute, without the noise.

Terraform's before and after differ in much that nobody asked for: what the provider computes, labels that
stand three times, empty strings against nulls. ``differences`` leaves that out; it needs the provider schema
for it, and does without where the schema has no such type.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from groundplan.facts.schema import PROVIDERS, Attribute, NestedBlock, resource_type, walk
from groundplan.plans.model import Action, Change, attribute_steps
from groundplan.plans.values import (
    Step,
    Value,
    child,
    format_path,
    has_mark,
    make_value,
    mark,
)

#: Copies of the labels and annotations that the configuration sets.
_COPIES = ("terraform_labels", "effective_labels", "effective_annotations")
#: What the cloud counts up by itself, in types that the schema does not know.
_COUNTERS = ("etag", "fingerprint", "generation", "metageneration", "update_time", "updated")
_EMPTY: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class Difference:
    """One attribute that changes.

    Attributes:
        path: as a person writes it, with an index only where a list has several elements.
        attribute: the schema's path: ``node_config.labels`` for ``node_config.labels["example.com/role"]``.
        key: what follows in a map: ``example.com/role``.
        before: the value before; absent where something is added.
        after: the value after; unknown where apply will tell.
        forces_replacement: Terraform replaces the resource because of it.
    """

    path: str
    attribute: str
    key: str
    before: Value
    after: Value
    forces_replacement: bool = False

    def __str__(self) -> str:
        forces = " (forces replacement)" if self.forces_replacement else ""
        if self.before.is_absent:
            return f"{self.path}: {self.after}{forces}"
        return f"{self.path}: {self.before} → {self.after}{forces}"


def differences(change: Change) -> list[Difference]:
    """What ``change`` changes, leaf by leaf, in the order of the attributes' names.

    A create gives what is set (and known) of the new object; a delete, a move and a no-op give nothing.
    Elements of a list of blocks are paired by equality first, so that one more element is one difference.
    Left out: what the provider computes without being asked, copies of labels, counters such as etag, and
    empty against not set.
    """
    if change.action not in (Action.CREATE, Action.UPDATE, Action.REPLACE):
        return []
    body = change.body
    pairs = _pairs(
        (body.before, False, body.before_sensitive),
        (body.after, body.after_unknown, body.after_sensitive),
        (),
    )
    forcing = [attribute_steps(path) for path in body.replace_paths if path]
    found = [_difference(change, steps, before, after, forcing) for steps, before, after in pairs]
    return [difference for difference in found if not _is_noise(change, difference, found)]


def may_replace(change: Change) -> tuple[str, ...]:
    """Attributes of an update of which the schema does not know whether they replace the resource.

    An offline plan shows them as an update; the real provider may replace instead.
    """
    if change.action is not Action.UPDATE:
        return ()
    facts = _facts(change.type, change.provider)
    attributes = dict.fromkeys(difference.attribute for difference in differences(change))
    return tuple(name for name in attributes if name in facts and facts[name].force_new is None)


# Three things lie beside each other: the value, what of it is unknown, what of it is sensitive.
_Side = tuple[Any, Any, Any]


def _pairs(
    before: _Side, after: _Side, steps: tuple[Step, ...]
) -> Iterator[tuple[tuple[Step, ...], Value, Value]]:
    """Leaves that differ, with their values before and after."""
    old, new, unknown = before[0], after[0], after[1]
    if old == new and not has_mark(unknown):
        return
    if unknown is not True and (isinstance(old, dict) or isinstance(new, dict)):
        for key in sorted({**_dict(old), **_dict(new), **_dict(unknown)}):
            yield from _pairs(_step(before, key), _step(after, key), (*steps, key))
    elif unknown is not True and (_has_blocks(old) or _has_blocks(new)):
        yield from _elements(before, after, steps)
    else:
        yield steps, make_value(*before), make_value(*after)


def _elements(
    before: _Side, after: _Side, steps: tuple[Step, ...]
) -> Iterator[tuple[tuple[Step, ...], Value, Value]]:
    """The differences between two lists of blocks. Sets come as lists, so position says little."""
    old, new, unknown = _list(before[0]), _list(after[0]), after[1]
    left = list(range(len(old)))
    added: list[int] = []
    for index, item in enumerate(new):
        same = next((i for i in left if old[i] == item), None)
        if same is None or has_mark(mark(unknown, index)):
            added.append(index)
        else:
            left.remove(same)
    several = max(len(old), len(new)) > 1
    for position in range(max(len(left), len(added))):
        source = left[position] if position < len(left) else None
        target = added[position] if position < len(added) else None
        shown = target if target is not None else source
        inner = (*steps, shown) if several and shown is not None else steps
        nothing: _Side = (None, False, False)
        yield from _pairs(
            nothing if source is None else _step(before, source),
            nothing if target is None else _step(after, target),
            inner,
        )


def _difference(
    change: Change, steps: tuple[Step, ...], before: Value, after: Value, forcing: list[tuple[Step, ...]]
) -> Difference:
    names = attribute_steps(steps)
    forces = any(names[: len(path)] == path or path[: len(names)] == names for path in forcing)
    return Difference(*_named(change.type, change.provider, steps), before, after, forces)


@functools.lru_cache(maxsize=16384)
def _named(type: str, provider: str, steps: tuple[Step, ...]) -> tuple[str, str, str]:
    """A path as text, the part of it that the schema knows, and what follows: keys of a map.

    The whole path is the attribute where the schema does not know the type.
    """
    names = attribute_steps(steps)
    facts = _facts(type, provider)
    lengths = range(len(names), 0, -1)
    known = next((n for n in lengths if ".".join(map(str, names[:n])) in facts), len(names))
    return format_path(steps), ".".join(map(str, names[:known])), ".".join(map(str, names[known:]))


def _is_noise(change: Change, difference: Difference, found: list[Difference]) -> bool:
    if difference.forces_replacement:
        return False
    was_empty, updates = _is_empty(difference.before), change.action is Action.UPDATE
    if was_empty and _is_empty(difference.after):
        return True
    name = difference.attribute.partition(".")[0]
    if name in _COPIES:
        return not (updates and name == "terraform_labels" and not any(map(_is_label, found)))
    fact = _facts(change.type, change.provider).get(difference.attribute)
    if fact is None and difference.attribute.rpartition(".")[2] in _COUNTERS:
        return True
    if isinstance(fact, Attribute) and fact.computed and not fact.optional:
        return True
    # Only an update that makes a known value unknown tells something: a new object gets all of its
    # computed values anew, whether they were set or not.
    may_be_computed = fact is None or fact.computed
    return difference.after.is_unknown and may_be_computed and (was_empty or not updates)


def _is_label(difference: Difference) -> bool:
    """Labels that the configuration sets for this resource, not those that the provider adds to all."""
    return difference.attribute in ("labels", "resource_labels")


def _is_empty(value: Value) -> bool:
    return not value.is_unknown and value.raw in _EMPTY


@functools.cache
def _facts(name: str, provider: str) -> dict[str, Attribute | NestedBlock]:
    """Everything in a resource type's schema by dotted path; nothing where the schema has no such type."""
    if provider not in PROVIDERS:
        return {}
    try:
        return dict(walk(resource_type(name, provider).block))
    except KeyError:
        return {}


def _step(side: _Side, step: Step) -> _Side:
    return child(side[0], step), mark(side[1], step), mark(side[2], step)


def _has_blocks(raw: Any) -> bool:
    return isinstance(raw, list) and any(isinstance(item, dict) for item in raw)


def _dict(raw: Any) -> dict[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _list(raw: Any) -> list[Any]:
    return raw if isinstance(raw, list) else []
