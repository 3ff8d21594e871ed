"""Commands about the rules of the language: rules, explain. Neither reads a blueprint."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from groundplan.blueprints.words import did_you_mean
from groundplan.cli.columns import aligned, beside
from groundplan.cli.options import output_options
from groundplan.cli.output import Output
from groundplan.errors import UsageError

if TYPE_CHECKING:
    from groundplan.blueprints.explanations import Explanation

INDENT = 10  #: of the texts of an explanation


@click.command(short_help="List what is checked in a blueprint, and what each check rests on.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Only rules with this tag: an area (capacity, tpu), a severity, or a basis (api, peer, unwise). "
    "Several narrow further.",
)
@output_options
def rules(tags: tuple[str, ...], output: Output) -> None:
    """List every rule: its code, what breaking it is, what it rests on, what it demands.

    \b
    Example:
      groundplan rules --tag capacity --tag peer
    """
    from groundplan.blueprints.explanations import explanations

    every = list(explanations().values())
    known = {tag for one in every for tag in one.tags}
    for tag in tags:
        if tag not in known:
            hint = f"{did_you_mean(tag, known)} There are: {', '.join(sorted(known))}.".strip()
            raise UsageError(f"no rule has the tag `{tag}`", hint=hint)
    found = [one for one in every if {*tags} <= {*one.tags}]
    if output.as_json:
        output.document([_summary(one) for one in found])
    else:
        rows = [(one.code, one.severity, one.basis, one.title) for one in found]
        output.result("\n".join(aligned(rows)) if rows else "no rule has all of these tags")


@click.command(short_help="Say what a code means: why, who says so, examples, whether it can be waived.")
@click.argument("code", metavar="CODE")
@output_options
def explain(code: str, output: Output) -> None:
    """Explain the code of a message: what it demands and why, a bad and a good example, how to waive it.

    \b
    Example:
      groundplan explain CO006
    """
    told = _explained(code.upper())
    if output.as_json:
        output.document(told)
    else:
        output.result("\n".join(_lines(told, output)))


def _summary(one: Explanation) -> dict[str, Any]:
    """The documented shape of an entry of ``rules --json``."""
    return {
        "code": one.code,
        "title": one.title,
        "severity": one.severity,
        "basis": one.basis,
        "waivable": one.waivable,
        "tags": list(one.tags),
        "source": one.source,
    }


def _explained(code: str) -> dict[str, Any]:
    """The documented shape of ``explain --json``.

    Raises:
        UsageError: there is no such code.
    """
    from groundplan.blueprints.explanations import explanations
    from groundplan.blueprints.rules.construction import IMPOSSIBLE, SAID_BY
    from groundplan.blueprints.rules.examples import example

    known = explanations()
    one = known.get(SAID_BY.get(code, code))
    if one is not None:
        shown = example(one.code)
        examples = {"bad": shown.bad if shown else None, "good": shown.good if shown else None}
        return {**_summary(one), "why": _plain(one.why), "possible": True, **examples}
    impossible = next((one for one in IMPOSSIBLE if one.code == code), None)
    if impossible is None:
        near = did_you_mean(code, [one for one in known if one[:2] == code[:2]])
        hint = f"{near} `groundplan rules` lists the codes.".strip()
        raise UsageError(f"there is no code {code}", hint=hint)
    return {
        "code": impossible.code,
        "title": impossible.title,
        **dict.fromkeys(("severity", "basis", "waivable", "tags", "source")),
        "why": _plain(impossible.why),
        "possible": False,
        "bad": None,
        "good": None,
    }


def _lines(told: dict[str, Any], output: Output) -> Iterator[str]:
    from groundplan.blueprints.explanations import BASES

    style = output.out
    severity = f" ({style(told['severity'], told['severity'])})" if told["possible"] else ""
    yield f"{style(told['code'], 'heading')}{severity}  {told['title']}"
    yield ""
    if not told["possible"]:
        yield from beside("never", f"This mistake cannot be made here. {told['why']}", indent=INDENT)
        return
    yield from beside("why", told["why"], indent=INDENT)
    yield from beside("basis", BASES[told["basis"]], indent=INDENT)
    yield from beside("source", told["source"], indent=INDENT)
    yield from beside("waiver", _waiver(told), indent=INDENT)
    for label in ("bad", "good"):
        if told[label]:
            yield from ("", f"{label}:", textwrap.indent(told[label].rstrip(), "    "))


def _waiver(told: dict[str, Any]) -> str:
    if told["waivable"]:
        keys = f"{{id: {told['code']}, where: ml-dev, reason: …, owner: …, expires: 2027-03-31}}"
        return f"possible, in BLUEPRINT.waivers.yaml: - {keys}"
    if told["basis"] == "api":
        return "none: with a waiver the apply would fail."
    return "none: there would be nothing to make."


def _plain(text: str) -> str:
    """A docstring as running text."""
    return " ".join(text.replace("``", "`").split())
