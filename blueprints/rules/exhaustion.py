"""Address ranges that the node pools of their cluster can exhaust."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from groundplan.blueprints.capacity_arithmetic import RangeUse, range_uses
from groundplan.blueprints.diagnostics import Diagnostic, in_order
from groundplan.blueprints.model import Cluster, Environment
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.ranges import GKE, LONGEST_PREFIX
from groundplan.blueprints.tree import Path

if TYPE_CHECKING:
    from groundplan.blueprints.document import Document
    from groundplan.blueprints.lock import Lock

CODE = "IP004"


@environment_rule(CODE, "ranges hold the nodes that pools may have", source=GKE)
def exhausted_ranges(view: EnvironmentView) -> Iterator[Problem]:
    """A pool stops growing when no address is left, in the middle of a run, and an upgrade of it fails.

    Counted are the most nodes of all pools with the one that an upgrade adds, and for pods the block of
    addresses that each node gets. Ranges that `groundplan lock` allocates are checked by `groundplan quota`.
    """
    written = {
        str(path[-1]): {"nodes": cluster.ranges.nodes, "pods": cluster.ranges.pods}
        for path, cluster in view.clusters()
    }
    yield from exhausted(view.environment, written)


def exhausted(
    environment: Environment, ranges: Mapping[str, Mapping[str, IPv4Network | None]]
) -> Iterator[Problem]:
    """The ranges of an environment's clusters that are too small for what their pools may have.

    Args:
        environment: the environment.
        ranges: by cluster and kind; None for a range that is not known.

    Returns:
        Problems at the range where the blueprint fixes it, else at the pool that takes most of it. Ranges
        that are too small for any cluster are another rule's.
    """
    for key, known in ranges.items():
        cluster = environment.clusters[key]
        for use in range_uses(cluster, known):
            if use.exhausted and use.network.prefixlen <= LONGEST_PREFIX[use.kind]:
                yield _problem(("clusters", key), cluster, use)


def in_lock(document: Document, lock: Lock, environments: Collection[str]) -> list[Diagnostic]:
    """Errors for the ranges that the lock holds, with their places in the blueprint.

    Args:
        document: a blueprint without errors, so that the ranges it fixes are large enough.
        lock: with ranges for all clusters.
        environments: names of the environments to look at.
    """
    written, found = document.written, []
    for name in environments:
        held = {key: ranges.by_kind() for key, ranges in lock.environment(name).ranges.items()}
        environment = document.blueprint.environments[name]
        known = {key: held[key] for key in environment.clusters if key in held}
        for problem in exhausted(environment, known):
            position, shown = written.locate(("environments", name, *problem.path))
            message = f"{problem.message} (in {name})"
            lines = written.source.lines
            found.append(Diagnostic("error", CODE, message, shown, position, problem.hint, (), lines))
    return list(in_order(found))


def _problem(path: Path, cluster: Cluster, use: RangeUse) -> Problem:
    largest = max(use.by_pool, key=lambda pool: use.by_pool[pool])
    pool = (*path, "node_pools", largest, "nodes")
    message = (
        f"{use.network} has {use.holds:,} addresses for {use.kind}; "
        f"with upgrades the pools may need {use.needs:,}"
    )
    if getattr(cluster.ranges, use.kind) is not None:
        label = f"`{largest}` takes most of them, {use.by_pool[largest]:,}"
        hint = f"Choose a /{use.prefix} or larger, or leave it out."
        return Problem((*path, "ranges", use.kind), message, hint, related=((label, pool),))
    fewer = "`nodes`" if use.kind == "nodes" else "`nodes` or `max_pods_per_node`"
    hint = (
        f"Lower {fewer}. Or, if the cluster was never made, write `ranges: {{{use.kind}: …}}` "
        f"with a /{use.prefix} or larger and remove its ranges from the lock."
    )
    return Problem(pool, message, hint)
