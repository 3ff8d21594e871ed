"""Terraform's plan, as ``terraform show -json`` writes it (format 1.x, Terraform and OpenTofu).

Only what is used is decoded into types; the values of resources stay as they are and are read through
``Attributes``. The base is ``resource_changes``: ``planned_values`` knows neither deletions nor unknowns.
Unknown properties are ignored, as the format's rules ask; another major version is refused.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import gc
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from groundplan.errors import InputError
from groundplan.plans.values import Attributes, Step, Value, format_path, make_value

_MODULE = re.compile(r'module\.([\w-]+)(?:\["(?:[^"\\]|\\.)*"\]|\[\d+\])?\.?')
_MAKE_ONE = "Write one with: terraform show -json PLANFILE > plan.json"


class Action(enum.StrEnum):
    """What a plan does to one resource."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REPLACE = "replace"  #: ``Change.create_first`` says in which order
    READ = "read"  #: a data source that is read during apply
    FORGET = "forget"  #: out of the state, the object stays
    MOVE = "move"  #: another address for the same object, and nothing else
    NO_OP = "no-op"


class Body(msgspec.Struct, frozen=True):
    """What Terraform calls a change: the object before and after, and the marks that lie beside both."""

    actions: tuple[Literal["no-op", "create", "read", "update", "delete", "forget"], ...]
    before: Any = None
    after: Any = None
    after_unknown: Any = False
    before_sensitive: Any = False
    after_sensitive: Any = False
    replace_paths: tuple[tuple[Any, ...], ...] = ()
    importing: dict[str, Any] | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What the plan does to one resource, ``no-op`` included."""

    address: str
    type: str
    name: str
    mode: str = "managed"
    index: int | str | None = None  #: of ``count`` or ``for_each``
    module: str = msgspec.field(name="module_address", default="")
    previous_address: str | None = None
    provider_source: str = msgspec.field(name="provider_name", default="")
    deposed: str | None = None  #: key of an object left over from an interrupted replacement
    reason: str = msgspec.field(name="action_reason", default="")  #: ``replace_because_cannot_update`` …
    body: Body = msgspec.field(name="change")

    @functools.cached_property
    def action(self) -> Action:
        """The one action; both orders of a replacement are ``REPLACE``."""
        actions = self.body.actions
        if "create" in actions and len(actions) > 1:
            return Action.REPLACE
        action = Action(actions[0]) if actions else Action.NO_OP
        return Action.MOVE if action is Action.NO_OP and self.previous_address else action

    @property
    def deletes(self) -> bool:
        """An object in the cloud goes away: a deletion or a replacement."""
        return "delete" in self.body.actions

    @property
    def create_first(self) -> bool:
        """A replacement that creates the new object before it deletes (or forgets) the old one."""
        return self.body.actions[0] == "create" and self.action is Action.REPLACE

    @property
    def provider(self) -> str:
        """The provider's own name: ``google``, ``google-beta``."""
        return self.provider_source.rpartition("/")[2]

    @property
    def importing(self) -> bool:
        """The object exists in the cloud and comes into the state."""
        return self.body.importing is not None

    @functools.cached_property
    def before(self) -> Attributes:
        """The attributes before; none for a create."""
        return Attributes(self.body.before, False, self.body.before_sensitive)

    @functools.cached_property
    def after(self) -> Attributes:
        """The attributes after; none for a delete."""
        return Attributes(self.body.after, self.body.after_unknown, self.body.after_sensitive)

    @property
    def latest(self) -> Attributes:
        """The attributes after, or before where nothing is left."""
        return self.after if self.after.exists else self.before

    @functools.cached_property
    def replace_paths(self) -> tuple[str, ...]:
        """Attributes that force the replacement: ``node_config.guest_accelerator.type``.

        Indexes are left out; an attribute of several elements stands once. Sorted, since Terraform's order
        is not stable.
        """
        return tuple(sorted({format_path(attribute_steps(path)) for path in self.body.replace_paths}))


class OutputChange(Body, frozen=True):
    """What the plan does to one output."""

    @property
    def action(self) -> Action:
        """Create, update, delete or no-op."""
        return Action(self.actions[0])

    @property
    def value(self) -> Value:
        """The value after."""
        return make_value(self.after, self.after_unknown, self.after_sensitive)


class Deferred(msgspec.Struct, frozen=True):
    """A change that this plan leaves for a later one."""

    change: Change = msgspec.field(name="resource_change")
    reason: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A plan. ``complete`` is False where changes were deferred, ``errored`` where planning failed midway."""

    format_version: str = ""
    terraform_version: str = ""
    timestamp: str = ""
    errored: bool = False
    complete: bool = True
    applyable: bool | None = None
    changes: tuple[Change, ...] = msgspec.field(name="resource_changes", default=())
    drift: tuple[Change, ...] = msgspec.field(name="resource_drift", default=())
    deferred: tuple[Deferred, ...] = msgspec.field(name="deferred_changes", default=())
    output_changes: dict[str, OutputChange] = {}
    raw_configuration: msgspec.Raw = msgspec.field(name="configuration", default=msgspec.Raw(b""))
    raw_prior_state: msgspec.Raw = msgspec.field(name="prior_state", default=msgspec.Raw(b""))
    raw_planned_values: msgspec.Raw = msgspec.field(name="planned_values", default=msgspec.Raw(b""))

    @property
    def has_prior_state(self) -> bool:
        """Something existed before: not so in a first plan."""
        return bool(self.raw_prior_state)

    @functools.cached_property
    def configuration(self) -> dict[str, Any]:
        """The configuration as Terraform repeats it in the plan, decoded when it is first asked for."""
        with paused_gc():
            return dict(msgspec.json.decode(self.raw_configuration)) if self.raw_configuration else {}

    @functools.cached_property
    def by_address(self) -> dict[str, Change]:
        """Changes by address; of an address with deposed objects the present one."""
        return {change.address: change for change in self.changes if change.deposed is None}

    @functools.cached_property
    def by_type(self) -> dict[str, list[Change]]:
        """Changes of managed resources by resource type, ``no-op`` included."""
        found: dict[str, list[Change]] = {}
        for change in self.changes:
            if change.mode == "managed":
                found.setdefault(change.type, []).append(change)
        return found

    def of_type(self, *types: str) -> list[Change]:
        """Changes of managed resources of these types."""
        return [change for name in types for change in self.by_type.get(name, ())]

    @property
    def actual(self) -> list[Change]:
        """Changes of managed resources that do something: no ``no-op`` without an import, no reading."""
        return [
            change
            for change in self.changes
            if change.mode == "managed" and (change.action is not Action.NO_OP or change.importing)
        ]

    def expressions(self, change: Change) -> Mapping[str, Any]:
        """What the configuration sets for a resource: ``{constant_value, references}`` by attribute."""
        return self._expressions.get((_modules(change.module), change.mode, change.type, change.name), {})

    @functools.cached_property
    def _expressions(self) -> dict[tuple[tuple[str, ...], str, str, str], Mapping[str, Any]]:
        return {
            (path, resource["mode"], resource["type"], resource["name"]): resource.get("expressions", {})
            for path, module in _configured(self.configuration.get("root_module", {}), ())
            for resource in module.get("resources", ())
        }


def read_plan(source: bytes | Path) -> Plan:
    """Read a plan from its JSON text or from a file.

    Raises:
        InputError: unreadable, cut off, not a plan, or a format that is not known; the hint says what to do.
    """
    if isinstance(source, Path):
        try:
            data, what = source.read_bytes(), str(source)
        except OSError as error:
            raise InputError(f"cannot read the plan {source}: {error.strerror}") from error
    else:
        data, what = source, "the plan"
    data = _utf8(data)
    try:
        with paused_gc():
            plan = msgspec.json.decode(data, type=Plan)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise _diagnose(data, what, str(error)) from error
    major = plan.format_version.partition(".")[0]
    if major != "1" or not (plan.changes or plan.drift or plan.raw_configuration or plan.raw_planned_values):
        raise _diagnose(data, what, "")
    return plan


def attribute_steps(path: tuple[Any, ...]) -> tuple[Step, ...]:
    """The names in a path: without the indexes of lists, and the elements that stand for an index in sets."""
    return tuple(step for step in path if isinstance(step, str))


def _utf8(data: bytes) -> bytes:
    """Windows' shell writes redirected output as UTF-16; both it and UTF-8 may start with a mark."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode("utf-16").encode()
    return data.removeprefix(b"\xef\xbb\xbf")


class _Head(msgspec.Struct):
    """Just enough to tell what a file is, if it is no plan."""

    format_version: Any = None
    values: msgspec.Raw = msgspec.Raw(b"")
    lineage: str = ""


def _diagnose(data: bytes, what: str, problem: str) -> InputError:
    """The reason why ``data`` is not a plan that can be read, as a person needs it."""
    if not data.strip():
        return InputError(f"{what} is empty", hint=f"terraform show may have failed. {_MAKE_ONE}")
    if data[:2] == b"PK":
        return InputError(f"{what} is Terraform's binary plan file, not JSON", hint=_MAKE_ONE)
    if data.lstrip()[:9] == b'{"@level"':
        return InputError(f"{what} is the log of `terraform plan -json`, not a plan", hint=_MAKE_ONE)
    try:
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.ValidationError:
        return InputError(f"{what} is not a plan", hint=_MAKE_ONE)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        return InputError(
            f"{what} is cut off or not JSON", hint=f"Write it again. {_MAKE_ONE}", detail=str(error)
        )
    if head.lineage or head.values:
        return InputError(f"{what} is a state, not a plan", hint=_MAKE_ONE)
    if not isinstance(head.format_version, str):
        return InputError(f"{what} is not a plan: it has no format_version", hint=_MAKE_ONE)
    if head.format_version.partition(".")[0] != "1":
        return InputError(
            f"{what} has format version {head.format_version}; only 1.x can be read",
            hint="Use a Terraform version that writes plan format 1, or a newer groundplan.",
        )
    return InputError(f"{what} is not a plan{f': {problem}' if problem else ''}", hint=_MAKE_ONE)


def _modules(address: str) -> tuple[str, ...]:
    """``module.env["ml.prod"].module.child`` → ``("env", "child")``: calls, not instances."""
    return tuple(match.group(1) for match in _MODULE.finditer(address))


def _configured(module: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, module
    for name, call in module.get("module_calls", {}).items():
        yield from _configured(call.get("module", {}), (*path, name))


@contextlib.contextmanager
def paused_gc() -> Iterator[None]:
    """Working on a plan makes many objects and no cycles: looking for cycles would triple the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
