"""What makes ``apply`` trustworthy.

Nothing precious is lost unasked, the state is saved before, a failure says what exists now, and a plan after
the apply proves that everything is as the blueprint says.

The options are this module's own and live in click's context, so that whatever applies a plan inside a
command is looked after without handing them through.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from groundplan.cli import runs
from groundplan.errors import EngineError, GroundplanError, Interrupted, PolicyError, UsageError

if TYPE_CHECKING:
    from groundplan.cli.runs import Run, Shown
    from groundplan.modules.graph import Stack
    from groundplan.policies.protection import Finding

F = TypeVar("F", bound=Callable[..., Any])

NEEDED_BYTES = 16 * 2**20  #: free space for plan, logs and some versions of a large state


@dataclass
class Trust:
    """What a person asked for, and which stacks this command has applied so far."""

    verify: bool = False  #: only after an apply: after a destroy a plan would make everything again
    allow_loss: bool = False
    lock_timeout: int | None = None
    adopt: tuple[tuple[str, str], ...] = ()
    applied: list[str] = field(default_factory=list)


def current() -> Trust:
    """Of the command that runs; the defaults where none does."""
    context = click.get_current_context(silent=True)
    return Trust() if context is None else context.meta.setdefault(__name__, Trust())


# -- options


def _duration(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """``90``, ``90s`` or ``5m`` in seconds."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+)([smh]?)", value)
    if not found:
        raise click.BadParameter(f"{value!r} is no duration: write 90s or 5m")
    return int(found[1]) * {"h": 3600, "m": 60}.get(found[2], 1)


def _adoptions(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """``ADDRESS=ID`` as pairs."""
    for value in values:
        if not re.fullmatch(r"[^=]+=.+", value):
            raise click.BadParameter(f"{value!r} is not ADDRESS=ID")
    return tuple((address, id_) for address, _, id_ in (value.partition("=") for value in values))


ALLOW_LOSS = click.option(
    "--allow-loss", is_flag=True, help="Do not ask about what a protected environment loses for good."
)
LOCK_TIMEOUT = click.option(
    "--lock-timeout",
    metavar="DURATION",
    callback=_duration,
    help="How long to wait for a state that somebody else works on: 90s, 5m. Default: 60s.",
)
NO_VERIFY = click.option(
    "--no-verify", is_flag=True, help="Skip the plan after the apply, which has to be empty."
)
ADOPT = click.option(
    "--adopt",
    multiple=True,
    metavar="ADDRESS=ID",
    callback=_adoptions,
    help="Take over an object that exists in Google Cloud already. A failed apply says which.",
)


def lock_timeout() -> int:
    """How many seconds to wait for a state that somebody else works on."""
    from groundplan.engines.terraform.session import LOCK_TIMEOUT_SECONDS

    asked = current().lock_timeout
    return LOCK_TIMEOUT_SECONDS if asked is None else asked


def so_far() -> str:
    """What this command has applied up to now, for the message of a refusal."""
    applied = current().applied
    return f"{', '.join(applied)} was applied before" if applied else "nothing was changed"


def options(*chosen: Callable[[F], F]) -> Callable[[F], F]:
    """Give these options to a command."""

    def decorate(command: F) -> F:
        @click.pass_context
        @functools.wraps(command)
        def wrapper(context: click.Context, /, *args: Any, **values: Any) -> Any:
            context.meta[__name__] = Trust(
                verify=not values.pop("no_verify", True),
                allow_loss=values.pop("allow_loss", False),
                lock_timeout=values.pop("lock_timeout"),
                adopt=values.pop("adopt", ()),
            )
            return command(*args, **values)

        decorated: Any = wrapper
        for option in reversed(chosen):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate


# -- before an apply


def check_adoptions(stacks: Sequence[Stack], *, saved: bool = False) -> None:
    """See that ``--adopt`` fits.

    Args:
        stacks: all stacks of the command.
        saved: plans are applied that were made before.

    Raises:
        UsageError: ``--adopt`` names an address that is not in exactly one of the stacks, or comes too late.
    """
    trust = current()
    if saved and trust.adopt:
        raise UsageError(
            "--adopt changes the plan, and --plan applies one as it is", hint="Leave out --plan."
        )
    for address, _ in trust.adopt:
        having = [stack.name for stack in stacks if address in stack.graph]
        if len(having) != 1:
            where = f"{', '.join(having)} all have it" if having else "there is no such resource"
            raise UsageError(
                f"--adopt {address}: {where}",
                hint="Name one environment, and an address as `groundplan plan --resources` shows it.",
            )


def adopting(run: Run, stacks: Sequence[Stack]) -> Sequence[Stack]:
    """The same stacks, so that a plan takes over what ``--adopt`` names instead of making it.

    What the state does not know is imported. What it knows as half made is kept as it is from now on.
    """
    from groundplan.engines.terraform.recovery import half_made, stored_state

    for stack in stacks:
        wanted = [(address, id_) for address, id_ in current().adopt if address in stack.graph]
        if not wanted:
            continue
        run.session.prepare([stack])
        half = half_made(stored_state(run.session, stack))
        for address, id_ in wanted:
            if address in half:
                run.session.terraform(stack.name).untaint(address, lock_timeout_seconds=lock_timeout())
            else:
                stack.graph.adopt(stack.graph[address], id_)
    return stacks


def confirm(run: Run, shown: Sequence[Shown], verb: str, *, auto_approve: bool) -> None:
    """Ask before something changes. What a protected environment loses for good is named and asked for apart.

    Args:
        run: the run.
        shown: the plans.
        verb: ``Apply`` or ``Destroy``.
        auto_approve: do not ask.

    Raises:
        PolicyError: something is lost, nobody is asked, and nobody said that it may be.
        UsageError: there is no terminal to ask on.
        Interrupted: the person said no.
    """
    trust = current()
    changing = [one for one in shown if one.raw.changes]
    losses = {} if trust.allow_loss else {one.stack.name: _losses(run, one) for one in changing}
    losing = {name: found for name, found in losses.items() if found}
    if losing and (auto_approve or not sys.stdin.isatty()):
        raise PolicyError(
            f"refused, {so_far()}: {', '.join(losing)} would lose something for good",
            hint="If that is meant, run it on a terminal and answer, or add --allow-loss." + keeping(shown),
            detail="\n".join(f"{name}: {finding}" for name, found in losing.items() for finding in found),
        )
    if auto_approve or not changing:
        return
    with _answering():
        for name, found in losing.items():
            _confirm_losses(run, name, found)
        rest = [one.stack.name for one in changing if one.stack.name not in losing]
        if rest:
            runs.confirm(f"{verb} {', '.join(rest)}?", auto_approve=False)


def keeping(shown: Sequence[Shown]) -> str:
    """How to keep what would be replaced only since its creation failed midway; empty if there is none."""
    from groundplan.cli import failure
    from groundplan.engines.terraform.recovery import object_id

    lines = [""]
    for one in shown:
        graph = one.stack.graph
        half = [change.address for change in one.plan.actual if change.reason == "replace_because_tainted"]
        if half:
            ids = {address: object_id(graph[address], graph) for address in half}
            lines.append(f"Or keep what is half made, if it is well: {failure.taking_over(one, ids)}")
    return "\n".join(lines) if len(lines) > 1 else ""


def _losses(run: Run, one: Shown) -> list[Finding]:
    """What a protected environment loses by this plan. The stand-in does exactly what it planned."""
    from groundplan.policies.protection import dangerous

    environment = run.project.blueprint.environments.get(one.stack.name)
    if environment is None or not environment.protect:
        return []
    return dangerous(one.plan, origins=runs.origins(one.stack))


def _confirm_losses(run: Run, name: str, found: Sequence[Finding]) -> None:
    run.output.warn("\n".join([f"{name} is protected and loses for good:", *(f"  {one}" for one in found)]))
    if click.prompt(f"Type {name} to go on", default="", show_default=False, err=True) != name:
        raise click.Abort


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """While a question is open, Ctrl-C is an answer: no.

    Raises:
        Interrupted: the person said no; says what this command has applied before.
    """
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except (click.Abort, KeyboardInterrupt):
        raise Interrupted(f"not applied; {so_far()}") from None
    finally:
        signal.signal(signal.SIGINT, former)


# -- apply


def apply(run: Run, one: Shown) -> None:
    """Save the state, apply one plan, and prove that a new plan is empty; explain what goes wrong.

    Raises:
        EngineError: it failed; says what exists now and how to go on. Or something keeps differing.
        Interrupted: the person stopped it; says the same.
    """
    from groundplan.cli import failure
    from groundplan.engines.terraform.recovery import cut_off

    session, stack = run.session, one.stack
    root = session.workspace.root(stack.name)
    backup = _saved(run, stack)
    log = root.logs / "apply.jsonl"
    warning = failure.doubles(one, cut_off(log))
    if warning:
        run.output.warn(warning)
    log.unlink(missing_ok=True)  # the report must not read an older one
    try:
        error: GroundplanError | None = session.apply([one.raw]).error
    except OSError as problem:
        error = EngineError(f"{problem.strerror}: {problem.filename or root.path}")
    if error is not None:
        raise failure.report(run, one, error, backup=backup, applied=current().applied) from error
    current().applied.append(stack.name)
    if current().verify:
        _verify(run, stack)


def _saved(run: Run, stack: Stack) -> Path | None:
    """Keep the state as it is before an apply.

    Raises:
        EngineError: it cannot be read or kept, or there is no room to write the next one.
    """
    from groundplan.engines.terraform import recovery
    from groundplan.engines.terraform.backups import back_up

    root = run.session.workspace.root(stack.name)
    free = shutil.disk_usage(root.path).free
    if free < NEEDED_BYTES:
        raise EngineError(
            f"nothing was applied to {stack.name}: only {free / 2**20:.1f} MiB are free in {root.path}",
            hint=f"A state needs room to be written. Free {NEEDED_BYTES // 2**20} MiB, or use --work-dir.",
        )
    try:
        return back_up(root.path, recovery.stored_state(run.session, stack))
    except OSError as problem:
        raise EngineError(
            f"nothing was applied to {stack.name}: its state could not be backed up: {problem.strerror}",
            hint=f"Free some space in {root.path}, or use --work-dir.",
        ) from problem


def _verify(run: Run, stack: Stack) -> None:
    """Plan again what was applied; there must be nothing left to do.

    Raises:
        EngineError: something keeps differing, or the plan failed.
        Interrupted: the person stopped it.
    """
    from groundplan.cli import failure

    again = failure.command(names=[stack.name], verb="plan")
    try:
        one = run.read(stack, run.session.plan([stack])[0])
    except Interrupted as stopped:
        raise Interrupted(
            f"{stack.name}: applied, but stopped before the plan that verifies it", hint=f"Verify: {again}"
        ) from stopped
    except (EngineError, OSError) as problem:
        error = problem if isinstance(problem, EngineError) else EngineError(str(problem))
        raise EngineError(
            f"{stack.name}: applied, but the plan that verifies it failed: {error.message}",
            hint=f"{error.hint}\nVerify: {again}".strip(),
            detail=error.detail,
        ) from problem
    if one.raw.changes:
        raise failure.differs(run, one, again)
