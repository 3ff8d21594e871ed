"""``groundplan import``: what exists already comes into the state instead of being made."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundplan.cli import runs, trust
from groundplan.cli.options import blueprint_option, environments, output_options, run_options
from groundplan.cli.output import Output
from groundplan.cli.project import Project
from groundplan.cli.runs import Run, Shown
from groundplan.errors import EngineError, UsageError
from groundplan.plans.words import counted

if TYPE_CHECKING:
    from groundplan.engines.terraform.adoption import Search
    from groundplan.modules.graph import Stack


@dataclass(frozen=True)
class Found:
    """What exists of one stack: what the provider said, and what a plan that adopts it would do to it."""

    stack: Stack
    search: Search
    shown: Shown | None

    @property
    def existing(self) -> dict[str, str]:
        """Address → id."""
        return self.search.existing


@click.command("import", short_help="Take over what exists already instead of making it.")
@environments(required=True)
@click.option("--address", metavar="ADDRESS", help="Only this resource, as `plan --resources` shows it.")
@click.option("--id", "id_", metavar="ID", help="Its id, where it does not follow from the blueprint.")
@click.option("--resources", is_flag=True, help="Also list Terraform's addresses and the ids.")
@click.option("--auto-approve", is_flag=True, help="Do not ask.")
@trust.options(trust.LOCK_TIMEOUT)
@run_options
@blueprint_option
@output_options
def import_(
    names: tuple[str, ...],
    address: str | None,
    id_: str | None,
    resources: bool,
    auto_approve: bool,
    offline: bool,
    engine_binary: Path | None,
    work_dir: Path | None,
    blueprint: str | None,
    output: Output,
) -> None:
    """Find what exists already under the names that the blueprint gives, show it, ask, and adopt it.

    Only the state changes, nothing in Google Cloud. The plan at the end says what is still to be made, and
    where an adopted thing is not as the blueprint says: the next apply would change that.

    \b
    Example:
      groundplan import ml-dev --offline
    """
    if id_ and not address:
        raise UsageError("--id needs --address")
    project = Project.load(blueprint, output, offline=offline, work_dir=work_dir)
    stacks = project.stacks(project.select(names))
    if address:
        require_address(stacks, address)
    with runs.opened(project, stacks, output, engine_binary=engine_binary) as run:
        if project.write_lock():
            output.say(f"{project.lock_path}: address ranges written; commit the file.")
        found = [look(run, shown, address, id_) for shown in run.plan(stacks)]
        if not output.as_json:
            show(run, found, resources=resources)
        number = sum(len(one.existing) for one in found)
        if number:
            runs.confirm(f"Adopt {counted(number, 'resource')}?", auto_approve=auto_approve)
            for one in found:
                adopt(run, one)
        after = run.plan(project.stacks([stack.name for stack in stacks]))
    report(run, found, after)


def require_address(stacks: Sequence[Stack], address: str) -> None:
    """One stack is named, and has the resource.

    Raises:
        UsageError: otherwise.
    """
    if len(stacks) > 1:
        raise UsageError("--address is about one environment: name only that")
    graph = stacks[0].graph
    if address not in graph:
        close = difflib.get_close_matches(address, [one.address for one in graph], n=1)
        hint = f"Did you mean {close[0]}?" if close else "`groundplan plan --resources` shows them."
        raise UsageError(f"{stacks[0].name} has no resource {address}", hint=hint)


def look(run: Run, shown: Shown, address: str | None, id_: str | None) -> Found:
    """Ask the provider which of the things that a plan would make exist already.

    Args:
        run: the run.
        shown: the plan.
        address: only this resource; None for all.
        id_: its id; None if it follows from the plan.

    Raises:
        UsageError: the resource that was named is in the state already.
        EngineError: the object that was named does not exist.
    """
    from groundplan.engines.terraform.adoption import candidates, search

    stack = shown.stack
    wanted = candidates(shown.plan, stack.graph)
    if address:
        if address not in wanted:
            raise UsageError(f"{address} is in the state of {stack.name} already")
        wanted = {address: id_ or wanted[address]}
    run.output.say(f"{stack.name}: looking for what exists already")
    found = search(replace(run.session, on_event=lambda _stack, _event: None), stack, wanted)
    if address and address not in found.existing:
        why = found.unknown.get(address, f"nothing has the id {wanted[address]}")
        raise EngineError(f"nothing was changed: {address}: {why}", hint="Give its id with --id.")
    return Found(stack, found, _only(run, stack, found))


def _only(run: Run, stack: Stack, found: Search) -> Shown | None:
    """The part of the plan that adopts; None if nothing exists."""
    import msgspec

    from groundplan.plans.summary import summarize

    if found.plan is None:
        return None
    shown = run.read(stack, found.plan)
    changes = tuple(change for change in shown.plan.changes if change.address in found.existing)
    plan = msgspec.structs.replace(shown.plan, changes=changes)
    summary = summarize(plan, run.header(stack.name), origins=runs.origins(stack))
    return replace(shown, plan=plan, summary=summary)


def show(run: Run, found: Sequence[Found], *, resources: bool) -> None:
    """Print what exists, and how it differs from the blueprint."""
    for one in found:
        if one.shown is None:
            run.output.result(f"{one.stack.name}: nothing of what it would make exists already\n")
            continue
        run.output.result(f"{one.stack.name}: {counted(len(one.existing), 'resource')} would be adopted\n")
        run.show([one.shown])
        if resources:
            width = max(map(len, one.existing))
            lines = (f"  = {address:<{width}}  {id_}" for address, id_ in one.existing.items())
            run.output.result("\n".join(lines) + "\n")


def adopt(run: Run, one: Found) -> None:
    """Take what exists of one stack into its state, one by one; the state is saved before.

    Raises:
        EngineError: one cannot be imported; those before it are adopted.
    """
    from groundplan.engines.terraform.backups import back_up
    from groundplan.engines.terraform.recovery import stored_state

    stack, session = one.stack, run.session
    back_up(session.workspace.root(stack.name).path, stored_state(session, stack))
    stack.graph.imports.clear()
    session.prepare([stack])
    terraform = session.terraform(stack.name)
    for number, (address, id_) in enumerate(one.existing.items()):
        run.output.say(f"{stack.name}: adopting {address}")
        try:
            terraform.import_(address, id_, lock_timeout_seconds=session.lock_timeout_seconds)
        except EngineError as error:
            raise EngineError(
                f"{address} could not be adopted: {error.message}",
                hint=f"Adopted before it: {number} of {len(one.existing)}. {error.hint}",
                detail=error.detail,
            ) from error


def report(run: Run, found: Sequence[Found], after: Sequence[Shown]) -> None:
    """What was adopted, and what is left to do."""
    output = run.output
    if output.as_json:
        output.document({"stacks": [as_json(one, shown) for one, shown in zip(found, after, strict=True)]})
        return
    for one in found:
        if one.existing:
            output.result(f"{one.stack.name}: adopted {counted(len(one.existing), 'resource')}")
        for address, why in one.search.unknown.items():
            output.say(f"{one.stack.name}: {address} was not looked for: {why}")
    output.result("\nWhat is left to do:\n")
    run.show(after)


def as_json(one: Found, after: Shown) -> dict[str, Any]:
    """What ``--json`` prints of one stack."""
    from groundplan.plans.differences import differences

    changes = one.shown.plan.by_address if one.shown else {}
    adopted = [
        {"address": address, "id": id_, "differs": [one.path for one in differences(changes[address])]}
        for address, id_ in one.existing.items()
    ]
    unknown = [{"address": address, "reason": why} for address, why in one.search.unknown.items()]
    return {
        "name": one.stack.name,
        "adopted": adopted,
        "missing": one.search.missing,
        "unknown": unknown,
        "plan": after.summary.as_json(),
    }
