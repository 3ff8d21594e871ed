"""After an apply that did not come to its end: what exists now, what does not, and what it takes to go on."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from groundplan.engines.terraform.events import Diagnostic, Event, ResourceEvent, parse
from groundplan.engines.terraform.known_errors import explain
from groundplan.engines.terraform.local_state import is_local
from groundplan.engines.terraform.offline.templates import fill
from groundplan.engines.terraform.process import Interrupt
from groundplan.engines.terraform.session import Session
from groundplan.engines.terraform.state import identity
from groundplan.errors import GroundplanError
from groundplan.facts.import_ids import import_id
from groundplan.modules.graph import Graph, Reference, Resource, Stack, Text
from groundplan.plans.model import Action, Change, Plan

#: What is seen in the state; ``NO_OP`` is an import.
_COMES, _GOES = (Action.CREATE, Action.MOVE, Action.NO_OP), (Action.DELETE, Action.FORGET)
#: A resource's operation in Terraform's events; a replacement has two, its creation counts.
_EVENT_ACTION = {Action.UPDATE: "update", Action.REPLACE: "create"}


@dataclass(frozen=True, slots=True)
class Standing:
    """How far an apply came. Each change of the plan is in exactly one of the lists.

    Attributes:
        done: what was asked for is so.
        half_made: the object exists, but its creation failed; Terraform replaces it in the next apply.
        unrecorded: the engine said that it made the object, but the state that was saved does not know it.
        uncertain: the engine or the provider ended, or gave up waiting, while it was being made: the object
            may exist.
        open: not done.
        ids: address → id, of the unrecorded ones.
        from_state: the state could be read; else all of this is from what the engine said.
    """

    done: tuple[Change, ...] = ()
    half_made: tuple[Change, ...] = ()
    unrecorded: tuple[Change, ...] = ()
    uncertain: tuple[Change, ...] = ()
    open: tuple[Change, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
    from_state: bool = True

    @property
    def total(self) -> int:
        """How many changes the plan has."""
        lists = (self.done, self.half_made, self.unrecorded, self.uncertain, self.open)
        return sum(map(len, lists))


def standing(plan: Plan, events: Iterable[Event], state: bytes | None) -> Standing:
    """How far an apply of ``plan`` came.

    Args:
        plan: what was applied.
        events: what the engine said while it applied.
        state: the state now; None if it cannot be read.
    """
    told = _Told(events)
    recorded = None if state is None else _recorded(state)
    lists: dict[str, list[Change]] = {}
    for change in plan.actual:
        lists.setdefault(_list_of(change, told, recorded), []).append(change)
    return Standing(
        **{name: tuple(found) for name, found in lists.items()},
        ids={change.address: told.ids[change.address] for change in lists.get("unrecorded", ())},
        from_state=state is not None,
    )


class _Told:
    """What the engine said: what it completed, what it never came back to, and the ids of objects."""

    def __init__(self, events: Iterable[Event]) -> None:
        started: set[tuple[str, str]] = set()
        ended: set[tuple[str, str]] = set()
        self.completed: set[tuple[str, str]] = set()
        self.ids: dict[str, str] = {}
        given_up: set[str] = set()
        for event in events:
            if isinstance(event, Diagnostic):
                known = explain(f"{event.summary} {event.detail}")
                if known and known.uncertain:
                    given_up.add(event.address)
            if not isinstance(event, ResourceEvent):
                continue
            operation = (event.address, event.action)
            if event.kind == "apply_start":
                started.add(operation)
            elif event.kind in ("apply_complete", "apply_errored"):
                ended.add(operation)
            if event.kind == "apply_complete":
                self.completed.add(operation)
                self.ids[event.address] = event.id
        self.cut_off = given_up | {address for address, _ in started - ended}


def _list_of(change: Change, told: _Told, recorded: Mapping[str, str] | None) -> str:
    """The name of the list in ``Standing``.

    What comes and goes is seen in the state; what changes is known from the events only.
    """
    address, action = change.address, change.action
    completed = (address, _EVENT_ACTION.get(action, action.value)) in told.completed
    if recorded is not None and action in _COMES:
        if recorded.get(address) == "tainted":
            return "half_made"
        if address in recorded:
            return "done"
        if completed:
            return "unrecorded"
    elif recorded is not None and action in _GOES and address not in recorded:
        return "done"
    elif recorded is not None and recorded.get(address) == "tainted":
        return "half_made"
    elif completed:
        return "done"
    made = action in (Action.CREATE, Action.REPLACE)
    return "uncertain" if made and address in told.cut_off else "open"


class _Instance(msgspec.Struct):
    status: str = ""
    deposed: str = ""


class _Recorded(msgspec.Struct):
    mode: str
    type: str
    name: str
    instances: list[_Instance] = []


class _State(msgspec.Struct):
    resources: list[_Recorded] = []


def _recorded(state: bytes) -> dict[str, str]:
    """Address → ``tainted`` or nothing, of the managed resources in a stored state."""
    if not state.strip():
        return {}
    return {
        f"{resource.type}.{resource.name}": instance.status
        for resource in msgspec.json.decode(state, type=_State).resources
        for instance in resource.instances
        if resource.mode == "managed" and not instance.deposed
    }


def half_made(state: bytes) -> set[str]:
    """The addresses of objects whose creation failed midway: Terraform will replace them."""
    return {address for address, status in _recorded(state).items() if status == "tainted"}


def events_of(log: Path) -> list[Event]:
    """What the engine said, from the file that its output went to; nothing if there is no such file."""
    try:
        return [parse(line) for line in log.read_bytes().splitlines() if line.strip()]
    except OSError:
        return []


def cut_off(log: Path) -> set[str]:
    """Addresses that an engine was at work on when it, or its provider, ended; by its output in ``log``."""
    return _Told(events_of(log)).cut_off


def stored_state(session: Session, stack: Stack) -> bytes:
    """A stack's state as it is stored, also after the person asked to stop; empty if there is none.

    Raises:
        EngineError: it cannot be read.
    """
    if not is_local(session.workspace, stack):
        return dataclasses.replace(session.terraform(stack.name), interrupt=Interrupt()).state()
    path = session.workspace.root(stack.name).state
    return path.read_bytes() if path.exists() else b""


def state_after(session: Session, stack: Stack) -> bytes | None:
    """As ``stored_state``, but None if it cannot be read: a report must not fail."""
    try:
        content = stored_state(session, stack)
        identity(content)
    except (GroundplanError, OSError):
        return None
    return content


def only_google_knows(id_: str) -> bool:
    """Has an id of ``object_id`` a part in capitals?"""
    return re.search(r"\b[A-Z][A-Z_]{3,}\b", id_) is not None


def object_id(resource: Resource, graph: Graph) -> str:
    """The id under which a resource can be imported; parts that only Google knows are in capitals.

    It follows from the configuration alone, since after a failure there may be no plan that knows more.

    Args:
        resource: a resource of the graph.
        graph: its graph, which has the default project and region.
    """
    known = import_id(resource.schema, lambda name: _value(resource, name, graph))
    return known or fill(resource.schema.id, lambda name: _value(resource, name, graph) or name.upper())


def _value(resource: Resource, attribute: str, graph: Graph) -> str:
    """An attribute as text, as far as the configuration tells it; else empty."""
    value = resource.attributes.get(attribute)
    if value is None:
        return {"project": graph.project, "region": graph.region}.get(attribute) or ""
    if isinstance(value, Text):
        parts = [part if isinstance(part, str) else _referred(part, graph) for part in value.parts]
        return "".join(parts) if all(parts) else ""
    return _referred(value, graph) if isinstance(value, Reference) else str(value)


def _referred(reference: Reference, graph: Graph) -> str:
    if reference.attribute == "id":
        return object_id(reference.resource, graph)
    return _value(reference.resource, reference.attribute, graph)
