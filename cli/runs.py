"""What plan, apply and destroy have in common: engine, workspace and session, and how a plan is shown."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from groundplan.cli import administration
from groundplan.cli.output import Output
from groundplan.cli.progress import Progress
from groundplan.cli.project import FOUNDATION, Project, stopping
from groundplan.errors import UsageError

if TYPE_CHECKING:
    from groundplan.engines.terraform.engine import Engine
    from groundplan.engines.terraform.session import Session, StackPlan
    from groundplan.modules.graph import Stack
    from groundplan.plans.model import Plan
    from groundplan.plans.summary import Header, Summary


@dataclass(frozen=True)
class Shown:
    """A stack's plan, read and put into words."""

    stack: Stack
    raw: StackPlan
    plan: Plan
    summary: Summary


@dataclass(frozen=True)
class Run:
    """An open session on a project's stacks."""

    project: Project
    engine: Engine
    session: Session
    output: Output
    progress: Progress

    def plan(
        self, stacks: Sequence[Stack], *, destroy: bool = False, targets: Sequence[str] = ()
    ) -> list[Shown]:
        """Plan stacks in parallel, with progress, and put the plans into words.

        Raises:
            UsageError: a real plan needs to know what the foundation has not made yet.
        """
        from groundplan.modules.perimeter import require_policy

        if not (self.project.offline or destroy):
            for stack in stacks:
                require_policy(stack)
        administration.tell(self, stacks)
        with self.progress.shown():
            raws = self.session.plan(stacks, destroy=destroy, targets=targets)
        return [self.read(stack, raw) for stack, raw in zip(stacks, raws, strict=True)]

    def show(self, shown: Sequence[Shown], *, resources: bool = False) -> None:
        """Print the summaries, with Terraform's own addresses where asked for."""
        from groundplan.plans.summary import resource_lines

        width = shutil.get_terminal_size((100, 24)).columns
        paint = self.output.out
        for one in shown:
            lines = one.summary.lines(width, paint)
            if resources:
                lines += ["", *(f"  {line}" for line in resource_lines(one.plan))]
            self.output.result("\n".join(lines) + "\n")

    def read(self, stack: Stack, raw: StackPlan) -> Shown:
        """Put a stack's plan into words."""
        from groundplan.plans.model import read_plan
        from groundplan.plans.summary import summarize

        plan = read_plan(raw.json)
        summary = summarize(
            plan, self.header(stack.name), origins=origins(stack), describe=self._descriptions(stack)
        )
        return Shown(stack, raw, plan, summary)

    def header(self, name: str) -> Header:
        """What is asked of a stack, and of whom."""
        from groundplan.facts.schema import index
        from groundplan.plans.summary import Header

        env = self.project.blueprint.environments.get(name)
        return Header(
            name,
            tier=env.tier if env else "removed" if name in self.project.blueprint.removed else "",
            protected=env.protect if env else False,
            offline=self.project.offline,
            facts=f"google {index().provider_version}",
            engine=str(self.engine),
        )

    def _descriptions(self, stack: Stack) -> dict[str, str]:
        from groundplan.stacks.descriptions import descriptions

        env = self.project.blueprint.environments.get(stack.name)
        return descriptions(env, stack.graph) if env else {}


def origins(stack: Stack) -> dict[str, tuple[str, ...]]:
    """Address → path of the blueprint key that asked for the resource."""
    return {resource.address: resource.origin for resource in stack.graph}


@contextmanager
def opened(
    project: Project,
    stacks: Sequence[Stack],
    output: Output,
    *,
    engine_binary: Path | None = None,
) -> Iterator[Run]:
    """Find the engine, lock the work directory and start a session; offline with the stand-in beside it.

    Raises:
        EngineError: no fitting engine, no credentials for a real run, or the work directory is in use.
        BlueprintError: a real run of a blueprint with keys that are not provisioned yet.
    """
    from groundplan.cli import trust
    from groundplan.engines.terraform.engine import choose_offline, choose_real
    from groundplan.engines.terraform.local_state import settle
    from groundplan.engines.terraform.session import session
    from groundplan.engines.terraform.workspace import opened as workspace_opened

    wanted = project.blueprint.engine
    if project.offline:
        engine = choose_offline(wanted.name, wanted.version, engine_binary)
    else:
        require_real(project)
        engine = choose_real(wanted.name, wanted.version, engine_binary)
    output.detail(f"engine: {engine}, {engine.path}")
    names = [stack.name for stack in stacks]
    progress = Progress(output, names)
    with (
        stopping(output) as interrupt,
        workspace_opened(project.work_directory, offline=project.offline, stacks=names) as workspace,
    ):
        for mended in settle(workspace, stacks, patience_seconds=trust.lock_timeout()):
            output.warn(str(mended))
        with session(
            workspace,
            engine,
            stacks,
            on_event=progress.event,
            interrupt=interrupt,
            locked_versions=project.versions_path,
            founded=project.founded,
            named_buckets=project.named_buckets,
        ) as running:
            running.lock_timeout_seconds = trust.lock_timeout()
            yield Run(project, engine, running, output, progress)


def require_real(project: Project) -> None:
    """What a real run needs before it does anything: complete modules, a place for state, credentials."""
    project.require_provisioned()
    blueprint = project.blueprint
    if not (blueprint.foundation or blueprint.state.bucket or blueprint.state.local):
        raise UsageError(
            "a real run needs a place for its state",
            hint="Add `foundation:`, `state: {bucket: NAME}` or, for a trial of your own, "
            "`state: {local: true}`; --offline needs none.",
        )
    from groundplan.engines.terraform.credentials import require

    require(os.environ, state_in_bucket=not blueprint.state.local)


def require_names(names: Sequence[str], every: bool, what: str) -> None:
    """A real apply and any destroy need to be told what to work on.

    Raises:
        UsageError: neither a name nor ``--all`` was given, or both were.
    """
    if every and names:
        raise UsageError("give environments or --all, not both")
    if not every and not names:
        raise UsageError(f"{what} needs environments, or --all")


def confirm(question: str, *, auto_approve: bool) -> None:
    """Ask before something changes; without a terminal there is nobody to ask.

    Raises:
        UsageError: there is no terminal, and no --auto-approve.
        click.Abort: the person said no.
    """
    import click

    if auto_approve:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to ask on", hint="Add --auto-approve, or run it in a terminal."
        )
    click.confirm(question, abort=True, err=True)


__all__ = ["FOUNDATION", "Run", "Shown", "confirm", "opened", "origins", "require_names", "require_real"]
