"""Values of a plan: known, unknown or absent.

Terraform's plan JSON makes the three look alike: an unknown attribute is missing from ``after`` (or a null
in a list), exactly like one that nobody set. What is unknown stands in ``after_unknown`` only, so that is
read first. Null means "not set" in Terraform, hence absent.

A value that is unknown has no truth and equals nothing: asking raises ``TypeError`` instead of answering
"no", so that a rule cannot pass by accident.
"""

from __future__ import annotations

import enum
import functools
import json
import re
from collections.abc import Iterator
from typing import Any

#: A path is written like Terraform's own: ``node_config.taint[0].key``, ``labels["example.com/env"]``.
Step = str | int
_STEP = re.compile(r'(?:^|(?<!^)\.)([^.\[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


class State(enum.Enum):
    """What a plan says about a value."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    ABSENT = "absent"


class AmbiguousPath(LookupError):
    """A path goes through a list with several elements without saying which."""


class Value:
    """One value of a plan.

    Attributes:
        state: known, unknown or absent.
        raw: the JSON value where it is known, else None. Unknown parts of a list or object are ``UNKNOWN``.
        sensitive: it must not be shown; ``str`` and ``repr`` never do.
    """

    __slots__ = ("raw", "sensitive", "state")
    __hash__ = None  # type: ignore[assignment]  # an unknown value equals nothing

    def __init__(self, state: State, raw: Any = None, sensitive: bool = False) -> None:
        self.state = state
        self.raw = raw
        self.sensitive = sensitive

    @property
    def is_known(self) -> bool:
        """The plan says what it is (parts of a list or object may still be unknown)."""
        return self.state is State.KNOWN

    @property
    def is_unknown(self) -> bool:
        """It is known after apply only."""
        return self.state is State.UNKNOWN

    @property
    def is_absent(self) -> bool:
        """Nobody set it."""
        return self.state is State.ABSENT

    def __bool__(self) -> bool:
        self._decided()
        return bool(self.raw)

    def __eq__(self, other: object) -> bool:
        self._decided()
        if isinstance(other, Value):
            other._decided()
            other = other.raw
        return bool(self.raw == other)

    def _decided(self) -> None:
        if self.state is State.UNKNOWN:
            raise TypeError("the value is known after apply only: ask is_unknown first")

    def __repr__(self) -> str:
        return f"<{self.state.value} value{f' {self}' if self.is_known else ''}>"

    def __str__(self) -> str:
        """What a person may see."""
        if self.state is State.UNKNOWN:
            return "(known after apply)"
        if self.sensitive:
            return "(sensitive)"
        return _text(self.raw)


UNKNOWN = Value(State.UNKNOWN)
ABSENT = Value(State.ABSENT)


def _text(raw: Any) -> str:
    if raw is None:
        return "not set"
    if isinstance(raw, str | Value):
        return str(raw)
    if isinstance(raw, list) and not any(isinstance(item, dict | list) for item in raw):
        return ", ".join(_text(item) for item in raw) or "none"
    return json.dumps(raw, default=str, ensure_ascii=False)


class Attributes:
    """The attributes of a resource before or after a change, read by path.

    ``after["node_config.spot"]`` goes through lists of one element by itself, as Terraform's nested blocks
    need it; where a list has several, the path must say which (``taint[1].key``), or use ``each``.

    Args:
        values: ``before`` or ``after``.
        unknown: ``after_unknown``; False before.
        sensitive: ``before_sensitive`` or ``after_sensitive``.
    """

    __slots__ = ("_sensitive", "_unknown", "_values")

    def __init__(self, values: Any, unknown: Any = False, sensitive: Any = False) -> None:
        self._values = values
        self._unknown = unknown
        self._sensitive = sensitive

    @property
    def exists(self) -> bool:
        """There is an object: not so before a create and after a delete."""
        return self._values is not None

    def names(self) -> list[str]:
        """Names of the top-level attributes that have a value or will have one."""
        values = self._values if isinstance(self._values, dict) else {}
        unknown = self._unknown if isinstance(self._unknown, dict) else {}
        return sorted(
            {*(n for n, v in values.items() if v is not None), *(n for n, u in unknown.items() if u)}
        )

    def __getitem__(self, path: str | tuple[Step, ...]) -> Value:
        """The value at ``path``; absent where nothing is there.

        Raises:
            AmbiguousPath: a list on the way has several elements and the path does not say which.
            ValueError: the path cannot be read.
        """
        found = self._find(path)
        if len(found) > 1:
            raise AmbiguousPath(f"{path} has {len(found)} values: write an index, or use each(…)")
        return found[0] if found else ABSENT

    def each(self, path: str | tuple[Step, ...]) -> list[Value]:
        """The values at ``path`` in all elements of the lists on the way, and of the list at its end.

        ``each("node_config.taint.key")`` gives the keys of all taints. Absent values are left out; a list
        that is unknown as a whole gives one unknown value.
        """
        found: list[Value] = []
        for value in self._find(path):
            if value.is_known and isinstance(value.raw, list):
                found.extend(_element(item, value.sensitive) for item in value.raw)
            elif not value.is_absent:
                found.append(value)
        return found

    def _find(self, path: str | tuple[Step, ...]) -> list[Value]:
        steps = parse_path(path) if isinstance(path, str) else path
        return list(_walk(self._values, self._unknown, self._sensitive, steps))


def _walk(raw: Any, unknown: Any, sensitive: Any, steps: tuple[Step, ...]) -> Iterator[Value]:
    for position, step in enumerate(steps):
        if unknown is True:
            break
        if isinstance(step, str) and isinstance(raw, list):
            for index in range(len(raw)):
                inner = child(raw, index), mark(unknown, index), mark(sensitive, index)
                yield from _walk(*inner, steps[position:])
            return
        raw, unknown, sensitive = child(raw, step), mark(unknown, step), mark(sensitive, step)
    yield make_value(raw, unknown, sensitive)


def make_value(raw: Any, unknown: Any, sensitive: Any) -> Value:
    """The value that Terraform writes as three: itself, what of it is unknown, what of it is sensitive."""
    hidden = has_mark(sensitive)
    if unknown is True:
        return Value(State.UNKNOWN, None, hidden) if hidden else UNKNOWN
    if has_mark(unknown):
        return Value(State.KNOWN, _merge(raw, unknown), hidden)
    return ABSENT if raw is None else Value(State.KNOWN, raw, hidden)


def child(container: Any, step: Step) -> Any:
    """One step into a value; None where nothing is there."""
    if isinstance(container, dict):
        return container.get(step)
    if isinstance(container, list) and isinstance(step, int) and step < len(container):
        return container[step]
    return None


def mark(marks: Any, step: Step) -> Any:
    """One step into the marks that lie beside a value; a mark on the whole holds for every part."""
    return True if marks is True else child(marks, step)


def has_mark(marks: Any) -> bool:
    """Whether anything is marked in ``after_unknown`` or ``…_sensitive``, at any depth."""
    if isinstance(marks, dict):
        return any(has_mark(inner) for inner in marks.values())
    if isinstance(marks, list):
        return any(has_mark(inner) for inner in marks)
    return marks is True


def _merge(raw: Any, unknown: Any) -> Any:
    """``raw`` with ``UNKNOWN`` in the places that ``unknown`` marks."""
    if unknown is True:
        return UNKNOWN
    if isinstance(unknown, dict):
        known = raw if isinstance(raw, dict) else {}
        return known | {k: _merge(known.get(k), u) for k, u in unknown.items() if has_mark(u)}
    if isinstance(unknown, list):
        known_items = raw if isinstance(raw, list) else []
        length = max(len(known_items), len(unknown))
        return [_merge(child(known_items, index), child(unknown, index)) for index in range(length)]
    return raw


def _element(item: Any, sensitive: bool) -> Value:
    return item if isinstance(item, Value) else make_value(item, False, sensitive)


@functools.lru_cache(maxsize=4096)
def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a written path.

    Raises:
        ValueError: it is not one.
    """
    steps: list[Step] = []
    position = 0
    for match in _STEP.finditer(path):
        name, index, key = match.groups()
        if match.start() != position:
            break
        position = match.end()
        if name is not None:
            steps.append(name)
        else:
            steps.append(int(index) if index is not None else json.loads(f'"{key}"'))
    if position != len(path) or not steps:
        raise ValueError(f"not an attribute path: {path!r}")
    return tuple(steps)


def format_path(steps: tuple[Step, ...]) -> str:
    """Steps as a person writes them; ``parse_path`` reads them back."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[\w-]+", step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text
