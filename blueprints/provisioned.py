"""What stops a real plan: keys that the language knows and groundplan does not provision yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from groundplan.blueprints.diagnostics import Diagnostic, in_order
from groundplan.blueprints.document import Document
from groundplan.blueprints.rules.base import BlueprintView, EnvironmentView, Problem
from groundplan.blueprints.rules.later import CODE, in_environment, top
from groundplan.blueprints.tree import Path


def provisioned_later(document: Document, environments: Collection[str] | None = None) -> list[Diagnostic]:
    """Errors for what ``validate`` only warns of, in the environments that are to be planned.

    Args:
        document: the blueprint.
        environments: names of environments; None for all of them.
    """
    written = document.written
    found = []
    for path, problem in _problems(document, environments):
        position, shown = written.locate(path, problem.at_key)
        hint = "Remove it, or plan offline."
        lines = written.source.lines
        found.append(Diagnostic("error", CODE, problem.message, shown, position, hint, (), lines))
    return list(in_order(found))


def _problems(document: Document, environments: Collection[str] | None) -> Iterator[tuple[Path, Problem]]:
    blueprint, written = document.blueprint, document.written
    for problem in top(BlueprintView(blueprint, written.root, {})):
        yield problem.path, problem
    for name, environment in blueprint.environments.items():
        if environments is None or name in environments:
            view = EnvironmentView(environment, blueprint, written.environments[name])
            for problem in in_environment(view):
                yield ("environments", name, *problem.path), problem
