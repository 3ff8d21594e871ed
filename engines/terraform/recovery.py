"""After an apply that did not come to its end: what exists now, what does not, and what it takes to go on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from groundplan.engines.terraform.backups import is_local
from groundplan.engines.terraform.events import Event, ResourceEvent, parse
from groundplan.engines.terraform.offline.templates import fill
from groundplan.engines.terraform.process import Interrupt
from groundplan.engines.terraform.session import Session
from groundplan.engines.terraform.state import identity
from groundplan.errors import GroundplanError
from groundplan.modules.graph import Graph, Reference, Resource, Stack, Text
from groundplan.plans.model import Action, Change, Plan

#: A resource's operation in Terraform's events; a replacement has two, its creation counts.
_EVENT_ACTION = {Action.UPDATE: "update", Action.REPLACE: "create"}


@dataclass(frozen=True, slots=True)
class Standing:
    """How far an apply came. Each change of the plan is in exactly one of the lists.

    Attributes:
        done: what was asked for is so.
        half_made: the object exists, but its creation failed; Terraform replaces it in the next apply.
        uncertain: the engine or the provider ended while it was at work on it: the object may exist.
        open: not done.
        from_state: the state could be read; else all of this is from what the engine said.
    """

    done: tuple[Change, ...] = ()
    half_made: tuple[Change, ...] = ()
    uncertain: tuple[Change, ...] = ()
    open: tuple[Change, ...] = ()
    from_state: bool = True

    @property
    def total(self) -> int:
        """How many changes the plan has."""
        return len(self.done) + len(self.half_made) + len(self.uncertain) + len(self.open)


def standing(plan: Plan, events: Iterable[Event], state: bytes | None) -> Standing:
    """How far an apply of ``plan`` came.

    Args:
        plan: what was applied.
        events: what the engine said while it applied.
        state: the state now; None if it cannot be read.
    """
    told = [event for event in events if isinstance(event, ResourceEvent)]
    recorded = None if state is None else _recorded(state)
    started, ended = set(), set()
    for event in told:
        if event.kind == "apply_start":
            started.add((event.address, event.action))
        elif event.kind in ("apply_complete", "apply_errored"):
            ended.add((event.address, event.action))
    completed = {(event.address, event.action) for event in told if event.kind == "apply_complete"}
    cut_off = {address for address, _ in started - ended}
    lists: dict[str, list[Change]] = {"done": [], "half_made": [], "uncertain": [], "open": []}
    for change in plan.actual:
        if recorded and recorded.get(change.address) == "tainted":
            lists["half_made"].append(change)
        elif _is_done(change, completed, recorded):
            lists["done"].append(change)
        else:
            lists["uncertain" if change.address in cut_off else "open"].append(change)
    return Standing(**{name: tuple(found) for name, found in lists.items()}, from_state=state is not None)


def _is_done(change: Change, completed: set[tuple[str, str]], recorded: Mapping[str, str] | None) -> bool:
    """What comes and goes is seen in the state; what changes is known from the events only."""
    action = change.action
    if action in _EVENT_ACTION or recorded is None:
        return (change.address, _EVENT_ACTION.get(action, action.value)) in completed
    gone = action in (Action.DELETE, Action.FORGET)
    return (change.address not in recorded) if gone else (change.address in recorded)


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


def events_of(log: Path) -> list[Event]:
    """What the engine said, from the file that its output went to; nothing if there is no such file."""
    try:
        return [parse(line) for line in log.read_bytes().splitlines() if line.strip()]
    except OSError:
        return []


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


def object_id(resource: Resource, graph: Graph) -> str:
    """The id under which a resource can be imported; parts that only Google knows are in capitals.

    Args:
        resource: a resource of the graph.
        graph: its graph, which has the default project and region.
    """
    return fill(resource.schema.id, lambda name: _value(resource, name, graph) or name.upper())


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
