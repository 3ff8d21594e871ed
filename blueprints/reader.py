"""Reading a blueprint: text → tree → one merged tree per environment → models → rules; all problems at once.

Each step goes on with what was right in the step before, so that one run reports every mistake of a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import ValidationError

from groundplan.blueprints import naming
from groundplan.blueprints.diagnostics import Diagnostic, Position, Severity, in_order
from groundplan.blueprints.document import Document, Written
from groundplan.blueprints.files import STDIN, read_source
from groundplan.blueprints.findings import Findings
from groundplan.blueprints.loader import MOST_NODES, parse
from groundplan.blueprints.merge import idle_nulls, merged
from groundplan.blueprints.model import (
    TIERS,
    Blueprint,
    BlueprintFile,
    BlueprintHead,
    Environment,
    EnvironmentSpec,
    Model,
)
from groundplan.blueprints.rules import RULES
from groundplan.blueprints.rules.base import BlueprintView, EnvironmentView, Problem, Rule
from groundplan.blueprints.shapes import Shape, of_model
from groundplan.blueprints.structure import fits, misfits, plain
from groundplan.blueprints.translation import Refusal, refusals
from groundplan.blueprints.tree import Entry, Map, Node, Path, Scalar, Source, is_null, scalars
from groundplan.blueprints.waivers import Waivers, read_waivers, waivers_path
from groundplan.blueprints.words import did_you_mean, listed, quoted
from groundplan.errors import BlueprintError

FILE = of_model(BlueprintFile)
SPEC = of_model(EnvironmentSpec)
HEAD = of_model(BlueprintHead)

#: What stands in for a required value at the top that is missing or wrong, so that the rest can be judged.
STAND_INS = {"apiVersion": "groundplan/v1", "name": "unnamed"}

#: Nobody reads more; each costs a search for what was meant.
MOST_MISFITS = 1000

#: Each round leaves out what was wrong; a value that is missing then takes away one level more.
MOST_ROUNDS = 20

M = TypeVar("M", bound=Model)


def read(path: str | FilePath, text: str | None = None, waivers: Waivers | None = None) -> Document:
    """Read and judge a blueprint.

    Args:
        path: the file, or ``-`` for stdin.
        text: its content, where it is known already; ``path`` is then only its name.
        waivers: what is waived; left out, what the file beside the blueprint says.

    Returns:
        A document without errors; its warnings and notes are in ``diagnostics``.

    Raises:
        InputError: the file cannot be read.
        BlueprintError: there are errors; all diagnostics, warnings included, by position.
    """
    source = read_source(path) if text is None else Source(str(path), text.removeprefix("\ufeff"))
    if waivers is None and text is None and str(path) != STDIN:
        waivers = read_waivers(waivers_path(path))
    document, diagnostics = judge(source, waivers)
    found = in_order(diagnostics)
    if document is None or any(one.severity == "error" for one in found):
        raise BlueprintError(found)
    return Document(document.blueprint, found, document.written)


def judge(source: Source, waivers: Waivers | None = None) -> tuple[Document | None, list[Diagnostic]]:
    """What can be made of a blueprint, and everything that is to be said about it; None if that is nothing.

    Raises:
        BlueprintError: it is not YAML.
    """
    root, syntax = parse(source)
    reading = _Reading(source, root, waivers or Waivers())
    document = reading.document()
    return document, [*syntax, *reading.diagnostics()]


class _Reading:
    """One run over one file."""

    def __init__(self, source: Source, root: Node, waivers: Waivers) -> None:
        self.source = source
        self.waivers = waivers
        self.findings = Findings(source)
        self.file = root
        self.root = root if isinstance(root, Map) else Map(source, root.start, root.end)
        self.written = Written(source, self.root, {})
        self.misspelt: set[Path] = set()  #: keys that are there, but misspelt: not missing
        self.left_out: set[Path] = set()  #: paths whose values were wrong: rules on them would mislead
        self.gone: set[Path] = set()  #: those of them that are whole items, so that what holds them lacks one

    def diagnostics(self) -> list[Diagnostic]:
        """Everything that is to be said, about the waivers too."""
        environments = self.written.environments
        found = self.findings.diagnostics(len(environments))
        return [*found, *self.waivers.findings(environments, complete=not self.left_out)]

    def document(self) -> Document | None:
        """All steps in turn."""
        for misfit in islice(misfits(self.file, FILE), MOST_MISFITS):
            self.findings.add(
                "error", misfit.code, misfit.message, misfit.path, misfit.node.position, misfit.hint
            )
            if misfit.meant:
                self.misspelt.add((*misfit.path[:-1], misfit.meant))
        if self.file is not self.root:
            return None
        defaults = self.root.entries.get("defaults")
        specs = self._environments()
        if defaults is not None and isinstance(defaults.value, Map):
            if len(specs) * sum(1 for _ in scalars(defaults.value)) > MOST_NODES:
                message = f"{len(specs)} environments with these defaults are more than can be held"
                self.report("error", "SY005", message, ("defaults",), "Split the platform.", at_key=True)
                return None
            self._judge_defaults(defaults.value)
        self.written = Written(
            self.source,
            self.root,
            {name: self._merged(defaults, name, entry) for name, entry in specs.items()},
        )
        head = self._head()
        blueprint = Blueprint.model_construct(
            _fields_set=None,
            **dict(head),
            environments={name: self._environment(head, name) for name in self.written.environments},
        )
        self._judge(blueprint)
        return Document(blueprint, (), self.written)

    def _environments(self) -> dict[str, Entry]:
        """The environments as they are written."""
        entry = self.root.entries.get("environments")
        if entry is None or not isinstance(entry.value, Map) or not entry.value.entries:
            if entry is None or fits(entry.value, FILE.step("environments")) or is_null(entry.value):
                hint = "List them: `environments: {ml-dev: {}}`."
                self.report(
                    "error", "BP002", "there are no environments", ("environments",), hint, at_key=True
                )
            return {}
        for name, one in entry.value.entries.items():
            if not naming.is_name(name):
                hint = "A name has lower-case letters, digits and hyphens, and begins with a letter."
                message = f"{quoted(name)} cannot be the name of an environment"
                self.findings.add("error", "BP003", message, ("environments", name), one.key.position, hint)
                self.left_out.add(("environments", name, "project"))
        return {
            name: one
            for name, one in entry.value.entries.items()
            if fits(one.value, SPEC) or is_null(one.value)
        }

    def _judge_defaults(self, defaults: Map) -> None:
        """Report wrong values in the defaults even where every environment replaces them."""
        data = plain(merged(None, defaults, SPEC), SPEC, [])
        try:
            EnvironmentSpec.model_validate(data)
        except ValidationError as error:
            for refusal in refusals(error, data, SPEC):
                if not refusal.missing:
                    self.refuse(refusal, ("defaults",))

    def _merged(self, defaults: Entry | None, name: str, entry: Entry) -> Map:
        """An environment laid on the defaults."""
        under = defaults.value if defaults is not None else None
        over = entry.value
        if is_null(over):
            message = f"null does not remove the environment {quoted(name)}; it is empty"
            self.report(
                "warning", "BP005", message, ("environments", name), "Leave the value blank.", at_key=True
            )
            over = Scalar(self.source, entry.key.end, entry.key.end, "")
        for path, idle, known in idle_nulls(under, over, SPEC):
            message = f"null removes nothing: the defaults do not set {quoted(idle.key.text)}"
            hint = did_you_mean(idle.key.text, known) or "Remove the line."
            self.findings.add(
                "warning", "BP005", message, ("environments", name, *path), idle.key.position, hint
            )
        result = merged(under, over, SPEC)
        return result if isinstance(result, Map) else Map(self.source, over.start, over.end)

    def _head(self) -> BlueprintHead:
        """The top of the file; wrong values replaced by stand-ins."""
        tree = Map(self.source, self.root.start, self.root.end)
        tree.entries = {
            name: one for name, one in self.root.entries.items() if name not in ("defaults", "environments")
        }
        head = self._validated(BlueprintHead, merged(None, tree, HEAD), HEAD, ())
        return head if head is not None else BlueprintHead.model_validate(STAND_INS)

    def _environment(self, head: BlueprintHead, name: str) -> Environment:
        """One environment, complete."""
        path: Path = ("environments", name)
        spec = self._validated(EnvironmentSpec, self.written.environments[name], SPEC, path)
        spec = spec if spec is not None else EnvironmentSpec()
        project = naming.project_id(head.name, name, head.names, spec.project)
        buckets = {
            key: naming.bucket_of(head.name, name, project, key, head.names, bucket)
            for key, bucket in spec.storage.buckets.items()
        }
        tier = spec.tier or TIERS.get(name)
        if tier is None:
            if (*path, "tier") not in self.left_out:
                hint = f"Add `tier:`. Only {listed(list(TIERS), 'and')} imply theirs."
                self.report(
                    "error", "BP004", f"the environment {quoted(name)} has no tier", path, hint, at_key=True
                )
            self.left_out.add((*path, "tier"))
            tier = "development"
        complete = {
            "name": name,
            "tier": tier,
            "protect": tier != "development" if spec.protect is None else spec.protect,
            "platform": head.name,
            "project_id": project,
            "bucket_names": buckets,
        }
        return Environment.model_construct(spec.model_fields_set, **{**dict(spec), **complete})

    def _validated(self, model: type[M], tree: Node, shape: Shape, path: Path) -> M | None:
        """The model of a tree. What is wrong is reported and left out, and the rest is tried again."""
        left_out: list[Path] = []
        data = plain(tree, shape, left_out)
        dropped = set(left_out) | self._misspelt_in(path)
        result: M | None = None
        for _ in range(MOST_ROUNDS):
            try:
                result = model.model_validate(data)
                break
            except ValidationError as error:
                before = set(dropped)
                for refusal in list(refusals(error, data, shape)):
                    if not any(refusal.path[: len(one)] == one for one in before):
                        self.refuse(refusal, path)
                    dropped |= _leave_out(data, refusal, shape)
            if not path:
                data = {**STAND_INS, **data}
        self.left_out |= {(*path, *one) for one in dropped}
        self.gone |= {(*path, *one) for one in dropped if shape.walk(one).kind == "model"}
        return result

    def _misspelt_in(self, prefix: Path) -> set[Path]:
        """The keys that are misspelt below a path, in an environment also those of the defaults."""
        prefixes = [prefix, ("defaults",)] if prefix else [prefix]
        return {path[len(one) :] for one in prefixes for path in self.misspelt if path[: len(one)] == one}

    def _judge(self, blueprint: Blueprint) -> None:
        """Run the rules."""
        views = {
            name: EnvironmentView(
                environment,
                blueprint,
                self.written.environments[name],
                {one[2:] for one in self.left_out if one[:2] == ("environments", name)},
            )
            for name, environment in blueprint.environments.items()
        }
        whole = BlueprintView(blueprint, self.root, views)
        for rule in RULES:
            if rule.environment is not None:
                for name, view in views.items():
                    self._take(rule, rule.environment(view), ("environments", name))
            if rule.whole is not None:
                self._take(rule, rule.whole(whole), ())

    def _take(self, rule: Rule, problems: Iterable[Problem], prefix: Path) -> None:
        for problem in problems:
            path = (*prefix, *problem.path)
            if not self._misled(path, rule):
                related = tuple(
                    (label, self.written.locate((*prefix, *other))[0]) for label, other in problem.related
                )
                severity, message, hint = problem.severity or rule.severity, problem.message, problem.hint
                waived = self.waivers.find(rule.code, path, severity, self.written.environments)
                if waived is not None:
                    by = waived.waiver
                    severity, hint = "note", by.reason
                    message += f"; waived by {by.owner} until {by.expires}"
                    related += (("the waiver", waived.position),)
                self.report(severity, rule.code, message, path, hint, related, at_key=problem.at_key)

    def _misled(self, path: Path, rule: Rule) -> bool:
        """Whether a problem may only be there because something wrong was left out."""
        if rule.code.startswith("NM") and self.left_out & {("name",), ("names",)}:
            return True
        beyond = any(path[: len(one)] == one for one in self.left_out)
        return beyond or any(one[: len(path)] == path for one in self.gone)

    def refuse(self, refusal: Refusal, prefix: Path) -> None:
        """Report what a model refused."""
        path = (*prefix, *refusal.path)
        if refusal.missing:
            position, around = self.written.locate(path[:-1], at_key=True)
            shown = f"{around}.{path[-1]}" if around else str(path[-1])
        else:
            position, shown = self.written.locate(path, refusal.at_key)
        self.findings.add("error", refusal.code, refusal.message, path, position, refusal.hint, shown=shown)

    def report(
        self,
        severity: Severity,
        code: str,
        message: str,
        path: Path,
        hint: str = "",
        related: tuple[tuple[str, Position], ...] = (),
        *,
        at_key: bool = False,
    ) -> None:
        """Report a problem with what stands at a path, with its place in the file."""
        position, shown = self.written.locate(path, at_key)
        self.findings.add(severity, code, message, path, position, hint, related, shown)


def _leave_out(data: Any, refusal: Refusal, shape: Shape) -> set[Path]:
    """Remove from ``data`` what a model refused; returns the path of what is gone.

    A missing key takes away what should hold it. A value inside a list or inside one decision takes away the
    list or the decision.
    """
    path = refusal.path[:-1] if refusal.missing else refusal.path
    for length in range(len(path) + 1):
        if length < len(path) and shape.walk(path[:length]).whole:
            path = path[:length]
            break
    holder = data
    for step in path[:-1]:
        holder = holder.get(step) if isinstance(holder, dict) else None
    if path and isinstance(holder, dict):
        holder.pop(path[-1], None)
    gone = {path} if path else set()
    return gone | ({refusal.path} if refusal.missing else set())
