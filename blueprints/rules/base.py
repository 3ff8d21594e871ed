"""What a rule is: a small function that looks at one environment or at the blueprint and yields problems.

The function's docstring is the answer to "why". Facts that age stand in ``groundplan.facts``; a rule names
the source of what it says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from groundplan.blueprints.diagnostics import Severity
from groundplan.blueprints.model import Blueprint, Cluster, Environment, NodePool
from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.tree import Map, Node, Path, find

LANGUAGE = "The blueprint language"

#: What a rule rests on: Google Cloud or its provider refuses what breaks it; the language itself makes no
#: sense of it; other tools refuse it, Google Cloud perhaps not; or it works and is probably not meant.
Basis = Literal["api", "language", "peer", "unwise"]


@dataclass(frozen=True)
class Problem:
    """What a rule found.

    Attributes:
        path: where, from the root of the environment (or of the file, for a rule on the whole blueprint).
        message: what is wrong, without a full stop.
        hint: what to write instead.
        related: further places, each with what it is.
        at_key: the key is wrong or the value is missing, so the key is what to show.
        severity: another one than its rule's: where sources contradict each other, nothing is refused.
    """

    path: Path
    message: str
    hint: str = ""
    related: tuple[tuple[str, Path], ...] = ()
    at_key: bool = False
    severity: Severity | None = None


@dataclass(frozen=True, eq=False)
class EnvironmentView:
    """One environment as a rule sees it: the models, and what was written."""

    environment: Environment
    blueprint: Blueprint
    tree: Map
    left_out: Collection[Path] = ()  #: places whose values were wrong, from the environment's root

    def names(self, *path: str) -> Collection[str] | None:
        """The keys that are written at a place, with a valid value or not; None if no map stands there."""
        _, node, steps = find(self.tree, path)
        if steps < len(path):
            return ()
        return node.entries if isinstance(node, Map) else None

    def clusters(self) -> Iterator[tuple[Path, Cluster]]:
        """Each cluster with its path."""
        for name, cluster in self.environment.clusters.items():
            yield ("clusters", name), cluster

    def pools(self) -> Iterator[tuple[Path, Cluster, NodePool]]:
        """Each node pool with its path and its cluster."""
        for path, cluster in self.clusters():
            for name, pool in cluster.node_pools.items():
                yield (*path, "node_pools", name), cluster, pool

    @cached_property
    def pool_views(self) -> tuple[PoolView, ...]:
        """Each node pool with what is needed to judge it."""
        environment = self.environment
        return tuple(
            PoolView(
                key=str(path[-1]),
                pool=pool,
                cluster=cluster,
                region=environment.cluster_region(cluster),
                tier=environment.tier,
                path=path,
                reservations=self.blueprint.external.reservations,
                unread={str(one[len(path)]) for one in self.left_out if one[:-1] == path},
            )
            for path, cluster, pool in self.pools()
        )


@dataclass(frozen=True)
class BlueprintView:
    """The whole blueprint as a rule sees it."""

    blueprint: Blueprint
    root: Node  #: the file as it is written, before the merge
    environments: Mapping[str, EnvironmentView]


@dataclass(frozen=True)
class Rule:
    """A rule of the language.

    Attributes:
        code: two letters for the area, three digits.
        severity: of what it finds.
        title: what it demands, for lists.
        why: what happens otherwise.
        source: where that is said.
        basis: what it rests on.
        environment: its function, if it looks at one environment.
        whole: its function, if it looks at the whole blueprint.
        pool: its function for one node pool, if ``environment`` calls it for each.
    """

    code: str
    severity: Severity
    title: str
    why: str
    source: str
    basis: Basis
    environment: Callable[[EnvironmentView], Iterator[Problem]] | None = None
    whole: Callable[[BlueprintView], Iterator[Problem]] | None = None
    pool: Callable[[PoolView], Iterator[Problem]] | None = None


def environment_rule(
    code: str, title: str, *, source: str, severity: Severity = "error", basis: Basis | None = None
) -> Callable[[Callable[[EnvironmentView], Iterator[Problem]]], Rule]:
    """Makes a rule of a function that looks at one environment."""
    basis = basis or usual_basis(source, severity)
    return lambda check: Rule(code, severity, title, why(check), source, basis, environment=check)


def blueprint_rule(
    code: str, title: str, *, source: str, severity: Severity = "error", basis: Basis | None = None
) -> Callable[[Callable[[BlueprintView], Iterator[Problem]]], Rule]:
    """Makes a rule of a function that looks at the whole blueprint."""
    basis = basis or usual_basis(source, severity)
    return lambda check: Rule(code, severity, title, why(check), source, basis, whole=check)


def usual_basis(source: str, severity: Severity) -> Basis:
    """What a rule that does not say it rests on."""
    if severity != "error":
        return "unwise"
    return "language" if source == LANGUAGE else "api"


def why(check: Callable[..., object]) -> str:
    """The docstring of a rule's function."""
    return inspect.getdoc(check) or ""
