"""Objects that a stack would make and that exist already: which there are, and taking them into the state.

Only the provider can tell whether an object exists. It is asked by a plan with an import block for each
object that would be made: Terraform refuses a plan that imports something that is not there, with one error
for each such object. These are left out, and it is asked again until all that is left exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from groundplan.engines.terraform.events import Diagnostic
from groundplan.engines.terraform.known_errors import explain
from groundplan.engines.terraform.runner import RunError
from groundplan.engines.terraform.session import Session, StackPlan, StacksFailed
from groundplan.facts.import_ids import import_id
from groundplan.facts.schema import resource_type
from groundplan.modules.graph import Graph, Import, Stack
from groundplan.plans.model import Action, Change, Plan

_NOT_THERE = "Cannot import non-existent remote object"
#: Terraform's own words name the address, the stand-in's the type and the id.
_ADDRESS = re.compile(r'existing object to "([^"]+)"')
_OBJECT = re.compile(rf"{_NOT_THERE}: (\S+) (.+)")
NO_ID = "its id is not known before the apply"
#: Errors after which it is clear that there is nothing, or that it cannot be seen: names in ``known_errors``.
_HIDDEN = ("api-disabled", "permission")


@dataclass(slots=True)
class Search:
    """What was found.

    Attributes:
        plan: the plan that imports all that exists; None if nothing does.
        existing: address → id of what exists already.
        missing: addresses of what does not exist.
        unknown: address → why it cannot be known.
    """

    plan: StackPlan | None = None
    existing: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)


def candidates(plan: Plan, graph: Graph) -> dict[str, str]:
    """Address → import id of everything that a plan would make; empty ids where only Google knows them."""
    return {
        change.address: predicted_id(change, graph)
        for change in plan.changes
        if change.mode == "managed" and change.action is Action.CREATE
    }


def predicted_id(change: Change, graph: Graph) -> str:
    """The id by which the object of a planned resource would be imported; empty if it cannot be known yet."""
    defaults: Mapping[str, str | None] = {"project": graph.project, "region": graph.region}

    def lookup(attribute: str) -> str:
        path = attribute.replace("condition.", "condition[0].")
        value = change.after[path]
        return str(value.raw) if value.is_known else defaults.get(attribute) or ""

    return import_id(resource_type(change.type, "google-beta"), lookup)


def search(session: Session, stack: Stack, wanted: Mapping[str, str]) -> Search:
    """Ask which of the objects that a stack would make exist already. Nothing is changed.

    Args:
        session: an open session.
        stack: the stack; its graph gets import blocks for what exists.
        wanted: address → id of what to ask for.

    Raises:
        StacksFailed: the stack cannot be planned for another reason.
    """
    found = Search(existing={address: id_ for address, id_ in wanted.items() if id_})
    found.unknown = dict.fromkeys((a for a, id_ in wanted.items() if not id_), NO_ID)
    while found.existing:
        graph = stack.graph
        graph.imports[:] = [Import(graph[address], id_) for address, id_ in found.existing.items()]
        try:
            (found.plan,) = session.plan([stack])
            return found
        except StacksFailed as failed:
            _leave_out(found, stack, failed)
    stack.graph.imports.clear()
    return found


def _leave_out(found: Search, stack: Stack, failed: StacksFailed) -> None:
    """Move what the failed plan says is not there, and everything inside of it.

    Raises:
        StacksFailed: the plan failed for another reason.
    """
    error = failed.errors[stack.name]
    diagnostics = error.diagnostics if isinstance(error, RunError) else ()
    before = len(found.existing)
    for diagnostic in diagnostics:
        address = _about(diagnostic, found.existing, stack.graph)
        known = explain(f"{diagnostic.summary} {diagnostic.detail}")
        if address is None:
            continue
        if _NOT_THERE in diagnostic.summary or "Error 404" in diagnostic.summary:
            found.missing.append(address)
        elif known is not None and known.name in _HIDDEN:
            found.unknown[address] = known.meaning
        else:
            continue
        gone = found.existing.pop(address)
        inside = [other for other, id_ in found.existing.items() if id_.startswith(f"{gone}/")]
        for other in inside:
            found.missing.append(other)
            del found.existing[other]
    if len(found.existing) == before:
        raise failed


def _about(diagnostic: Diagnostic, wanted: Iterable[str], graph: Graph) -> str | None:
    """The address that an error is about, if it is one of those that were asked for."""
    named = _ADDRESS.search(diagnostic.detail)
    address = named[1] if named else diagnostic.address
    told = _OBJECT.search(diagnostic.summary)
    if told:
        ids = {(i.to.type, i.id): i.to.address for i in graph.imports}
        address = ids.get((told[1], told[2].strip()), address)
    return address if address in set(wanted) else None
