"""``plan --offline --base REF``: what a change of the blueprint does to what the blueprint of REF made.

The blueprint of a git revision is applied in a stand-in of its own, which is thrown away, and the present one
is planned against it. So replacements and deletions show without an account and without anybody's state.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundplan.cli import runs
from groundplan.cli.apply import learn, stages
from groundplan.cli.output import Output
from groundplan.cli.project import FOUNDATION, Project
from groundplan.cli.revision import Revision
from groundplan.cli.runs import Run, Shown
from groundplan.errors import BlueprintError, EngineError, InputError, UsageError
from groundplan.plans.losses import PRECIOUS
from groundplan.plans.words import counted, noun

if TYPE_CHECKING:
    from groundplan.modules.graph import Stack


@dataclass(frozen=True)
class Gone:
    """A stack that the blueprint had at the base and has no longer: nothing manages its resources then.

    Args:
        stack: as it was.
        project_id: its project; empty for the foundation.
        tombstone: the blueprint's ``removed:`` names it.
        project_deleted: the foundation's plan deletes the project.
    """

    stack: Stack
    project_id: str
    tombstone: bool
    project_deleted: bool

    @property
    def addresses(self) -> list[str]:
        """Terraform's addresses of what would be left behind."""
        return [resource.address for resource in self.stack.graph if resource.mode == "managed"]

    def lines(self, *, resources: bool) -> list[str]:
        """What a person is told."""
        what = f"environment {self.stack.name}" if self.project_id else f"the {self.stack.name}"
        found = [
            f"{what} is gone from the blueprint: {counted(len(self.addresses), 'resource')} would be left "
            "behind unmanaged",
            f"  Among them: {self._precious()}.",
            *(["  The foundation deletes its project, and with it what is in it."] * self.project_deleted),
            *(f"  {line}" for line in self._advice()),
        ]
        return [*found, *(f"  ! {address}" for address in self.addresses)] if resources else found

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "stack": self.stack.name,
            "resources": self.addresses,
            "tombstone": self.tombstone,
            "project_deleted": self.project_deleted,
        }

    def _precious(self) -> str:
        """``1 cluster, 2 node pools, 2 buckets``."""
        types = [resource.type for resource in self.stack.graph if resource.mode == "managed"]
        found = Counter(type for type in types if type in PRECIOUS)
        return ", ".join(counted(number, noun(type)) for type, number in found.items()) or "nothing precious"

    def _advice(self) -> list[str]:
        name = self.stack.name
        if self.tombstone:
            return [f"Its tombstone lets `groundplan destroy {name}` destroy them."]
        if not self.project_id:
            return ["Put `foundation:` back, and destroy it while it is in the file."]
        return [
            f"Put it back, or leave a tombstone, `removed: {{{name}: {{confirm: {self.project_id}}}}}`,",
            f"which lets `groundplan destroy {name}` destroy them.",
        ]


@dataclass(frozen=True)
class Compared:
    """The present blueprint against that of a revision."""

    run: Run  #: closed
    revision: Revision
    shown: list[Shown]
    gone: list[Gone]

    def as_json(self) -> dict[str, Any]:
        """What ``--json`` prints beside the plans."""
        base = {"ref": self.revision.ref, "commit": self.revision.commit}
        return {"base": base, "gone": [one.as_json() for one in self.gone]}


def compare(
    project: Project, names: Sequence[str], ref: str, output: Output, engine_binary: Path | None
) -> Compared:
    """Plan the present blueprint against what the one of ``ref`` makes, in a throw-away stand-in.

    Stacks that consist of the same in both are not run at all: their plan is empty.

    Args:
        project: the present blueprint.
        names: stacks, also such that only the base has; none means all.
        ref: a git revision.
        output: how this run talks.
        engine_binary: the engine that the person named.

    Raises:
        UsageError: there is no such revision, or no such stack in either.
        InputError: the blueprint of the revision cannot be read.
        EngineError: the engine refused one of the two.
    """
    file = present_file(project)
    revision = Revision.named(ref, file.parent)
    with throw_away() as folder:
        then = at(revision, file.name, folder)
        now = dataclasses.replace(project, work_directory=folder / "work")
        left = _left(then, now, names)
        kept = [name for name in names if name not in left]
        chosen = now.select(kept) if kept or not names else []
        before, after = _changed(then, now, chosen)
        with runs.opened(now, [*before, *after], output, engine_binary=engine_binary) as run:
            if then is None:
                output.say(f"{file.name} is not in {revision}: everything is new.")
            elif before:
                output.say(
                    f"{revision}: applying {', '.join(s.name for s in before)} in a throw-away stand-in"
                )
                apply_past(dataclasses.replace(run, project=then), before, revision)
            planned = run.plan(now.stacks([stack.name for stack in after]))
        by_name = {one.stack.name: one for one in planned}
        shown = [by_name.get(stack.name) or _unchanged(run, stack) for stack in now.stacks(chosen)]
        return Compared(run, revision, shown, _gone(then, now, left, shown) if then else [])


def present_file(project: Project) -> Path:
    """The blueprint's file.

    Raises:
        UsageError: it came from stdin.
    """
    if project.file.startswith("<"):
        raise UsageError("--base needs a blueprint in a file: git has none of what comes from stdin")
    return Path(project.file).resolve()


def at(revision: Revision, name: str, folder: Path) -> Project | None:
    """The blueprint of a revision, laid down in ``folder`` with its lock file; None if it had none.

    Raises:
        InputError: one of them has errors.
    """
    from groundplan.blueprints.lock import lock_path
    from groundplan.blueprints.reader import read
    from groundplan.blueprints.waivers import waivers_path

    content = revision.read(name)
    if content is None:
        return None
    file = folder / "base" / name
    file.parent.mkdir()
    file.write_bytes(content)
    for path_of in (lock_path, waivers_path):
        content = revision.read(path_of(name).name)
        if content is not None:
            path_of(file).write_bytes(content)
    reading = name
    try:
        project = Project(read(file), offline=True, work_directory=folder / "work")
        reading = lock_path(name).name
        project.allocated  # noqa: B018 - reads the lock file
    except InputError as problem:
        found: Sequence[Any] = problem.diagnostics if isinstance(problem, BlueprintError) else ()
        raise InputError(
            f"{reading} as it was at {revision} has errors, so there is nothing to compare with",
            hint="Name a revision with --base that this groundplan accepts.",
            detail="\n".join(f"line {d.position.line}: {d.message}" for d in found) or problem.message,
        ) from None
    return project


def apply_past(run: Run, stacks: Sequence[Stack], revision: Revision) -> None:
    """Apply the stacks of a revision, the foundation first, for the environments need what it learns.

    Raises:
        EngineError: the engine refused one.
    """
    try:
        for stage in stages([stack.name for stack in stacks]):
            with run.progress.shown():
                plans = run.session.plan(run.project.stacks(stage))
                applied = run.session.apply(plans)
            if applied.error:
                raise applied.error
            if FOUNDATION in stage:
                learn(run)
    except EngineError as error:
        raise EngineError(
            f"the blueprint of {revision} cannot be applied offline: {error.message}",
            hint=error.hint,
            detail=error.detail,
        ) from error


@contextmanager
def throw_away() -> Iterator[Path]:
    """A private folder for the time being; it stays if an engine fails, since the logs are in it."""
    folder, keep = Path(tempfile.mkdtemp(prefix="groundplan-base-")), False
    try:
        yield folder
    except EngineError:
        keep = True
        raise
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _changed(then: Project | None, now: Project, names: Sequence[str]) -> tuple[list[Stack], list[Stack]]:
    """The stacks to apply as they were, and those to plan as they are.

    The foundation of the base is applied too where an environment of the base does not know its number yet.
    """
    from groundplan.engines.terraform.writer import document

    after = now.stacks(names)
    if then is None:
        return [], after
    known = {stack.name: stack for stack in then.stacks([n for n in names if n in then.stack_names])}
    after = [
        stack
        for stack in after
        if stack.name not in known
        or document(stack, offline=True) != document(known[stack.name], offline=True)
    ]
    before = {stack.name for stack in after} & known.keys()
    learning = [name for name in before if not then.lock.environment(name).project_number]
    if learning and FOUNDATION in then.stack_names:
        before.add(FOUNDATION)
    return then.stacks(sorted(before)), after


def _unchanged(run: Run, stack: Stack) -> Shown:
    """A stack that consists of the same as before, so that no engine needs to be asked."""
    from groundplan.engines.terraform.session import StackPlan
    from groundplan.plans.model import Plan
    from groundplan.plans.summary import summarize

    plan = Plan()
    number = sum(resource.mode == "managed" for resource in stack.graph)
    summary = dataclasses.replace(summarize(plan, run.header(stack.name)), unchanged=number)
    return Shown(stack, StackPlan(stack.name, Path(), b"", False, 0, None), plan, summary)


def _left(then: Project | None, now: Project, names: Sequence[str]) -> list[str]:
    """The stacks that only the base has, of those that are named."""
    past = then.stack_names if then else []
    return [name for name in past if name not in now.stack_names and (not names or name in names)]


def _gone(then: Project, now: Project, left: Sequence[str], shown: Sequence[Shown]) -> list[Gone]:
    """What becomes of the stacks that only the base has."""
    projects = {name: environment.project_id for name, environment in then.blueprint.environments.items()}
    deleted = {
        change.before["project_id"].raw
        for one in shown
        for change in one.plan.of_type("google_project")
        if change.deletes
    }
    found = []
    for stack in then.stacks(left):
        project_id = projects.get(stack.name, "")
        found.append(Gone(stack, project_id, stack.name in now.blueprint.removed, project_id in deleted))
    return found
