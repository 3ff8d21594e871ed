"""What a model refuses, in the words of the language: which value, what is wrong with it, what to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from groundplan.blueprints.shapes import Shape
from groundplan.blueprints.tree import Path, named
from groundplan.blueprints.words import did_you_mean, listed, quoted, sentence

_RULE_CODE = re.compile(r"[A-Z]{2}[0-9]{3}")
_EXPECTED = re.compile(r"'([^']*)'")


@dataclass(frozen=True)
class Refusal:
    """One value that a model refuses.

    Attributes:
        code: ``BP002`` for a missing key, ``BP003`` for a wrong value, or the code of a rule.
        path: where it is; for a missing key, where the key would be.
        message: what is wrong.
        hint: what to write.
        at_key: the key itself is wrong, not its value.
    """

    code: str
    path: Path
    message: str
    hint: str
    at_key: bool = False

    @property
    def missing(self) -> bool:
        """Whether a key is missing."""
        return self.code == "BP002"


def refusals(error: ValidationError, data: Any, shape: Shape) -> Iterator[Refusal]:
    """The refusals in an error that a model raised for ``data``, in our words."""
    for one in error.errors(include_url=False, include_input=True):
        yield _refusal(dict(one), data, shape)


def _refusal(error: dict[str, Any], data: Any, shape: Shape) -> Refusal:
    path, written, at_key = _path(error["loc"], data)
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        key = str(error["loc"][-1])
        where = f" in {quoted(str(path[-1]))}" if path else ""
        known = shape.walk(path).keys.get(key)
        return Refusal(
            "BP002", (*path, key), f"{quoted(key)} is missing{where}", known.description if known else ""
        )
    if _RULE_CODE.fullmatch(kind):
        return Refusal(kind, path, error["msg"], str(context.get("hint", "")))
    value = path[-1] if at_key and path else written
    shown = quoted(str(value)) if isinstance(value, str | int | float) else "this"
    subject = f"{quoted(str(value))} cannot be a key" if at_key else f"{named(path)} cannot be {shown}"
    explain = _HINTS.get(kind)
    hint = explain(context, value) if explain else ""
    return Refusal("BP003", path, subject, hint, at_key)


def _path(steps: tuple[Any, ...], data: Any) -> tuple[Path, Any, bool]:
    """The path in ``data`` that pydantic's location means, what stands there, and whether its key is meant.

    Steps that are only pydantic's own are left out.
    """
    path: list[str | int] = []
    for step in steps:
        if step == "[key]":
            return tuple(path), data, True
        is_item = isinstance(data, list) and isinstance(step, int) and step < len(data)
        if is_item or (isinstance(data, dict) and step in data):
            data = data[step]
            path.append(step)
    return tuple(path), data, False


def _one_of(context: Mapping[str, Any], value: Any) -> str:
    words = context.get("words") or _EXPECTED.findall(str(context.get("expected", "")))
    further = [str(context["further"])] if "further" in context else []
    return f"{did_you_mean(str(value), words)} It is {listed([*words, *further])}.".strip()


def _bound(words: str, name: str) -> Callable[[Mapping[str, Any], Any], str]:
    def hint(context: Mapping[str, Any], value: Any) -> str:
        unit = "GiB" if str(value).endswith("iB") else ""
        return f"It is {words} {context.get(name)}{unit}."

    return hint


#: pydantic's name of a mistake → what to write instead.
_HINTS: Mapping[str, Callable[[Mapping[str, Any], Any], str]] = {
    "value_error": lambda context, _: sentence(str(context.get("error", ""))),
    "literal_error": _one_of,
    "unknown_word": _one_of,
    "greater_than_equal": _bound("at least", "ge"),
    "greater_than": _bound("more than", "gt"),
    "less_than_equal": _bound("at most", "le"),
    "less_than": _bound("less than", "lt"),
    "too_short": lambda context, _: f"It holds at least {context.get('min_length')}.",
    "string_too_short": lambda _, __: "It is not empty.",
    "string_too_long": lambda context, _: f"It has at most {context.get('max_length')} characters.",
    "float_parsing": lambda _, __: "Write a number: 0.5.",
    "finite_number": lambda _, __: "Write a number: 0.5.",
}
