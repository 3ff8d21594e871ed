"""How many nodes a pool has."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.facts.accelerators import catalog

GKE = "Google Cloud docs, About cluster autoscaling"


@environment_rule("ND001", "the fewest nodes are not more than the most", source=GKE)
def bounds(view: EnvironmentView) -> Iterator[Problem]:
    """GKE refuses a pool whose autoscaling minimum is above its maximum."""
    for path, _, pool in view.pools():
        if pool.nodes is not None and pool.nodes.min > pool.nodes.max:
            yield Problem(
                (*path, "nodes"),
                f"`min: {pool.nodes.min}` is more than `max: {pool.nodes.max}`",
                f"Write `nodes: {{min: {pool.nodes.max}, max: {pool.nodes.min}}}`.",
            )


@environment_rule("ND002", "a pool says how many nodes it has", source=GKE)
def number(view: EnvironmentView) -> Iterator[Problem]:
    """The number of machines is what a pool costs, so nothing is assumed.

    Where a TPU topology or the blocks of a reservation say it, `nodes` is not needed.
    """
    for path, _, pool in view.pools():
        reservation = pool.capacity.reservation
        counted = pool.topology is not None or (reservation is not None and reservation.blocks)
        if pool.nodes is None and not counted:
            yield Problem(
                (*path, "nodes"),
                f"`nodes` is missing in `{path[-1]}`",
                "Write a number, or `nodes: {min: 0, max: 4}` to scale with the load.",
            )


@environment_rule("ND003", "a cluster has a node pool", source=GKE, severity="warning")
def some_pool(view: EnvironmentView) -> Iterator[Problem]:
    """The default pool is removed, so a cluster without pools has no node, and its system pods never run."""
    for path, cluster in view.clusters():
        if not cluster.node_pools and not cluster.existing:
            yield Problem(
                path,
                f"the cluster `{path[-1]}` has no node pool",
                "Add one for its system pods: `system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}`.",
                at_key=True,
            )


@pool_rule("ND004", "a pool is not larger than the largest cluster", basis="unwise", sources="GKQ")
def many(view: PoolView) -> Iterator[Problem]:
    """A few digits too many cost more than any other slip."""
    most = catalog().limits.nodes.max_per_cluster
    if view.most_nodes > most:
        yield Problem(
            view.at("nodes") if view.writes("nodes") else view.at("slices"),
            f"the pool may have {view.most_nodes:,} nodes; the largest clusters of GKE have {most:,}",
            "Count the digits.",
        )
