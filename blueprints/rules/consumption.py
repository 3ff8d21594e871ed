"""How machines are obtained: on demand, Spot, flex-start, queued."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.quantities import duration
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.rules.sources import both_sides, cited, dispute
from groundplan.blueprints.versions import older
from groundplan.blueprints.words import listed
from groundplan.facts.accelerators import Machine, catalog

#: What somebody who wanted a way that does not exist may write, best first.
WAYS = ("reservation", "spot", "flex-start", "on-demand")


@pool_rule(
    "CO006", "a pool that waits for machines has no fixed number of nodes", basis="peer", sources="CT CTX"
)
def fixed_number(view: PoolView) -> Iterator[Problem]:
    """Flex-start and queued pools begin with no node and get machines when there are some."""
    nodes = view.pool.nodes
    if view.waits and nodes is not None and nodes.fixed:
        kind = view.kind
        yield Problem(
            view.at("nodes"),
            f"a {kind} pool has no fixed number of nodes",
            f"Write `nodes: {{min: 0, max: {nodes.max}}}`.",
            view.because(f"it is {kind} here", "capacity"),
        )


@pool_rule("CO008", "a pool that waits for machines starts from none", basis="api", sources="CT FSG")
def minimum(view: PoolView) -> Iterator[Problem]:
    """GKE refuses a queued pool with a minimum, and shows none for flex-start."""
    nodes = view.pool.nodes
    if view.waits and nodes is not None and not nodes.fixed and nodes.min > 0:
        kind = view.kind
        yield Problem(
            view.at("nodes"),
            f"the fewest nodes of a {kind} pool are 0, not {nodes.min}",
            f"Write `nodes: {{min: 0, max: {nodes.max}}}`.",
            view.because(f"it is {kind} here", "capacity"),
        )


@pool_rule("CO009", "machines of flex-start run for at most seven days", basis="api", sources="FSG DWS CA")
def longest_run(view: PoolView) -> Iterator[Problem]:
    """They are lent for a week at most; GKE refuses a longer limit."""
    limit, asked = catalog().limits.flex_start.max_run_seconds, view.pool.max_run_seconds
    if view.waits and asked is not None and asked > limit:
        yield Problem(
            view.at("max_run_duration"),
            f"{view.kind} machines run for at most {duration(limit)}, not {duration(asked)}",
            f"Write `max_run_duration: {duration(limit)}`, and let runs begin again from checkpoints.",
            view.because(f"it is {view.kind} here", "capacity"),
        )


@pool_rule("CO012", "the cluster is new enough for flex-start", basis="api", sources="DWS QP FSG")
def too_old(view: PoolView) -> Iterator[Problem]:
    """GKE learnt flex-start for GPUs in 1.32.2, or in 1.33.0 by a newer guide; for TPUs in 1.33.0."""
    version = view.cluster.min_version
    if not view.waits or version is None:
        return
    features = catalog().features
    newest = features["flex_start_tpu"].min_gke
    least = newest if view.is_tpu else features["flex_start_gpu"].min_gke
    if older(version, newest):
        refused = older(version, least)
        disputed = dispute("first GKE version with flex-start for GPUs")
        hint = f"Raise `min_version` to {least if refused else newest} or newer."
        yield Problem(
            view.cluster_at("min_version"),
            f"GKE {version} {'is' if refused else 'may be'} too old for the {view.kind} pool `{view.key}`",
            hint if refused or disputed is None else f"{hint} {both_sides(disputed)}",
            view.because("the pool", "capacity"),
            severity=None if refused else "warning",
        )


@pool_rule(
    "CO013",
    "machines with GPUs are obtained by flex-start where that is offered",
    basis="api",
    sources="AO CA",
)
def no_flex_start(view: PoolView) -> Iterator[Problem]:
    """A4X machines come from reservations only. On A3 Edge sources disagree, so it is warned of."""
    if view.waits and view.machine is not None and not view.is_tpu:
        yield from _not_offered(view, view.machine)


@pool_rule("CO014", "machines are Spot where that is offered", basis="api", sources="AO")
def no_spot(view: PoolView) -> Iterator[Problem]:
    """A4X machines come from reservations only."""
    if view.kind == "spot" and view.machine is not None:
        yield from _not_offered(view, view.machine)


@pool_rule("CO015", "machines of A4X come from a named reservation", basis="api", sources="AO")
def reservation_only(view: PoolView) -> Iterator[Problem]:
    """There are none on demand, and none that any reservation gives."""
    machine = view.machine
    if machine is not None and machine.offers("any-reservation") is False and _unreserved(view):
        yield from _not_offered(view, machine)


@pool_rule("CO016", "machines of A3 Ultra and A4 are not obtained on demand", basis="api", sources="AO")
def no_on_demand(view: PoolView) -> Iterator[Problem]:
    """They are too scarce: a reservation, Spot or flex-start gives some."""
    machine = view.machine
    if machine is None or view.kind != "on-demand" or machine.offers("any-reservation") is False:
        return
    if machine.offers("reservation"):
        yield from _not_offered(view, machine)


@pool_rule("CO017", "small A3 High machines are Spot or flex-start", basis="api", sources="AO")
def spot_or_flex_start(view: PoolView) -> Iterator[Problem]:
    """A3 High machines with one, two or four GPUs are sold in these two ways.

    Whether reservations have them is not confirmed, so that is warned of.
    """
    machine, kind = view.machine, view.kind
    if (
        machine is None
        or machine.offers("on-demand") is not False
        or machine.offers("reservation") is not None
    ):
        return
    if kind == "on-demand":
        yield from _not_offered(view, machine)
    elif kind in ("reservation", "any-reservation"):
        yield Problem(
            view.at("capacity"),
            f"{machine.name} must be Spot or flex-start; no source confirms reservations of it",
            "Write `capacity: spot` or `capacity: flex-start`.",
            view.because("the machine", "machine"),
            severity="warning",
        )


@environment_rule("CO018", "beside pools that wait there is an ordinary one", source=cited("FSG QP"))
def only_waiting(view: EnvironmentView) -> Iterator[Problem]:
    """Flex-start pools begin with no node, so with nothing else system pods have nowhere to run."""
    waiting: dict[str, list[bool]] = {}
    for pool in view.pool_views:
        waiting.setdefault(str(pool.path[1]), []).append(pool.waits)
    for cluster, pools in waiting.items():
        if all(pools):
            yield Problem(
                ("clusters", cluster, "node_pools"),
                f"all node pools of the cluster `{cluster}` wait for machines",
                "Add an ordinary one: `system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}`.",
                at_key=True,
            )


@pool_rule(
    "CO023",
    "machines of TPUs are obtained by flex-start where that is offered",
    basis="api",
    sources="DWS CA",
)
def no_tpu_flex_start(view: PoolView) -> Iterator[Problem]:
    """TPU v4 has no flex-start."""
    if view.waits and view.machine is not None and view.is_tpu:
        yield from _not_offered(view, view.machine)


@pool_rule("CO024", "flex-start for TPUs is in a zone that has it", basis="unwise", sources="DWS SKY")
def flex_start_zone(view: PoolView) -> Iterator[Problem]:
    """Elsewhere the pool waits for ever. Zones are added faster than lists are, so it is only warned of."""
    machine = view.machine
    if not view.waits or machine is None or not machine.flex_start_zones:
        return
    known = machine.flex_start_zones
    strange = [zone for zone in view.zones if zone not in known]
    if not view.zones and not any(zone.startswith(f"{view.region}-") for zone in known):
        strange = [f"any zone of {view.region}"]
    if strange:
        disputed = dispute("flex-start zones", machine)
        hint = f"Known are {listed(known, 'and')}."
        yield Problem(
            view.zones_path,
            f"flex-start of {machine.name} is not known in {listed(strange)}",
            f"{hint} {both_sides(disputed)}" if disputed else hint,
            view.because("the machine", "machine"),
        )


@pool_rule("CO025", "periodic maintenance of hosts is not for Spot machines", basis="unwise",
           source="Reports of users of Cluster Toolkit and xpk")  # fmt: skip
def spot_with_host_maintenance(view: PoolView) -> Iterator[Problem]:
    """Spot pools of A3 Mega with periodic maintenance ended in an error about restarts at their creation.

    The cause is not known. Spot machines are taken away before maintenance anyway.
    """
    if view.kind == "spot" and view.pool.host_maintenance == "periodic":
        yield Problem(
            view.at("host_maintenance"),
            "Spot pools with periodic host maintenance have failed at their creation",
            "Remove `host_maintenance`.",
            view.because("it is Spot here", "capacity"),
        )


@pool_rule("CO026", "a limited run is neither too short nor too long", basis="api", sources="VRT")
def run_time(view: PoolView) -> Iterator[Problem]:
    """Compute Engine takes limits from 30 seconds to 120 days."""
    limits, asked = catalog().limits.run_time, view.pool.max_run_seconds
    if asked is None or limits.min_seconds <= asked <= limits.max_seconds:
        return
    if view.waits and asked > limits.max_seconds:
        return  # CO009 says so
    yield Problem(
        view.at("max_run_duration"),
        f"a run takes {duration(limits.min_seconds)} to {duration(limits.max_seconds)}, "
        f"not {duration(asked)}",
        "Write how long the longest run may take: 12h." if asked < limits.min_seconds else "",
    )


@pool_rule("CO027", "a fixed number of GPU machines is reserved", basis="unwise",
           source="Cluster Toolkit and provider, reports of users")  # fmt: skip
def fixed_without_reservation(view: PoolView) -> Iterator[Problem]:
    """Where a zone has no machine left, the pool is made in part and in error; the next apply replaces it."""
    pool, nodes = view.pool, view.pool.nodes
    scarce = view.gpu_type is not None and view.kind == "on-demand"
    if view.offered is False:
        return  # CO015 to CO017 say so
    if scarce and nodes is not None and nodes.fixed and nodes.max > 0:
        yield Problem(
            view.at("nodes"),
            f"{nodes.max} × {pool.machine} on demand may not be there when the pool is made",
            f"Let it grow: `nodes: {{min: 0, max: {nodes.max}}}`. "
            "Or reserve machines: `capacity: {reservation: NAME}`.",
        )


def _unreserved(view: PoolView) -> bool:
    return view.kind in ("on-demand", "any-reservation")


def _not_offered(view: PoolView, machine: Machine) -> Iterator[Problem]:
    """The problem of a way in which the machine cannot be obtained, unless it can or nobody knows."""
    kind = view.kind
    if kind is None or view.offered is not False:
        return
    disputed = dispute("flex-start", machine) if kind in ("flex-start", "queued") else None
    offered = [way for way in WAYS if machine.offers(way)]
    words = [f"`capacity: {'{reservation: NAME}' if way == 'reservation' else way}`" for way in offered]
    doubted = f"whether {machine.name} is offered {_NAMES[kind]} is not certain"
    yield Problem(
        view.at("capacity"),
        doubted if disputed else f"{machine.name} is not offered {_NAMES[kind]}",
        both_sides(disputed) if disputed else f"Write {listed(words)}.",
        view.because("the machine", "machine"),
        severity="warning" if disputed else None,
    )


_NAMES = {
    "on-demand": "on demand",
    "spot": "as Spot",
    "flex-start": "with flex-start",
    "queued": "with flex-start, queued or not",
    "any-reservation": "from any reservation, only from a named one",
    "reservation": "from a reservation",
}
