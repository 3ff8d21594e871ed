"""The report of an apply that did not come to its end: what failed, what was said, what exists, what next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundplan.cli import runs
from groundplan.cli.project import FOUNDATION
from groundplan.engines.terraform import recovery
from groundplan.engines.terraform.events import ResourceEvent
from groundplan.engines.terraform.known_errors import Known, explain
from groundplan.engines.terraform.local_state import is_local, mend, replacement
from groundplan.engines.terraform.recovery import Standing
from groundplan.engines.terraform.runner import RunError
from groundplan.engines.terraform.workspace import Root
from groundplan.errors import EngineError, GroundplanError, Interrupted
from groundplan.plans.differences import differences
from groundplan.plans.model import Action, Change
from groundplan.plans.places import place, title
from groundplan.plans.words import counted, noun

if TYPE_CHECKING:
    from groundplan.cli.runs import Run, Shown
    from groundplan.engines.terraform.events import Diagnostic, Event

SHOWN_FAILURES = 5
SHOWN_LINES = 30  # of what keeps differing
LONGEST_QUOTE = 300  # characters of what Google said

_FAILED = {
    Action.CREATE: "was not created",
    Action.UPDATE: "was not changed",
    Action.DELETE: "was not deleted",
    Action.REPLACE: "was not replaced",
    Action.READ: "could not be read",
}
#: Options that a repeated command does not need.
_NOT_REPEATED = {"names", "bundles", "as_json", "quiet", "verbose", "adopt", "file"}


@dataclass(frozen=True, slots=True)
class Failure:
    """One message of an apply: what it is about, what was said, and what it means.

    Attributes:
        changes: the resources that failed with it; none if it is about the whole.
        what: each of them in the blueprint's words, with the line that asked for it.
        said: the heart of the message, and whose words they are.
        known: the entry in the table of known errors.
    """

    changes: Sequence[Change]
    what: Sequence[str]
    said: str
    known: Known | None


def report(
    run: Run, one: Shown, error: GroundplanError, *, backup: Path | None, applied: Sequence[str]
) -> GroundplanError:
    """The error that is shown for a failed or interrupted apply of one stack.

    Args:
        run: the run.
        one: the plan that was applied.
        error: what stopped it.
        backup: the state before, if there was one.
        applied: the stacks that this command applied before.
    """
    # Not workspace.root, which looks at the state: that may be what is broken.
    root = Root(run.session.workspace.path / one.stack.name)
    state, broken = _state_now(run, one, root)
    events = recovery.events_of(root.logs / "apply.jsonl")
    now = recovery.standing(one.plan, events, state)
    failures = _failures(run, one, error, events)
    log = root.logs / "apply.log"
    lines = [
        *(_quotes(failures) if failures else error.detail.splitlines()),
        *([f"The full text: {log}"] if log.exists() else []),
        "",
        *_standing(now, one),
        *([broken] if broken else []),
        *([f"The state before this apply: {backup}"] if backup else []),
        *([f"Applied before: {', '.join(applied)}"] if applied else []),
    ]
    kind = Interrupted if isinstance(error, Interrupted) else EngineError
    return kind(
        _message(one, failures, error), hint=_hint(one, failures, error, now), detail="\n".join(lines)
    )


def doubles(one: Shown, cut_off: Collection[str]) -> str:
    """What to tell before things are made that an earlier run may have made already; empty if there are none.

    Google refuses a second object of the same name, but to some it gives the name itself.

    Args:
        one: the plan that is about to be applied.
        cut_off: addresses that the last apply was at work on when it was cut off.
    """
    graph = one.stack.graph
    made = [c for c in one.plan.actual if c.action is Action.CREATE and c.address in cut_off]
    ids = {change.address: recovery.object_id(graph[change.address], graph) for change in made}
    doubtful = [change for change in made if recovery.only_google_knows(ids[change.address])]
    if not doubtful:
        return ""
    things = ", ".join(_thing(change, runs.origins(one.stack)) for change in doubtful)
    return (
        f"{one.stack.name}: the last apply was cut off while it made {things}. If that exists, this makes "
        "another one. Look in the console: delete it, or stop here and take it over: "
        + taking_over(one, {change.address: ids[change.address] for change in doubtful})
    )


def differs(run: Run, one: Shown, again: str) -> EngineError:
    """The error for an apply after which a plan still wants to change something.

    Args:
        run: the run.
        one: the plan after the apply.
        again: the command that shows it anew.
    """
    origins = runs.origins(one.stack)
    lines = []
    for change in one.plan.actual:
        lines.append(f"{_where(run, one, change)}{_thing(change, origins)} ({change.address})")
        lines += [f"  {difference}" for difference in differences(change)]
    rest = len(lines) - SHOWN_LINES
    what = counted(len(one.plan.actual), "resource") if one.plan.actual else "an output"
    return EngineError(
        f"{one.stack.name}: applied, but a new plan is not empty: {what} would change again",
        hint="Somebody changed it at the same time, or Google keeps another value than the written one: then "
        f"write that into the blueprint. Look again: {again}\n--no-verify skips this check.",
        detail="\n".join(lines[:SHOWN_LINES] + ([f"… and {rest} more lines"] if rest > 0 else [])),
    )


def command(*extra: str, names: Sequence[str] = (), verb: str = "") -> str:
    """The present command as one types it again; saved plans do not fit any more and are left out.

    Args:
        extra: words to add.
        names: these environments instead of those that were named.
        verb: another command; it gets the options that all commands share.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return shlex.join(["groundplan", verb or "apply", *names, *extra])
    values = context.params
    blueprint = values.get("file") or context.find_root().params.get("blueprint")
    shared = ("offline", "work_dir", "engine_binary")
    names = names or values.get("names", ())
    words = ["groundplan", *(["-f", blueprint] if blueprint else []), verb or str(context.info_name)]
    words += names
    for parameter in context.command.params:
        name, value = str(parameter.name), values.get(str(parameter.name))
        if name in _NOT_REPEATED or not value or (verb and name not in shared) or (names and name == "every"):
            continue
        words += [parameter.opts[0]] if value is True else [parameter.opts[0], str(value)]
    return shlex.join([*words, *extra])


# -- what failed


def _failures(run: Run, one: Shown, error: GroundplanError, events: Sequence[Event]) -> list[Failure]:
    """What failed, by message: the same refusal of ten resources is one failure."""
    if not isinstance(error, RunError):
        return []
    failed: dict[str, list[Change]] = {}
    known = {}
    for diagnostic in error.diagnostics:
        said = _short(diagnostic)
        known[said] = explain(f"{diagnostic.summary} {diagnostic.detail}")
        change = one.plan.by_address.get(diagnostic.address)
        failed.setdefault(said, []).extend([change] if change else [])
    nameless = [changes for changes in failed.values() if not changes]
    if nameless:  # Terraform does not say what it could not delete; its events do
        named = {change.address for changes in failed.values() for change in changes}
        nameless[0] += [change for change in _errored(one, events) if change.address not in named]
    return [
        Failure(changes, [_failed(run, one, change) for change in changes], said, known[said])
        for said, changes in failed.items()
    ]


def _errored(one: Shown, events: Sequence[Event]) -> list[Change]:
    """The changes whose operation failed, in that order."""
    addresses = [
        event.address
        for event in events
        if isinstance(event, ResourceEvent) and event.kind == "apply_errored"
    ]
    return [one.plan.by_address[a] for a in dict.fromkeys(addresses) if a in one.plan.by_address]


def _failed(run: Run, one: Shown, change: Change) -> str:
    thing = _thing(change, runs.origins(one.stack))
    return f"{_where(run, one, change)}{thing} {_FAILED.get(change.action, 'failed')}"


def _where(run: Run, one: Shown, change: Change) -> str:
    """``FILE:LINE:COLUMN: `` of the key that asked for it; empty if no key did."""
    origin = runs.origins(one.stack).get(change.address)
    if origin is None:
        return ""
    environment = None if one.stack.name == FOUNDATION else one.stack.name
    return f"{run.project.document.position_of(environment, origin)}: "


def _thing(change: Change, origins: dict[str, tuple[str, ...]]) -> str:
    """``node pool l4 (clusters/main)``; with its own noun where the thing is more than this resource."""
    where = place(change, origins)
    of = f" ({where.group})" if where.group not in where.label else ""
    if noun(change.type) == where.noun and where.noun != "API":
        return f"{where.label}{of}"
    return f"{noun(change.type)} {title(change)} ({where.group}: {where.label})"


def _short(diagnostic: Diagnostic) -> str:
    """The heart of a message: without the words that Terraform and the provider put around it."""
    text = diagnostic.summary.partition("\nDetails:")[0]
    speaker = "Google" if re.search(r"googleapi|Error \d{3}\b|Google Compute Engine", text) else "Terraform"
    text = " ".join(re.sub(r"^(?:Error: )*(?:.*?googleapi: )?", "", text, flags=re.DOTALL).split())
    cut = text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…"
    return f"{speaker}: {cut}"


def _quotes(failures: Sequence[Failure]) -> Iterable[str]:
    """What was said about each failure, and what it means; what it is about, unless the message has it."""
    alone = len(failures) == 1 and len(failures[0].what) < 2
    indent = "" if alone else "  "
    for failure in failures[:SHOWN_FAILURES]:
        if not alone:
            yield from failure.what[:SHOWN_FAILURES]
            if len(failure.what) > SHOWN_FAILURES:
                yield f"… and {len(failure.what) - SHOWN_FAILURES} more"
        yield f"{indent}{failure.said}"
        if failure.known:
            yield f"{indent}{failure.known.meaning}"
    if len(failures) > SHOWN_FAILURES:
        yield f"… and {counted(len(failures) - SHOWN_FAILURES, 'other error')}"


def _message(one: Shown, failures: Sequence[Failure], error: GroundplanError) -> str:
    name = one.stack.name
    what = [text for failure in failures for text in failure.what]
    if what:
        more = f", and {len(what) - 1} more" if len(what) > 1 else ""
        return f"{what[0]}{more} in {name}"
    return f"{name}: {error.message}"


# -- what exists now


def _state_now(run: Run, one: Shown, root: Root) -> tuple[bytes | None, str]:
    """The state, and what happened to a local one that was cut off. None if it cannot be read."""
    if not is_local(run.session.workspace, one.stack):
        return recovery.state_after(run.session, one.stack), ""
    try:
        source = replacement(root.state, one.stack.name)
    except EngineError as error:
        return None, f"{error.message}. {error.hint}"
    if source is None:
        return recovery.state_after(run.session, one.stack), ""
    content = source.read_bytes()
    try:
        return content, str(mend(root.state, one.stack.name))
    except OSError as problem:
        return content, f"The state was cut off ({problem.strerror}). The next run restores it from {source}."


def _standing(now: Standing, one: Shown) -> Iterable[str]:
    """How far it came, by things of the blueprint."""
    actions = {change.action for change in one.plan.actual}
    if actions <= {Action.CREATE}:
        have, lack, what, done = "Exists now", "Does not exist", "resource", "created"
    elif actions <= {Action.DELETE}:
        have, lack, what, done = "Deleted", "Still exists", "resource", "deleted"
    else:
        have, lack, what, done = "Done", "Not done", "change", "done"
    if not now.from_state:
        yield "The state could not be read; this is what Terraform said:"
    yield f"{len(now.done)} of {counted(now.total, what)} {done}"
    sections = (
        (have, now.done),
        (lack, now.open),
        ("Half made; the next apply replaces it", now.half_made),
        ("Exists, but the saved state does not know it", now.unrecorded),
        ("May exist without being in the state; the next apply says so", now.uncertain),
    )
    for head, changes in sections:
        if changes:
            yield f"{head}:"
            yield from (f"  {line}" for line in _things(changes, one))


def _things(changes: Iterable[Change], one: Shown) -> Iterable[str]:
    """``clusters/main: cluster, node pool l4 (1 of 2)``: a line for each group of the plan's summary."""
    origins = runs.origins(one.stack)
    wholes: dict[tuple[str, str], int] = {}
    for change in one.plan.actual:
        where = place(change, origins)
        wholes[where.group, where.label] = wholes.get((where.group, where.label), 0) + 1
    parts: dict[tuple[str, str], int] = {}
    for change in changes:
        where = place(change, origins)
        parts[where.group, where.label] = parts.get((where.group, where.label), 0) + 1
    groups: dict[str, list[str]] = {}
    for (group, label), number in parts.items():
        whole = wholes[group, label]
        share = f" ({number} of {whole})" if number < whole else f" ({whole})" if label == "APIs" else ""
        groups.setdefault(group, []).append(f"{label}{share}")
    return [f"{group}: {', '.join(labels)}" for group, labels in sorted(groups.items())]


# -- how to go on


def _hint(one: Shown, failures: Sequence[Failure], error: GroundplanError, now: Standing) -> str:
    """What to do about each kind of error, and the command that goes on."""
    lines = list(dict.fromkeys(failure.known.action for failure in failures if failure.known))
    if not failures and not isinstance(error, Interrupted):
        lines += [error.hint] if error.hint else []
    graph = one.stack.graph
    existing = dict(now.ids)
    for failure in failures:
        if failure.known and failure.known.remedy == "adopt":
            for change in failure.changes:
                existing.setdefault(change.address, recovery.object_id(graph[change.address], graph))
    if existing:
        if any(map(recovery.only_google_knows, existing.values())):
            lines.append("Only Google knows what stands in capitals: look it up in the console.")
        return "\n".join([*lines, f"Take over: {taking_over(one, existing)}"])
    return "\n".join([*lines, f"Go on: {command(names=_left(one))}"])


def taking_over(one: Shown, existing: Mapping[str, str]) -> str:
    """The command that takes over what exists.

    Args:
        one: the plan.
        existing: address → id.
    """
    return command(*(f"--adopt={address}={id_}" for address, id_ in existing.items()), names=[one.stack.name])


def _left(one: Shown) -> Sequence[str]:
    """The environments to name if none was: where saved plans said which, the one that failed."""
    context = click.get_current_context(silent=True)
    values = context.params if context else {}
    return [one.stack.name] if values.get("bundles") and not values.get("names") else ()
