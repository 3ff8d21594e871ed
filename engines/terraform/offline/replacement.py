"""Which changes replace a resource instead of updating it.

Where ``facts`` do not know (``force_new`` is None) the change counts as an update here; the plan
reader warns about it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from groundplan.facts.schema import Block, NestedBlock, ResourceType

from .check import Path
from .codec import UNKNOWN
from .sameness import canonical, is_zero, same, same_set

State = dict[str, Any]


def replacing_paths(kind: ResourceType, prior: State, planned: State, config: State) -> Iterator[Path]:
    """Paths of the changes that force a replacement; nothing for an update in place."""
    yield from _block(kind.block, prior, planned, config, ())
    for dotted in kind.force_new_if_shrinks:
        if _shrinks(_value_at(prior, dotted), _value_at(planned, dotted)):
            yield (dotted.partition(".")[0],)


def _block(block: Block, prior: State, planned: State, config: State, at: Path) -> Iterator[Path]:
    for name, attribute in block.attributes.items():
        if attribute.force_new and not same(attribute.type, prior.get(name), planned.get(name)):
            yield (*at, name)
    for name, nested in block.blocks.items():
        old, new, written = prior.get(name), planned.get(name), config.get(name)
        if nested.nesting == "single" or old == new:
            continue
        if not isinstance(old, list) or not isinstance(new, list) or not isinstance(written, list):
            if nested.force_new:  # the new one is unknown
                yield (*at, name)
        elif nested.nesting == "set":
            if _set_forces(nested, old, new, written):
                yield (*at, name)
        else:
            yield from _list(nested, old, new, written, (*at, name))


def _list(
    nested: NestedBlock, old: list[Any], new: list[Any], written: list[Any], at: Path
) -> Iterator[Path]:
    if nested.force_new and len(old) != len(new):
        yield at
    for index, (before, after, element) in enumerate(zip(old, new, written, strict=False)):
        if isinstance(after, dict):
            yield from _block(nested.block, before, after, element, (*at, index))
    gone, come = old[len(new) :], written[len(old) :]
    if any(_leaving_forces(nested.block, e) for e in gone) or any(
        _arriving_forces(nested.block, e) for e in come
    ):
        yield at


def _set_forces(nested: NestedBlock, old: list[Any], new: list[Any], written: list[Any]) -> bool:
    if same_set(old, new):
        return False
    if nested.force_new and len(old) != len(new):
        return True
    before, after = set(map(canonical, old)), set(map(canonical, new))
    return any(
        _leaving_forces(nested.block, element) for element in old if canonical(element) not in after
    ) or any(
        _arriving_forces(nested.block, element)
        for planned, element in zip(new, written, strict=True)
        if canonical(planned) not in before
    )


def _leaving_forces(block: Block, element: Any) -> bool:
    """Does an element that goes hold a value that cannot change in place, and was not the cloud's choice?"""
    if not isinstance(element, dict):
        return False
    return any(
        attribute.force_new and not attribute.computed and not is_zero(element.get(name))
        for name, attribute in block.attributes.items()
    ) or any(
        nested.force_new or any(_leaving_forces(nested.block, child) for child in element[name])
        for name, nested in block.blocks.items()
        if element.get(name) and isinstance(element[name], list)
    )


def _arriving_forces(block: Block, element: Any) -> bool:
    """Does a newly written element hold, by itself or by default, a value that cannot change in place?"""
    if not isinstance(element, dict):
        return False
    return any(
        attribute.force_new and not is_zero(_written(element.get(name), attribute.default))
        for name, attribute in block.attributes.items()
    ) or any(
        nested.force_new or any(_arriving_forces(nested.block, child) for child in element[name])
        for name, nested in block.blocks.items()
        if isinstance(element.get(name), list) and element[name]
    )


def _written(value: Any, default: Any) -> Any:
    return default if value is None else value


def _value_at(state: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        if isinstance(state, list):
            state = state[0] if state else None
        state = state.get(name) if isinstance(state, dict) else None
    return state


def _shrinks(old: Any, new: Any) -> bool:
    """Smaller number, true to false, an older version, or an address range that lost addresses."""
    if old is None or old is UNKNOWN or new is UNKNOWN:
        return False
    if isinstance(old, str) and isinstance(new, str):
        try:
            return not ipaddress.IPv4Network(old).subnet_of(ipaddress.IPv4Network(new))
        except ValueError:
            return new < old
    return bool((new or 0) < old)
