"""Is a resource's content what the provider schema allows? Every answer names one attribute path.

References and texts stand for values that are not known yet: their type and content pass.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from groundplan.facts.schema import Attribute, Block, CtyType, Facts, NestedBlock, ResourceType

INDEX = re.compile(r"\[\d+\]")


def suggestion(name: str, names: Iterable[str]) -> str:
    """`` Did you mean x?`` with the closest of ``names``, or nothing."""
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def present(value: Any) -> Any:
    """``value`` without attributes that are None, at every depth; tuples and sets become (sorted) lists."""
    if isinstance(value, Mapping):
        return {k: present(v) for k, v in value.items() if v is not None}
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [present(v) for v in value]
    return value


def reference(schema: ResourceType, attribute: str) -> str:
    """What is wrong with a reference to ``attribute``; empty if nothing is."""
    block: Block | None = schema.block
    for step in INDEX.sub("", attribute).split("."):
        if block is None:
            return ""
        if step in block.attributes:
            block = None
        elif step in block.blocks:
            block = block.blocks[step].block
        elif step != "id":
            near = suggestion(step, [*block.attributes, *block.blocks])
            return f"{schema.type} has no attribute {attribute}.{near}"
    return ""


def resource(schema: ResourceType, attributes: Mapping[str, Any]) -> Iterator[str]:
    """Every problem of a resource's attributes, as ``path: what is wrong``."""
    yield from _block(schema.block, attributes, "")
    yield from _groups(schema, attributes)


def _block(block: Block, values: Mapping[str, Any], at: str) -> Iterator[str]:
    for name, value in values.items():
        path = at + name
        if name in block.attributes:
            yield from _attribute(block.attributes[name], value, path)
        elif name in block.blocks:
            yield from _nested(block.blocks[name], value, path)
        else:
            yield f"{path}: no such attribute.{suggestion(name, [*block.attributes, *block.blocks])}"
    for name, attribute in block.attributes.items():
        if attribute.required and name not in values:
            yield f"{at}{name}: required"
    for name, nested in block.blocks.items():
        if nested.min_items and name not in values:
            yield f"{at}{name}: required block"


def _nested(nested: NestedBlock, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        yield f"{path}: a block is a mapping or a list of mappings, not {value!r}"
        return
    if nested.nesting != "single":
        yield from _size(nested, value, path)
    for index, item in enumerate(value):
        yield from _block(nested.block, item, f"{path}[{index}]." if len(value) > 1 else f"{path}.")


def _attribute(attribute: Attribute, value: Any, path: str) -> Iterator[str]:
    if not attribute.required and not attribute.optional:
        yield f"{path}: only the provider sets it"
        return
    wrong = _type(attribute.type, value)
    if wrong:
        yield f"{path}: {wrong}"
        return
    if isinstance(value, list):
        yield from _size(attribute, value, path)
        for item in value:
            if isinstance(item, str):
                yield from _string(item, path, attribute.element_enum, attribute.element_regex)
    elif isinstance(value, str):
        if not (value == "" and attribute.or_empty):
            yield from _string(value, path, attribute.enum, attribute.regex, attribute.enum_ignore_case)
            for pattern in attribute.not_regex:
                if _matches(pattern, value):
                    yield f"{path}: {value!r} must not match {pattern}"
            yield from _bounds(len(value), attribute.length, path, "characters")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if attribute.integer and value != int(value):
            yield f"{path}: {value} is not a whole number"
        yield from _bounds(value, attribute.range, path, "")


def _type(kind: CtyType, value: Any) -> str:
    """What is wrong with the type of ``value``; empty if nothing, or if the value is not known yet."""
    if not isinstance(value, str | bool | int | float | list | Mapping):
        return "" if type(value).__name__ in ("Reference", "Text") else f"{value!r} is not a Terraform value"
    if isinstance(kind, str):
        fits = {
            "string": isinstance(value, str),
            "bool": isinstance(value, bool),
            "number": isinstance(value, int | float) and not isinstance(value, bool),
        }
        return "" if fits.get(kind, True) else f"a {kind} is wanted, not {value!r}"
    outer, inner = kind[0], kind[1]
    if outer in ("list", "set"):
        if not isinstance(value, list):
            return f"a {outer} is wanted, not {value!r}"
        return next(filter(None, (_type(inner, item) for item in value)), "")
    if outer == "map":
        if not isinstance(value, Mapping):
            return f"a map is wanted, not {value!r}"
        return next(filter(None, (_type(inner, item) for item in value.values())), "")
    return ""


def _string(
    value: str, path: str, enum: tuple[str, ...], patterns: tuple[str, ...], ignore_case: bool = False
) -> Iterator[str]:
    if enum and value not in enum and not (ignore_case and value.lower() in {e.lower() for e in enum}):
        allowed = ", ".join(e for e in enum if e)
        yield f"{path}: {value!r} is not one of {allowed}.{suggestion(value, enum)}"
    for pattern in patterns:
        if not _matches(pattern, value):
            yield f"{path}: {value!r} does not match {pattern}"


def _matches(pattern: str, value: str) -> bool:
    """Go's RE2 and Python's re agree on nearly all patterns; one that Python cannot read passes."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True


def _bounds(
    value: float, bounds: tuple[float | None, float | None] | None, path: str, unit: str
) -> Iterator[str]:
    if bounds is None:
        return
    low, high = bounds
    if (low is not None and value < low) or (high is not None and value > high):
        limits = " and ".join(
            f"{word} {bound}" for word, bound in (("at least", low), ("at most", high)) if bound is not None
        )
        yield f"{path}: {value}{' ' + unit if unit else ''}, but {limits} is allowed"


def _size(facts: Facts, value: list[Any], path: str) -> Iterator[str]:
    if len(value) < facts.min_items:
        yield f"{path}: at least {facts.min_items} wanted, not {len(value)}"
    if facts.max_items is not None and len(value) > facts.max_items:
        yield f"{path}: at most {facts.max_items} wanted, not {len(value)}"


def _groups(schema: ResourceType, values: Mapping[str, Any]) -> Iterator[str]:
    """Conflicts and their kin. As in the provider, a group in a repeated block looks at its first element."""
    said: set[str] = set()
    for path, facts in schema.groups:
        parent = path.rpartition(".")[0]
        if parent and not _is_set(values, parent):
            continue
        for problem in _group(path, facts, values):
            if problem not in said:
                said.add(problem)
                yield problem


def _group(path: str, facts: Facts, values: Mapping[str, Any]) -> Iterator[str]:
    if _is_set(values, path):
        for other in facts.conflicts_with:
            if other != path and _is_set(values, other):
                yield f"{' and '.join(sorted((path, other)))}: these exclude each other"
        for other in facts.required_with:
            if not _is_set(values, other):
                yield f"{path}: needs {other} too"
    for group, exactly in ((facts.exactly_one_of, True), (facts.at_least_one_of, False)):
        hits = [member for member in group if _is_set(values, member)]
        wanted = ", ".join(sorted(group))
        if group and not hits:
            yield f"{'exactly' if exactly else 'at least'} one of {wanted} is required"
        elif exactly and len(hits) > 1:
            yield f"only one of {wanted} may be set"


def _is_set(values: Mapping[str, Any], path: str) -> bool:
    value: Any = values
    for step in path.split("."):
        if isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, Mapping):
            return False
        value = value.get(step)
    return value is not None and value != []
