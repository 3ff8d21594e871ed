"""What the provider itself says about a configuration at ``terraform validate``.

Terraform core checks names, types and required arguments by the schema. The rest is the provider's:
allowed values, ranges, patterns, sizes, and groups of arguments that need or exclude each other.
An unknown value never fails: it is checked again when it is known.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from groundplan.facts.schema import Attribute, Block, Facts, ResourceType

from .codec import UNKNOWN
from .sameness import seconds

Path = tuple[str | int, ...]


class Problem(NamedTuple):
    """What is wrong and where: attribute names and list indexes from the top of the configuration."""

    path: Path
    text: str
    warning: bool = False


def problems(kind: ResourceType, config: Any) -> Iterator[Problem]:
    """All problems of one configuration, in the order of the schema."""
    yield from _block(kind.block, config, ())
    # Every member of a group tells the same: say it once, at the first.
    yield from {problem.text: problem for problem in reversed(list(_groups(kind, config)))}.values()


def _block(block: Block, config: dict[str, Any], at: Path) -> Iterator[Problem]:
    for name, attribute in block.attributes.items():
        value = config.get(name)
        if value is not None:
            yield from (Problem((*at, name), text) for text in _attribute(attribute, value))
            if attribute.deprecated:
                yield Problem((*at, name), "Argument is deprecated", warning=True)
    for name, nested in block.blocks.items():
        value = config.get(name)
        if isinstance(value, dict):
            yield from _block(nested.block, value, (*at, name))
        elif isinstance(value, list):
            for index, element in enumerate(value):
                # Members of a set have no index; the diagnostic then stands at the set.
                step = (index,) if nested.nesting == "list" else ()
                if element is not UNKNOWN:
                    yield from _block(nested.block, element, (*at, name, *step))


def _attribute(attribute: Attribute, value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from _size(attribute, len(value))
        for element in value:
            if isinstance(element, str):
                yield from _enum(attribute.element_enum, element)
                yield from _patterns(attribute.element_regex, element)
                yield from _format(attribute.element_format, element)
    elif isinstance(value, str):
        yield from _string(attribute, value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(attribute, value)


def _size(facts: Facts, size: int) -> Iterator[str]:
    if size < facts.min_items or (facts.max_items is not None and size > facts.max_items):
        yield f"expected {_between(facts.min_items or None, facts.max_items)} items, got {size}"


def _number(attribute: Attribute, value: float) -> Iterator[str]:
    if attribute.range and not _within(value, attribute.range):
        yield f"expected a number {_between(*attribute.range)}, got {value}"
    if attribute.integer and value != int(value):
        yield f"a whole number is required, got {value}"


def _string(attribute: Attribute, value: str) -> Iterator[str]:
    if value == "" and attribute.or_empty:
        return
    yield from _enum(attribute.enum, value, ignore_case=attribute.enum_ignore_case)
    if attribute.length and not _within(len(value), attribute.length):
        yield f"expected {_between(*attribute.length)} characters, got {len(value)}"
    yield from _patterns(attribute.regex, value)
    for pattern in attribute.not_regex:
        if _matches(pattern, value):
            yield f"{value!r} must not match {pattern}"
    yield from _format(attribute.format, value)


def _enum(allowed: tuple[str, ...], value: str, *, ignore_case: bool = False) -> Iterator[str]:
    fold = str.lower if ignore_case else str
    if allowed and fold(value) not in map(fold, allowed):
        yield f"expected one of {', '.join(filter(None, allowed))}, got {value!r}"


def _patterns(patterns: tuple[str, ...], value: str) -> Iterator[str]:
    for pattern in patterns:
        if _matches(pattern, value) is False:
            yield f"{value!r} does not match {pattern}"


def _matches(pattern: str, value: str) -> bool | None:
    """None: a pattern that Go's RE2 knows and Python does not."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return None


def _format(name: str | None, value: str) -> Iterator[str]:
    try:
        if name in _FORMATS:
            _FORMATS[name](value)
    except ValueError:
        yield f"{value!r} is not a valid {name}"


def _pattern(pattern: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if not re.match(pattern, value):
            raise ValueError(value)

    return check


_FORMATS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "cidr": lambda value: ipaddress.ip_network(value, strict=False),
    "ip": ipaddress.ip_address,
    "base64": lambda value: base64.b64decode(value, validate=True),
    "hh:mm": _pattern(r"([01]\d|2[0-3]):[0-5]\d$"),
    "go_duration": seconds,
    "rfc3339_date": _pattern(r"\d{4}-\d\d-\d\d"),
}


def _within(value: float, bounds: tuple[float | None, float | None]) -> bool:
    low, high = bounds
    return (low is None or value >= low) and (high is None or value <= high)


def _between(low: float | None, high: float | None) -> str:
    if high is None:
        return f"of at least {low}"
    return f"of at most {high}" if low is None else f"from {low} to {high}"


def _groups(kind: ResourceType, config: Any) -> Iterator[Problem]:
    for path, facts in kind.groups:
        parent = path.rpartition(".")[0]
        if not parent or _is_set(config, parent) is True:
            for text in _group(path, facts, config):
                yield Problem(_steps(kind.block, config, path), text)


def _group(path: str, facts: Facts, config: Any) -> Iterator[str]:
    if _is_set(config, path) is True:
        for other in facts.conflicts_with:
            if other != path and _is_set(config, other) is True:
                yield f"{path} conflicts with {other}"
        for other in facts.required_with:
            if _is_set(config, other) is False:
                yield f"{path} needs {other} to be set too"
    for members, word in ((facts.exactly_one_of, "exactly"), (facts.at_least_one_of, "at least")):
        found = {member: _is_set(config, member) for member in members}
        hits = [member for member, state in found.items() if state is True]
        if members and not hits and UNKNOWN not in found.values():
            yield f"{word} one of {', '.join(sorted(found))} must be set"
        elif word == "exactly" and len(hits) > 1:
            yield f"only one of {', '.join(sorted(hits))} may be set"


def _is_set(config: Any, path: str) -> Any:
    """True, False or UNKNOWN. Lists are followed at their first element, as the provider does."""
    value = config
    for name in path.split("."):
        if isinstance(value, list):
            value = value[0] if value else None
        if value is UNKNOWN:
            return UNKNOWN
        if not isinstance(value, dict):
            return False
        value = value.get(name)
    return UNKNOWN if value is UNKNOWN else value is not None and value != []


def _steps(block: Block, config: Any, path: str) -> Path:
    """The dotted path as attribute names and indexes, as far as the configuration goes."""
    steps: list[str | int] = []
    for name in path.split("."):
        if not isinstance(config, dict):
            break
        steps.append(name)
        config, nested = config.get(name), block.blocks.get(name)
        if nested is None or nested.nesting != "list" or not isinstance(config, list) or not config:
            break
        block, config = nested.block, config[0]
        steps.append(0)
    return tuple(steps[:-1]) if steps and steps[-1] == 0 else tuple(steps)
