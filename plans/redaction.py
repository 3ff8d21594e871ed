"""A plan without its secrets, for reports, bundles and pull requests.

``terraform show -json`` prints sensitive values in clear and only marks them, and not everywhere (seen with
Terraform 1.11 and 1.15). So there are three rules:

- What is marked is replaced: values of resources, of outputs, of the state.
- What has been replaced once is replaced wherever it stands without a mark, as in an attribute that the
  provider computes from a sensitive one.
- The configuration, and the values of variables, bear no marks at all: a constant that sets a sensitive or a
  write-only attribute stands there in clear, and so does the default of an ephemeral variable, twice. A
  constant is therefore shown only if the rest of the plan shows it anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from groundplan.plans.model import paused_gc
from groundplan.plans.values import child, has_mark

SENSITIVE = "(sensitive)"

#: Shorter texts are too common to be looked for everywhere.
_SHORTEST = 8
#: In JSON configuration a reference counts as a constant.
_REFERENCE = re.compile(r"\$\{[\w.\-\[\]]+\}")

Json = dict[str, Any]
#: A value and the marks that lie beside it → the value to show.
_Rule = Callable[[Any, Any], Any]


def redact(plan_json: Json) -> Json:
    """A copy of a plan with ``(sensitive)`` in the place of every sensitive value.

    Numbers and texts of fewer than eight characters are replaced only where they are marked, and in the
    configuration.

    Args:
        plan_json: the decoded output of ``terraform show -json``, any 1.x format. It is not changed; the copy
            shares parts with it.

    Returns:
        The copy. Redacting it again gives the same.
    """
    secrets = _Secrets(_sensitive_variables(plan_json))
    shown: set[Any] = set()

    def sweep(value: Any, marks: Any) -> Any:
        swept = secrets.sweep(value)
        shown.update(_scalars(swept))
        return swept

    with paused_gc():
        result = _values(_values(plan_json, secrets.hide), sweep)
    declared = _root(plan_json).get("variables", {})

    def variable(name: str, item: Json) -> Json:
        visible = set() if declared.get(name, {}).get("sensitive") else shown
        return _with(item, value=lambda value: _visible(value, visible))

    return _with(
        result,
        checks=secrets.sweep,
        configuration=lambda configuration: _constants(configuration, shown),
        variables=lambda items: {name: variable(name, item) for name, item in items.items()},
    )


class _Secrets:
    """Texts that are taken out, to be found again elsewhere.

    Args:
        parts: values of variables; they may be a part of longer texts.
    """

    def __init__(self, parts: Iterable[str]) -> None:
        self._exact: set[str] = set()
        longest_first = sorted({*parts} - {SENSITIVE}, key=len, reverse=True)
        self._parts = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def hide(self, value: Any, marks: Any) -> Any:
        """``value`` without what ``marks`` mark, which is remembered."""
        if marks is True and value is not None:
            self._exact.update(text for text in _long_texts(value) if text != SENSITIVE)
            return SENSITIVE
        if isinstance(value, dict) and has_mark(marks):
            return {key: self.hide(inner, child(marks, key)) for key, inner in value.items()}
        if isinstance(value, list) and has_mark(marks):
            return [self.hide(inner, child(marks, index)) for index, inner in enumerate(value)]
        return value

    def sweep(self, value: Any) -> Any:
        """``value`` without what was taken out anywhere."""
        if isinstance(value, str):
            return SENSITIVE if value in self._exact else self._parts.sub(SENSITIVE, value)
        if isinstance(value, dict):
            return {key: self.sweep(inner) for key, inner in value.items()}
        return [self.sweep(inner) for inner in value] if isinstance(value, list) else value


def _values(plan: Json, rule: _Rule) -> Json:
    """A copy of a plan in which ``rule`` has been applied to every value that may have marks."""

    def both_sides(body: Json) -> Json:
        sides = [side for side in ("before", "after") if side in body]
        return {**body, **{side: rule(body[side], body.get(f"{side}_sensitive")) for side in sides}}

    def change(item: Json) -> Json:
        return {**item, "change": both_sides(item["change"])} if "change" in item else item

    def action(item: Json) -> Json:
        values = item.get("config_values")
        return (
            item if values is None else {**item, "config_values": rule(values, item.get("config_sensitive"))}
        )

    def output(item: Json) -> Json:
        return {**item, "value": rule(item["value"], item.get("sensitive"))} if "value" in item else item

    def resource(item: Json) -> Json:
        # A forgotten resource has no values (Terraform before 1.15.6).
        return (
            {**item, "values": rule(item["values"], item.get("sensitive_values"))}
            if "values" in item
            else item
        )

    def module(item: Json) -> Json:
        return _with(item, resources=_all(resource), child_modules=_all(module))

    def state(item: Json) -> Json:
        return _with(item, outputs=_each(output), root_module=module)

    return _with(
        plan,
        resource_changes=_all(change),
        resource_drift=_all(change),
        deferred_changes=_all(lambda item: _with(item, resource_change=change)),
        action_invocations=_all(action),
        deferred_action_invocations=_all(lambda item: _with(item, action_invocation=action)),
        output_changes=_each(both_sides),
        planned_values=state,
        prior_state=lambda item: _with(item, values=state),
    )


def _with(item: Json, **parts: Callable[[Any], Any]) -> Json:
    """A copy of ``item`` in which these parts, where there are any, have been changed."""
    return {**item, **{key: made(item[key]) for key, made in parts.items() if item.get(key)}}


def _all(made: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda items: [made(item) for item in items]


def _each(made: Callable[[Any], Any]) -> Callable[[Json], Json]:
    return lambda items: {name: made(item) for name, item in items.items()}


def _constants(value: Any, shown: set[Any], sensitive: bool = False) -> Any:
    """A part of the configuration in which only constants that are in ``shown`` are left."""
    if isinstance(value, list):
        return [_constants(item, shown, sensitive) for item in value]
    if not isinstance(value, dict):
        return value
    hides = sensitive or value.get("sensitive") is True
    return {
        key: _visible(inner, set() if hides else shown)
        if key in ("constant_value", "default")
        else _constants(inner, shown, hides)
        for key, inner in value.items()
    }


def _visible(value: Any, shown: set[Any]) -> Any:
    if isinstance(value, dict):
        return {key: _visible(inner, shown) for key, inner in value.items()}
    if isinstance(value, list):
        return [_visible(inner, shown) for inner in value]
    if value is None or isinstance(value, bool) or value in shown:
        return value
    return value if isinstance(value, str) and _REFERENCE.fullmatch(value) else SENSITIVE


def _root(plan: Json) -> Json:
    found: Json = plan.get("configuration", {}).get("root_module", {})
    return found


def _sensitive_variables(plan: Json) -> Iterator[str]:
    """Texts in variables that are declared sensitive."""
    values = plan.get("variables", {})
    for name, variable in _root(plan).get("variables", {}).items():
        if variable.get("sensitive"):
            yield from _long_texts([variable.get("default"), values.get(name, {}).get("value")])


def _long_texts(value: Any) -> Iterator[str]:
    """Texts in a value that are long enough to be looked for everywhere."""
    return (text for text in _scalars(value) if isinstance(text, str) and len(text) >= _SHORTEST)


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _scalars(inner)
    else:
        yield value
