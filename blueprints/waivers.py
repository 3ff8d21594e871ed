"""Waivers: what somebody decided to live with, where, why, and until when.

They stand in ``<blueprint>.waivers.yaml``, a list of maps. A waiver turns what a rule finds at its place into
a note. It is a promise to look again, so it expires, and a waiver of nothing is found as well. What Google
Cloud refuses, or what has no meaning, cannot be waived.

The same file holds waivers of policies on plans (``PLN204``); here only their form is checked.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from groundplan.blueprints.diagnostics import Diagnostic, Position, Severity
from groundplan.blueprints.explanations import Explanation, explanations
from groundplan.blueprints.files import read_source
from groundplan.blueprints.loader import parse
from groundplan.blueprints.model.basics import Model, Text
from groundplan.blueprints.quantities import Matching
from groundplan.blueprints.rules.construction import IMPOSSIBLE
from groundplan.blueprints.shapes import Shape, of_model
from groundplan.blueprints.structure import misfits, plain
from groundplan.blueprints.translation import refusals
from groundplan.blueprints.tree import Items, Node, Path, Source, dotted, find, undotted
from groundplan.blueprints.words import did_you_mean

POLICY = re.compile(r"PLN\d{3}")
LONGEST = datetime.timedelta(days=366)

#: Keys that hold things with names of their own: a waiver that names none of these things is for all of them.
_CONTAINERS = frozenset(
    {
        "environments",
        "clusters",
        "node_pools",
        "storage",
        "buckets",
        "disks",
        "workloads",
        "secrets",
        "registry",
    }
)


def _day(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            raise ValueError("a day is written 2027-03-31") from None
    return value


class Waiver(Model):
    """One waiver, as it is written."""

    id: Annotated[str, Matching(r"[A-Z]{2,3}[0-9]{3}", "an id is that of a rule or policy: CO027")] = Field(
        description="Code of the rule, or id of the policy."
    )
    where: Text = Field(description="An environment, or the path of a key with * for any name.")
    reason: Text = Field(description="Why it is right here.")
    owner: Text = Field(description="Who answers for it.")
    expires: Annotated[datetime.date, BeforeValidator(_day)] = Field(description="The last day it is valid.")

    def covers(self, path: Path) -> bool:
        """Whether a path, from the root of the file, is at or below its place."""
        steps, there = self.steps, path[1:] if path[:1] == ("environments",) else path
        return len(steps) <= len(there) and all(map(_fits, steps, there))

    @property
    def steps(self) -> tuple[str, ...]:
        """Its place step by step, from the name of an environment on."""
        steps = tuple(map(str, undotted(self.where)))
        if steps[:1] == ("environments",):
            return steps[1:]
        return ("*", *steps[1:]) if steps[:1] == ("defaults",) else steps

    def is_for_everything(self, environments: Collection[str]) -> bool:
        """Whether it names no place: nothing but wildcards, or all of several environments."""
        steps = self.steps
        if all(not step.strip("*?") for step in steps if step not in _CONTAINERS):
            return True
        return len(steps) == 1 < len(environments) and all(_fits(steps[0], name) for name in environments)


@dataclass
class Entry:
    """A waiver in its file, and what became of it."""

    waiver: Waiver
    node: Node
    used: bool = False
    refused: bool = False  #: it covers something that cannot be waived

    def diagnostic(self, severity: Severity, code: str, message: str, key: str, hint: str) -> Diagnostic:
        """What is to be said about one of its keys."""
        _, node, _ = find(self.node, (key,))
        return Diagnostic(severity, code, message, key, node.position, hint, (), node.source.lines)

    @property
    def position(self) -> Position:
        """Where it stands."""
        return self.node.position


@dataclass
class Waivers:
    """The waivers of one blueprint.

    Attributes:
        source: the file; None if there is none.
        entries: those that are well formed.
        mistakes: what is wrong with the others.
        today: the day on which they are judged.
    """

    source: Source | None = None
    entries: Sequence[Entry] = ()
    mistakes: Sequence[Diagnostic] = ()
    today: datetime.date = field(default_factory=datetime.date.today)

    def find(self, code: str, path: Path, severity: Severity, environments: Collection[str]) -> Entry | None:
        """The waiver that lets something pass; None if none does.

        Args:
            code: of the rule that found it.
            path: where, from the root of the file, below ``environments`` by name.
            severity: of what was found.
            environments: the names of all environments.
        """
        for entry in self.entries:
            waiver = entry.waiver
            if waiver.id == code and self._valid(waiver, environments) and waiver.covers(path):
                known = explanations()[code]
                if severity == "error" and not (known.severity == "error" and known.waivable):
                    entry.refused = True
                    continue
                entry.used = True
                return entry
        return None

    def findings(self, environments: Collection[str], *, complete: bool) -> Iterator[Diagnostic]:
        """What is to be said about the waivers themselves, after everything was judged.

        Args:
            environments: the names of all environments.
            complete: everything could be judged, so what is not used has no use.
        """
        yield from self.mistakes
        for entry in self.entries:
            yield from self._finding(entry, environments, complete)

    def _finding(self, entry: Entry, environments: Collection[str], complete: bool) -> Iterator[Diagnostic]:
        waiver, known = entry.waiver, explanations().get(entry.waiver.id)
        if POLICY.fullmatch(waiver.id):
            known = None
        elif known is None:
            near = did_you_mean(waiver.id, explanations()) or "`groundplan rules` lists them."
            hint = "That mistake cannot be made here: remove it." if _is_impossible(waiver.id) else near
            yield entry.diagnostic("error", "WV005", f"there is no rule {waiver.id}", "id", hint)
            return
        if known is not None and not entry.used and (entry.refused or not known.waivable):
            message = f"{waiver.id} cannot be waived: {_reason(known)}"
            hint = (
                f"Remove the waiver and change the blueprint. `groundplan explain {waiver.id}` says to what."
            )
            yield entry.diagnostic("error", "WV004", message, "id", hint)
        elif waiver.is_for_everything(environments):
            message = f"`where: {waiver.where}` waives {waiver.id} everywhere, so it is not applied"
            hint = "Name an environment, or a key: ml-dev.clusters.main.node_pools.l4"
            yield entry.diagnostic("warning", "WV003", message, "where", hint)
        elif waiver.expires < self.today:
            message = f"the waiver of {waiver.id} expired on {waiver.expires}"
            hint = f"Ask {waiver.owner}: remove it, or give it a new day."
            yield entry.diagnostic("warning", "WV001", message, "expires", hint)
        elif waiver.expires - self.today > LONGEST:
            message = f"the waiver of {waiver.id} lasts until {waiver.expires}, more than a year"
            hint = "Let it end within a year, and decide again then."
            yield entry.diagnostic("warning", "WV006", message, "expires", hint)
        elif known is not None and complete and not entry.used:
            message = f"the waiver of {waiver.id} waives nothing"
            hint = "Remove it, or correct `where`: messages name the paths of keys."
            yield entry.diagnostic("warning", "WV002", message, "where", hint)

    def _valid(self, waiver: Waiver, environments: Collection[str]) -> bool:
        return waiver.expires >= self.today and not waiver.is_for_everything(environments)


def waivers_path(blueprint: str | FilePath) -> FilePath:
    """The file of waivers of a blueprint: ``llm.waivers.yaml`` beside ``llm.yaml``."""
    path = FilePath(blueprint)
    return path.with_name(f"{path.stem}.waivers.yaml")


def read_waivers(path: FilePath, today: datetime.date | None = None) -> Waivers:
    """Read a file of waivers; a file that does not exist has none.

    Raises:
        InputError: it cannot be read.
        BlueprintError: it is not YAML.
    """
    if not path.exists():
        return Waivers()
    return waivers_of(read_source(path), today)


def waivers_of(source: Source, today: datetime.date | None = None) -> Waivers:
    """The waivers in a text; all mistakes in it are in ``mistakes``.

    Raises:
        BlueprintError: it is not YAML.
    """
    today = today or datetime.date.today()
    if all(not line.strip() or line.lstrip().startswith("#") for line in source.lines):
        return Waivers(source, today=today)
    root, mistakes = parse(source)
    item = of_model(Waiver)
    misspelt: set[Path] = set()
    for one in misfits(root, Shape("list", item=item)):
        mistakes.append(_mistake(source, one.code, one.message, one.path, one.node.position, one.hint))
        misspelt.add((*one.path[:-1], one.meant))
    entries = []
    for number, node in enumerate(root.items if isinstance(root, Items) else ()):
        left_out: list[Path] = []
        data = plain(node, item, left_out)
        try:
            entries.append(Entry(Waiver.model_validate(data), node))
        except ValidationError as error:
            told = {(number, *path) for path in left_out} | misspelt
            mistakes += _refused(source, root, number, error, data, told)
    return Waivers(source, entries, mistakes, today)


def _refused(
    source: Source, root: Node, number: int, error: ValidationError, data: Any, told: set[Path]
) -> Iterator[Diagnostic]:
    """What the model refused of one waiver, but for the places of which something was told already."""
    for refusal in refusals(error, data, of_model(Waiver)):
        path = (number, *refusal.path)
        if path in told:
            continue
        _, node, _ = find(root, path[:-1] if refusal.missing else path)
        yield _mistake(source, refusal.code, refusal.message, path, node.position, refusal.hint)


def _mistake(
    source: Source, code: str, message: str, path: Path, position: Position, hint: str
) -> Diagnostic:
    return Diagnostic("error", code, message, dotted(path), position, hint, (), source.lines)


def _fits(pattern: str, step: str | int) -> bool:
    """Whether one step of a path fits a pattern with ``*`` and ``?``."""
    if "*" not in pattern and "?" not in pattern:
        return pattern == str(step)
    return bool(re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), str(step)))


def _is_impossible(code: str) -> bool:
    return any(one.code == code for one in IMPOSSIBLE)


def _reason(known: Explanation) -> str:
    return "Google Cloud refuses it" if known.basis == "api" else "it has no meaning"
