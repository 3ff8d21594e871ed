"""What a rule is: a small function that looks at one environment or at the blueprint and yields problems.

The function's docstring is the answer to "why". Facts that age stand in ``groundplan.facts``; a rule names
the source of what it says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from groundplan.blueprints.diagnostics import Severity
from groundplan.blueprints.model import Blueprint, Cluster, Environment, NodePool
from groundplan.blueprints.tree import Map, Node, Path, find


@dataclass(frozen=True)
class Problem:
    """What a rule found.

    Attributes:
        path: where, from the root of the environment (or of the file, for a rule on the whole blueprint).
        message: what is wrong, without a full stop.
        hint: what to write instead.
        related: further places, each with what it is.
        at_key: the key is wrong or the value is missing, so the key is what to show.
    """

    path: Path
    message: str
    hint: str = ""
    related: tuple[tuple[str, Path], ...] = ()
    at_key: bool = False


@dataclass(frozen=True)
class EnvironmentView:
    """One environment as a rule sees it: the models, and what was written."""

    environment: Environment
    blueprint: Blueprint
    tree: Map

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
        environment: its function, if it looks at one environment.
        whole: its function, if it looks at the whole blueprint.
    """

    code: str
    severity: Severity
    title: str
    why: str
    source: str
    environment: Callable[[EnvironmentView], Iterator[Problem]] | None = None
    whole: Callable[[BlueprintView], Iterator[Problem]] | None = None


def environment_rule(
    code: str, title: str, *, source: str, severity: Severity = "error"
) -> Callable[[Callable[[EnvironmentView], Iterator[Problem]]], Rule]:
    """Makes a rule of a function that looks at one environment."""
    return lambda check: Rule(code, severity, title, _why(check), source, environment=check)


def blueprint_rule(
    code: str, title: str, *, source: str, severity: Severity = "error"
) -> Callable[[Callable[[BlueprintView], Iterator[Problem]]], Rule]:
    """Makes a rule of a function that looks at the whole blueprint."""
    return lambda check: Rule(code, severity, title, _why(check), source, whole=check)


def _why(check: Callable[..., object]) -> str:
    return inspect.getdoc(check) or ""
