"""``plan --out`` and ``apply --plan``: saved plans, and why one does not fit any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundplan.cli import runs, trust
from groundplan.cli.apply import Done, apply_one, learn, refuse_protected
from groundplan.cli.output import Output
from groundplan.cli.project import FOUNDATION, Project
from groundplan.cli.runs import Run, Shown
from groundplan.errors import EngineError, InputError

if TYPE_CHECKING:
    from groundplan.engines.terraform.bundle.manifest import Basis
    from groundplan.engines.terraform.bundle.store import Bundle
    from groundplan.modules.graph import Stack

SHOWN_LINES = 20  # of how a new plan would differ, per stack


def write(run: Run, shown: Sequence[Shown], directory: Path) -> list[dict[str, Any]]:
    """Write a bundle for each plan; what ``--json`` prints about them.

    Raises:
        InputError: something else is there, or it cannot be written.
    """
    from groundplan.engines.terraform.bundle import store

    written = []
    for one in shown:
        bundle = store.write(directory, one.raw, basis(run, one.stack))
        written.append({"stack": one.stack.name, "path": str(bundle.path), "seal": bundle.manifest.seal})
    return written


def basis(run: Run, stack: Stack) -> Basis:
    """What a plan of this stack is made from now."""
    from groundplan.blueprints.lock import lock_text
    from groundplan.engines.terraform.bundle.manifest import present_basis

    project = run.project
    return present_basis(
        run.session,
        stack.name,
        blueprint=project.document.written.source.text.encode(),
        lock=lock_text(project.lock).encode(),
    )


def apply_bundles(
    project: Project, directory: Path, names: Sequence[str], output: Output, engine_binary: Path | None
) -> tuple[Run, list[Done]]:
    """Apply bundles as they are, the foundation first, then tier by tier; the first failure stops it.

    All of them are judged before the first is applied, so what the foundation teaches on the way does not
    count against the environments.

    Args:
        project: the blueprint they were made from.
        directory: the folder with the bundles.
        names: stacks; none means all bundles there are.
        output: how this run talks.
        engine_binary: the engine that the person named.

    Raises:
        InputError: a bundle is damaged, of the other mode, or what it was made from moved; nothing was done.
        PolicyError: something protected would be destroyed or replaced; nothing was done.
        EngineError: an apply failed; what was done before it is reported first.
    """
    from groundplan.engines.terraform.bundle.store import find

    bundles = find(directory, names)
    check(project, bundles, output)
    stacks = project.stacks(project.select(list(bundles)))
    trust.check_adoptions(stacks, saved=True)
    done: list[Done] = []
    with runs.opened(project, stacks, output, engine_binary=engine_binary) as run:
        run.session.prepare(stacks)
        refuse_moved(run, stacks, bundles)
        shown = [read(run, stack, bundles[stack.name]) for stack in stacks]
        if not output.as_json:
            run.show(shown)
        refuse_protected(run, shown)
        trust.confirm(run, shown, "Apply", auto_approve=True)
        if project.write_lock():
            output.say(f"{project.lock_path}: address ranges written; commit the file.")
        with run.progress.shown():
            for one in shown:
                done.append(apply_one(run, one))
                if one.stack.name == FOUNDATION:
                    learn(run)
    return run, done


def check(project: Project, bundles: Mapping[str, Bundle], output: Output) -> None:
    """What is wrong with bundles whatever has happened since.

    Raises:
        InputError: a bundle is of the other mode, or of a stack that the blueprint does not have.
    """
    mode, other = ("an offline", "a real") if project.offline else ("a real", "an offline")
    problems = [
        f"{bundle.path}: it is the plan of {other} run, and this is {mode} one"
        for bundle in bundles.values()
        if bundle.manifest.made_from.offline != project.offline
    ]
    problems += [
        f"{bundle.path}: {project.file} has no stack {name}"
        for name, bundle in bundles.items()
        if name not in project.stack_names
    ]
    if problems:
        raise InputError(
            "nothing was applied: a bundle is not for this",
            hint="What was planned with --offline is applied with --offline, and with the same blueprint.",
            detail="\n".join(problems),
        )
    for bundle in bundles.values():
        if bundle.exposed:
            output.warn(
                f"{bundle.path}: others may read the plan file, which holds sensitive values in clear: "
                f"chmod -R go= {bundle.path}"
            )


def read(run: Run, stack: Stack, bundle: Bundle) -> Shown:
    """A bundle's plan as the engine reads it, from a private copy that nobody can exchange any more.

    Raises:
        InputError: ``plan.json``, which was looked at, says something else than the plan file.
    """
    from groundplan.engines.terraform.bundle.comparison import same
    from groundplan.engines.terraform.bundle.store import MAKE_NEW, redacted_json
    from groundplan.engines.terraform.session import StackPlan
    from groundplan.engines.terraform.state import replace
    from groundplan.plans.model import read_plan

    path = run.session.workspace.root(stack.name).plan
    replace(path, bundle.plan)
    content = run.session.terraform(stack.name).show_plan(path)
    if not same(read_plan(redacted_json(content)), read_plan(bundle.redacted)):
        raise InputError(
            f"nothing was applied: plan.json in {bundle.path} is not what the plan file says", hint=MAKE_NEW
        )
    state = bundle.manifest.made_from.state
    return run.read(stack, StackPlan(stack.name, path, content, bundle.manifest.changes, 0, state))


def refuse_moved(run: Run, stacks: Sequence[Stack], bundles: Mapping[str, Bundle]) -> None:
    """Apply nothing if a plan does not fit any more; say what moved, and what a new plan would say.

    Raises:
        InputError: with all of it.
    """
    from groundplan.engines.terraform.bundle.manifest import moved

    project = run.project
    lock = f"{project.lock_path.name}{' (with what the foundation learned)' if project.offline else ''}"
    names, detail = [], []
    for stack in stacks:
        bundle = bundles[stack.name]
        then, now = bundle.manifest.made_from, basis(run, stack)
        found = list(moved(then, now, blueprint=project.file, lock=lock))
        if found:
            names.append(stack.name)
            detail += [f"{stack.name}:", *(f"  {reason}" for reason in found)]
            detail += [f"  {line}" for line in difference(run, stack, bundle)]
    if not names:
        return
    offline = " --offline" if project.offline else ""
    raise InputError(
        f"nothing was applied: the plan of {', '.join(names)} does not fit any more",
        hint=f"Make it anew, and look at it: groundplan plan {' '.join(names)}{offline} --out DIR",
        detail="\n".join(detail),
    )


def difference(run: Run, stack: Stack, bundle: Bundle) -> list[str]:
    """How a plan made now differs from the one in the bundle; lines to show below the reasons."""
    from groundplan.engines.terraform.bundle.comparison import deviations, told
    from groundplan.engines.terraform.bundle.store import redacted_json
    from groundplan.plans.model import read_plan

    try:
        fresh = run.plan([stack])[0]
    except EngineError as error:
        return [f"a plan made now fails: {error.message}"]
    newer = read_plan(redacted_json(fresh.raw.json))
    found = deviations(read_plan(bundle.redacted), newer)
    if not found:
        return ["a plan made now says the same about every resource"]
    if not newer.actual:
        return ["a plan made now changes nothing"]
    lines = [f"  {line}" for line in told(found, runs.origins(stack))]
    rest = len(lines) - SHOWN_LINES
    more = [f"  … and {rest} more lines"] if rest > 0 else []
    return ["a plan made now differs:", *lines[:SHOWN_LINES], *more]
