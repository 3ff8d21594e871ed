"""Rules that look at one node pool: at its model and the facts about its machine, at nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groundplan.blueprints.diagnostics import Severity
from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import Basis, EnvironmentView, Problem, Rule, why
from groundplan.blueprints.rules.sources import cited

PoolCheck = Callable[[PoolView], Iterator[Problem]]

SEVERITY: dict[Basis, Severity] = {"api": "error", "language": "error", "peer": "error", "unwise": "warning"}


def pool_rule(
    code: str,
    title: str,
    *,
    basis: Basis,
    sources: str = "",
    source: str = "",
    severity: Severity | None = None,
) -> Callable[[PoolCheck], Rule]:
    """Makes a rule of a function that looks at one node pool.

    Args:
        code: its code.
        title: what it demands.
        basis: what it rests on; decides on the severity.
        sources: keys of the catalog's sources.
        source: in words, what is not in the catalog.
        severity: another one than that of the basis.
    """

    def made(check: PoolCheck) -> Rule:
        def environment(view: EnvironmentView) -> Iterator[Problem]:
            for pool in view.pool_views:
                yield from check(pool)

        said = "; ".join(filter(None, (cited(sources), source)))
        return Rule(
            code, severity or SEVERITY[basis], title, why(check), said, basis, environment, pool=check
        )

    return made
