"""``groundplan apply`` and ``groundplan destroy``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from groundplan.cli import administration, runs, tombstones, trust
from groundplan.cli.options import blueprint_option, environments, output_options, run_options
from groundplan.cli.output import Output
from groundplan.cli.project import FOUNDATION, Project
from groundplan.cli.runs import Run, Shown
from groundplan.errors import PolicyError, UsageError


@dataclass(frozen=True)
class Done:
    """One stack that was brought to what the blueprint says (or away)."""

    name: str
    resources: int
    changed: int
    seconds: float


@click.command(short_help="Plan, show, ask, and apply.")
@environments()
@click.option("--all", "every", is_flag=True, help="The foundation and all environments.")
@click.option("--auto-approve", is_flag=True, help="Do not ask.")
@click.option(
    "--plan",
    "bundles",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Apply the bundles in DIR (`plan --out DIR`) as they are, or say why they do not fit any more.",
)
@trust.options(trust.NO_VERIFY, trust.ALLOW_LOSS, trust.LOCK_TIMEOUT, trust.ADOPT)
@run_options
@blueprint_option
@output_options
def apply(
    names: tuple[str, ...],
    every: bool,
    auto_approve: bool,
    bundles: Path | None,
    offline: bool,
    engine_binary: Path | None,
    work_dir: Path | None,
    blueprint: str | None,
    output: Output,
) -> None:
    """Plan, show, ask, and apply: the foundation first, then environments in the order of their tiers.

    The first failure stops it. What is protected is neither destroyed nor replaced; write `protect: false`
    and apply first. With --plan nothing is asked: the plan was looked at before.

    \b
    Example:
      groundplan apply ml-dev --offline
      groundplan apply --all --offline --auto-approve
    """
    if not (offline or bundles):
        runs.require_names(names, every, "a real apply")
    project = Project.load(blueprint, output, offline=offline, work_dir=work_dir)
    if bundles:
        from groundplan.cli.bundles import apply_bundles

        run, done = apply_bundles(project, bundles, names, output, engine_binary)
    else:
        run, done = apply_anew(project, names, output, engine_binary, auto_approve=auto_approve)
    report(run, done, "Applied")


def apply_anew(
    project: Project,
    names: Sequence[str],
    output: Output,
    engine_binary: Path | None,
    *,
    auto_approve: bool,
) -> tuple[Run, list[Done]]:
    """Plan, show, ask and apply; the run, which is over, and what was done."""
    removed, others = tombstones.split(project, names)
    if removed:
        if others:
            raise UsageError(f"apply {', '.join(removed)} alone: it is no longer in the blueprint")
        return tombstones.lift(project, removed, output, engine_binary, auto_approve=auto_approve)
    tombstones.tell(project, output)
    chosen = project.select(names)
    stacks = project.stacks(chosen)
    trust.check_adoptions(stacks)
    done: list[Done] = []
    with runs.opened(project, stacks, output, engine_binary=engine_binary) as run:
        if project.write_lock():
            output.say(f"{project.lock_path}: address ranges written; commit the file.")
        for stage in stages(chosen):
            # What the foundation learns (project numbers) is part of the environments' stacks.
            shown = run.plan(trust.adopting(run, project.stacks(stage)))
            done += apply_stage(run, shown, auto_approve=auto_approve)
            if FOUNDATION in stage:
                learn(run)
    return run, done


def stages(names: Sequence[str]) -> list[list[str]]:
    """The foundation by itself, then everything that stands on it."""
    first = [name for name in names if name == FOUNDATION]
    rest = [name for name in names if name != FOUNDATION]
    return [stage for stage in (first, rest) if stage]


def apply_stage(run: Run, shown: Sequence[Shown], *, auto_approve: bool) -> list[Done]:
    """Show plans, refuse what must not happen, ask once, apply one after the other.

    Raises:
        PolicyError: something protected would be destroyed or replaced; nothing was applied.
        EngineError: an apply failed; what was done before it is reported first.
    """
    if not run.output.as_json:
        run.show(shown)
    refuse_protected(run, shown)
    trust.confirm(run, shown, "Apply", auto_approve=auto_approve)
    done: list[Done] = []
    with run.progress.shown():
        for one in shown:
            done.append(apply_one(run, one))
    return done


def apply_one(run: Run, one: Shown) -> Done:
    """Apply one plan.

    Raises:
        EngineError: it failed.
        Interrupted: the person stopped it.
    """
    began = time.monotonic()
    if one.raw.changes:
        trust.apply(run, one)
    resources = sum(resource.mode == "managed" for resource in one.stack.graph)
    return Done(
        one.stack.name, resources, one.summary.resources.total, one.raw.seconds + time.monotonic() - began
    )


def refuse_protected(run: Run, shown: Sequence[Shown]) -> None:
    """Deletion protection is not atomic: Terraform would delete everything up to the first refusal.

    Raises:
        PolicyError: with everything that is protected and would be destroyed or replaced.
    """
    from groundplan.policies.protection import protected

    tombstones.refuse_unburied(run, shown)
    administration.refuse_loss(run, shown)
    environments = run.project.blueprint.environments
    findings = [
        f"{one.stack.name}: {finding}"
        for one in shown
        for finding in protected(
            one.plan,
            origins=runs.origins(one.stack),
            environment_protected=one.stack.name in environments and environments[one.stack.name].protect,
        )
    ]
    if findings:
        raise PolicyError(
            f"refused, {trust.so_far()}: {len(findings)} protected "
            f"thing{'s' if len(findings) > 1 else ''} would be destroyed or replaced",
            hint="Two steps: write `protect: false` for the environment and apply, then do this."
            + trust.keeping(shown),
            detail="\n".join(findings),
        )


def learn(run: Run) -> None:
    """Keep what the foundation made known: project numbers, folders and access policies.

    A real apply writes the lock file. Offline the numbers are made up, so they stay among the work files.
    """
    from groundplan.blueprints.lock import read_lock, write_lock

    project = run.project
    if not project.offline:
        run.session.prepare(project.stacks([FOUNDATION]))  # now at the latest its state is in its bucket
    output = run.session.terraform(FOUNDATION).output()
    path = project.learned_path if project.offline else project.lock_path
    lock = read_lock(path)
    folders, policies = output.get("folders", {}), output.get("access_policies", {})
    for name, number in output.get("project_numbers", {}).items():
        kept = lock.environment(name)
        news = {
            "project_number": str(number),
            "folder": folders.get(name),
            "access_policy": policies.get(name) or kept.access_policy,
        }
        lock = lock.with_environment(name, kept.model_copy(update=news))
    if write_lock(path, lock) and not project.offline:
        run.output.say(f"{path}: project numbers and folders written; commit the file.")
    project.forget_lock()


def report(run: Run, done: Sequence[Done], verb: str) -> None:
    """The closing table: each stack with its resources and how long it took."""
    from groundplan.facts.schema import index

    output = run.output
    if output.as_json:
        output.document(
            {
                "engine": str(run.engine),
                "offline": run.project.offline,
                "stacks": [
                    {
                        "name": d.name,
                        "resources": d.resources,
                        "changed": d.changed,
                        "seconds": round(d.seconds, 1),
                    }
                    for d in done
                ],
            }
        )
        return
    width = max((len(d.name) for d in done), default=0)
    for d in done:
        change = f"{d.changed} changed" if d.changed else "no changes"
        output.result(f"  {d.name:<{width}}  {d.resources:>4} resources  {change:>12}  {d.seconds:5.1f} s")
    if run.project.offline:
        facts = f"Facts: google {index().provider_version}."
        output.result(f"{verb} offline with {run.engine}; no account, no network. {facts}")
    else:
        output.result(f"{verb} with {run.engine}.")


@click.command(short_help="Destroy environments; protected ones are refused.")
@environments()
@click.option("--all", "every", is_flag=True, help="All environments, and the foundation last.")
@click.option("--auto-approve", is_flag=True, help="Do not ask.")
@trust.options(trust.ALLOW_LOSS, trust.LOCK_TIMEOUT)
@run_options
@blueprint_option
@output_options
def destroy(
    names: tuple[str, ...],
    every: bool,
    auto_approve: bool,
    offline: bool,
    engine_binary: Path | None,
    work_dir: Path | None,
    blueprint: str | None,
    output: Output,
) -> None:
    """Destroy everything in the named environments, production first, the foundation last.

    Before anything starts, groundplan looks for everything that is protected and refuses whole. To destroy
    it, write `protect: false`, apply, and destroy then.

    \b
    Example:
      groundplan destroy ml-dev --offline --auto-approve
    """
    runs.require_names(names, every, "destroy")
    project = Project.load(blueprint, output, offline=offline, work_dir=work_dir)
    gone, others = tombstones.split(project, names)
    tombstones.tell(project, output)
    if every:
        gone = [name for name in tombstones.left(project) if name in project.blueprint.removed]
    removed = tombstones.stacks(project, gone)
    stacks = project.stacks(project.select(others) if others or every else [])[::-1]
    done: list[Done] = []
    with runs.opened(project, [*removed, *stacks], output, engine_binary=engine_binary) as run:
        tombstones.check(run, removed)
        shown = run.plan([*removed, *stacks], destroy=True)
        if not output.as_json:
            run.show(shown)
        tombstones.refuse_protected(shown[: len(removed)])
        refuse_protected(run, shown[len(removed) :])
        trust.confirm(run, shown, "Destroy", auto_approve=auto_approve)
        with run.progress.shown():
            for one in shown:
                done.append(apply_one(run, one))
        tombstones.bury(run, removed)
    report(run, [Done(d.name, d.changed, d.changed, d.seconds) for d in done], "Destroyed")
