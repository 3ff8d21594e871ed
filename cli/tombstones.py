"""Environments that are no longer in the blueprint: told wherever one plans, destroyed by tombstone.

Three steps, each seen before it is done: ``apply NAME`` takes protection away where there is any, ``destroy
NAME`` destroys what its stack made, and ``apply foundation`` gives up its project and folder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundplan.cli import runs, trust
from groundplan.cli.output import Output
from groundplan.cli.project import FOUNDATION, Project
from groundplan.cli.runs import Run, Shown
from groundplan.errors import EngineError, InputError, PolicyError, UsageError
from groundplan.plans.model import Action
from groundplan.plans.words import counted

if TYPE_CHECKING:
    from groundplan.cli.apply import Done
    from groundplan.engines.terraform.leftovers import Held
    from groundplan.modules.graph import Stack


def left(project: Project) -> dict[str, Held | None]:
    """Stacks that were applied and are not in the blueprint any more, with what they hold.

    The work files tell it where states are files. Of states in a bucket the lock file tells which there may
    be; what they hold is not known (None).
    """
    from groundplan.engines.terraform.leftovers import leftovers
    from groundplan.modules.graph import GcsState
    from groundplan.stacks.state import state

    known, mode = project.stack_names, "offline" if project.offline else "run"
    found: dict[str, Held | None] = dict(
        leftovers(project.work_directory / mode, project.blueprint.name, known)
    )
    if not project.offline and isinstance(state(project.blueprint, FOUNDATION), GcsState):
        found |= {name: None for name in project.committed.environments if name not in known}
    return found


def tell(project: Project, output: Output) -> None:
    """Warn of what is left of stacks that are not in the blueprint any more."""
    for name, held in left(project).items():
        if name in project.blueprint.removed:
            output.say(f"{name} has a tombstone: {_command('destroy', name)}")
        else:
            output.warn(f"warning: {_gone(name, held)}\n  = {_advice(name, held)}")


def split(project: Project, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The environments that left the file among those that a person named, and the others.

    Raises:
        UsageError: there is something left of one, and no tombstone.
    """
    removed = [name for name in names if name in project.blueprint.removed]
    others = [name for name in names if name not in removed]
    unknown = [name for name in others if name not in project.stack_names]
    found = left(project) if unknown else {}
    for name in unknown:
        if name in found:
            raise UsageError(_gone(name, found[name]), hint=_advice(name, found[name]))
    return removed, others


def stacks(project: Project, names: Iterable[str]) -> list[Stack]:
    """The stacks of environments that left the file, as they are destroyed: without configuration."""
    from groundplan.stacks.tombstones import tombstone

    return [tombstone(project.blueprint, name) for name in names]


def check(run: Run, removed: Sequence[Stack]) -> None:
    """Compare each tombstone with the state that it is for.

    Raises:
        InputError: it confirms another project than the one that the state's resources are in.
    """
    run.session.prepare(removed)
    for stack in removed:
        confirmed, project = run.project.blueprint.removed[stack.name].confirm, _held(run, stack).project
        if project and confirmed != project:
            raise InputError(
                f"nothing was changed: the tombstone of {stack.name} confirms {confirmed}, but its resources "
                "are in another project",
                hint=f"If that is meant: `removed: {{{stack.name}: {{confirm: {project}}}}}`.",
            )


def refuse_protected(shown: Sequence[Shown]) -> None:
    """Refuse to destroy what a removed environment still protects.

    Raises:
        PolicyError: with everything that is protected.
    """
    from groundplan.policies.protection import protected

    findings = [
        (one.stack.name, finding)
        for one in shown
        for finding in protected(one.plan, environment_protected=_was_protected(one))
    ]
    if findings:
        names = " ".join(dict.fromkeys(name for name, _ in findings))
        raise PolicyError(
            f"refused, nothing was changed: {counted(len(findings), 'protected thing')} would be destroyed",
            hint=f"Two steps: `groundplan apply {names}` takes protection away; then destroy.",
            detail="\n".join(f"{name}: {finding}" for name, finding in findings),
        )


def refuse_unburied(run: Run, shown: Sequence[Shown]) -> None:
    """The foundation gives an environment up only with a tombstone, and after its own stack was destroyed.

    Nor does it replace a project: everything in it would go, and the states still tell of it.

    Raises:
        PolicyError: it would do so otherwise; says for each environment what to do first.
    """
    from groundplan.stacks.tombstones import departed

    project = run.project
    removed, reasons = project.blueprint.removed, []
    for one in shown:
        if one.stack.name != FOUNDATION:
            continue
        for change in one.plan.of_type("google_project"):
            if change.action is Action.REPLACE:
                ids = f"{change.before['project_id']} by {change.after['project_id']}"
                reasons.append(
                    f"{change.name}: its project would be replaced, {ids}, with everything in it: take the "
                    "environment out with a tombstone, destroy it, and put it back"
                )
        for gone in departed(one.plan, project.blueprint.environments):
            name, tombstone = gone.name, removed.get(gone.name)
            if tombstone is None:
                advice = f"put it back, or write `removed: {{{name}: {{confirm: {gone.project}}}}}`"
            elif gone.project and tombstone.confirm != gone.project:
                advice = f"its tombstone confirms {tombstone.confirm}"
            elif name in left(project):
                advice = f"its own resources come first: {_command('destroy', name)}"
            else:
                continue
            owned = f"google_project.{name}" in gone.addresses
            what = f"its {'project' if owned else 'identities in the project'} {gone.project}"
            reasons.append(f"{name} is not in the blueprint, and {what} would go: {advice}")
    if reasons:
        raise PolicyError(
            f"refused, {trust.so_far()}: the foundation would give up {counted(len(reasons), 'environment')}",
            hint="A project goes only by tombstone, and what is in it before.",
            detail="\n".join(reasons),
        )


def lift(
    project: Project, names: Sequence[str], output: Output, engine_binary: Path | None, *, auto_approve: bool
) -> tuple[Run, list[Done]]:
    """Take protection away from removed environments, and from their projects in the foundation.

    Returns:
        The run, which is over, and what was done.

    Raises:
        EngineError: the configuration of the last apply is not here, or not what the state is made from.
    """
    from groundplan.cli.apply import apply_one
    from groundplan.stacks.tombstones import size

    removed = stacks(project, names)
    founded = project.stacks([FOUNDATION]) if project.blueprint.foundation else []
    trust.current().verify = False  # only the attributes that protect are applied
    with runs.opened(project, [*removed, *founded], output, engine_binary=engine_binary) as run:
        check(run, removed)
        shown = _lifting(run, removed, founded)
        if not output.as_json:
            run.show(shown)
        trust.confirm(run, shown, "Take protection away from", auto_approve=auto_approve)
        with run.progress.shown():
            done = [
                dataclasses.replace(apply_one(run, one), resources=size(one.stack.written or {}))
                for one in shown
            ]
    for name in names:
        output.say(f"Nothing of {name} is protected any more. Next: {_command('destroy', name)}")
    return run, done


def bury(run: Run, removed: Sequence[Stack]) -> None:
    """Forget in the lock file what was destroyed by tombstone; say what comes next."""
    from groundplan.blueprints.lock import read_lock, write_lock

    project = run.project
    path = project.learned_path if project.offline else project.lock_path
    lock = read_lock(path)
    for stack in removed:
        lock = lock.without_environment(stack.name)
        then = f" Its project: {_command('apply', FOUNDATION)}" if project.blueprint.foundation else ""
        run.output.say(f"Nothing is left in the stack of {stack.name}.{then}")
    if path.exists():
        write_lock(path, lock)
    project.forget_lock()


def _lifting(run: Run, removed: Sequence[Stack], founded: Sequence[Stack]) -> list[Shown]:
    """Plans that do nothing but take protection away; none where nothing is protected.

    Raises:
        EngineError: a plan would do more, or cannot be made.
    """
    from groundplan.engines.terraform.leftovers import recorded
    from groundplan.stacks.tombstones import lifted, only_lifts

    found = []
    for stack in [*removed, *founded]:
        written = recorded(run.session.workspace.root(stack.name))
        if written is None:
            if stack.name != FOUNDATION and _held(run, stack).resources:
                raise _not_here(stack, "is not here")
            continue
        names = [other.name for other in removed] if stack.name == FOUNDATION else None
        free, addresses = lifted(written, names)
        if not addresses:
            continue
        (one,) = run.plan([dataclasses.replace(stack, written=free)], targets=addresses)
        if not only_lifts(one.plan):
            raise _not_here(stack, "is not what its state is made from")
        if one.raw.changes:
            found.append(one)
    return found


def _not_here(stack: Stack, why: str) -> EngineError:
    return EngineError(
        f"nothing was changed: the last configuration of {stack.name} among these work files {why}",
        hint="Run it where it was applied last. Or put the environment back into the blueprint with "
        "`protect: false`, apply, and take it out again.",
    )


def _held(run: Run, stack: Stack) -> Held:
    from groundplan.engines.terraform.leftovers import held
    from groundplan.engines.terraform.recovery import stored_state

    return held(stored_state(run.session, stack))


def _was_protected(one: Shown) -> bool:
    """Whether the environment was: then its buckets refuse to go with what is in them."""
    buckets = one.plan.of_type("google_storage_bucket")
    return any(bucket.deletes and bucket.before["force_destroy"].raw is False for bucket in buckets)


def _gone(name: str, held: Held | None) -> str:
    what = "the foundation" if name == FOUNDATION else f"environment {name}"
    if held is None:
        return f"{what} is gone from the blueprint; if it was applied, nothing manages its resources"
    return f"{what} is gone from the blueprint: {counted(held.resources, 'resource')} left behind unmanaged"


def _advice(name: str, held: Held | None) -> str:
    if name == FOUNDATION:
        return "Put `foundation:` back, and destroy it while it is in the file."
    confirm = held.project if held and held.project else "PROJECT"
    never = "" if held else ". If it never was applied: groundplan lock --prune"
    return (
        f"Put it back, or leave a tombstone, `removed: {{{name}: {{confirm: {confirm}}}}}`, and destroy it: "
        f"{_command('destroy', name)}{never}"
    )


def _command(verb: str, *words: str) -> str:
    """A command that goes on from here, with the options of the present one."""
    from groundplan.cli.failure import command

    return command(verb=verb, names=words)
