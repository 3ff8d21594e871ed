"""Notebooks behind a service perimeter."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.model import PerimeterRule
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.tree import Path

DOCS = "Google Cloud docs, VPC Service Controls, Ingress and egress rules (2026-04-10); checked 2026-11-30"
SERVICE = "notebooks.googleapis.com"


@environment_rule("VS001", "rules for notebooks name who may come", source=DOCS)
def named(view: EnvironmentView) -> Iterator[Problem]:
    """A class of principals does not open notebooks.googleapis.com; only identities do."""
    for path, rule in _rules(view):
        kind = rule.from_.identity_type
        if kind in ("any-user", "any-service-account") and SERVICE in rule.to.services:
            yield Problem(
                (*path, "from", "identity_type"),
                f"`identity_type: {kind}` does not open {SERVICE}",
                "List the principals under `identities`.",
                (("the service", (*path, "to", "services", SERVICE)),),
            )


def _rules(view: EnvironmentView) -> Iterator[tuple[Path, PerimeterRule]]:
    """Every rule of the perimeter with its path, those on trial too."""
    perimeter, trial = view.environment.perimeter, view.environment.perimeter.dry_run
    places = [(("perimeter",), perimeter.ingress, perimeter.egress)]
    if trial is not None:
        places.append((("perimeter", "dry_run"), trial.ingress or {}, trial.egress or {}))  # type: ignore[arg-type]
    for path, ingress, egress in places:
        for direction, rules in (("ingress", ingress), ("egress", egress)):
            for title, rule in rules.items():
                yield (*path, direction, title), rule
