"""Where the nodes of a pool stand to each other."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import Problem
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.words import did_you_mean, listed

COMPACT = "Google Cloud docs, Define compact placement for GKE nodes"


@pool_rule(
    "PL001", "nodes that are close together are in one zone", basis="peer", sources="CT", source=COMPACT
)
def one_zone(view: PoolView) -> Iterator[Problem]:
    """A compact placement policy puts all nodes into one zone; a pool over several cannot obey it."""
    if view.pool.placement == "compact" and len(view.zones) != 1:
        where = f"stands in {listed(view.zones, 'and')}" if view.zones else "names none"
        yield Problem(
            view.at("placement"),
            f"compact placement works in one zone; the pool {where}",
            "Write the zone: `zones: [a]`.",
            (("the zones", view.zones_path),) if view.zones else (),
        )


@pool_rule("PL003", "queued machines with GPUs are not placed compactly", basis="peer", sources="CT")
def queued(view: PoolView) -> Iterator[Problem]:
    """Queued provisioning chooses where its machines stand; for TPU slices alone both go together."""
    if _compact(view) and view.kind == "queued" and not view.is_tpu:
        yield Problem(
            view.at("placement"),
            "queued machines cannot be placed compactly",
            "Remove `placement`, or write `capacity: flex-start` on a machine that takes both.",
            view.because("it is queued here", "capacity"),
        )


@pool_rule("PL004", "flex-start and compact placement meet on machines that take both", basis="peer",
           sources="CT CTX")  # fmt: skip
def flex_start(view: PoolView) -> Iterator[Problem]:
    """A3 Ultra, A4 and H4D take both, through a workload policy. The list grows."""
    machine = view.machine
    waits = view.kind == "flex-start"
    if (
        _compact(view)
        and waits
        and machine is not None
        and not view.is_tpu
        and not machine.compact_with_flex_start
    ):
        yield Problem(
            view.at("placement"),
            f"{machine.name} with flex-start cannot be placed compactly",
            "Remove `placement`. A3 Ultra, A4 and H4D machines take both.",
            view.because("it is flex-start here", "capacity"),
        )


@pool_rule("PL005", "a compact pool is not larger than a group of its machines can be", basis="unwise",
           sources="CA")  # fmt: skip
def largest_group(view: PoolView) -> Iterator[Problem]:
    """The limits are those of GKE's autoscaler, which Google can raise for a project."""
    most = view.machine.compact_max if view.machine is not None else None
    largest = max((part.most for part in view.parts), default=0)
    if _compact(view) and most is not None and largest > most:
        yield Problem(
            view.at("nodes"),
            f"a compact group of {view.pool.machine} has at most {most} nodes; the pool may have {largest}",
            "Make two pools, or ask Google for a higher limit.",
            view.because("the placement", "placement"),
        )


@pool_rule("PL006", "machines that are placed compactly can be", basis="api", sources="CA", source=COMPACT)
def not_offered(view: PoolView) -> Iterator[Problem]:
    """GKE refuses a placement policy on families that have none, as N1 and E2."""
    if _compact(view) and view.machine is not None and view.machine.compact is False:
        yield Problem(
            view.at("placement"),
            f"{view.machine.series} machines have no compact placement",
            "Remove `placement`, or choose another machine.",
            view.because("the machine", "machine"),
        )


@pool_rule("PL010", "machines of A4X form a domain that exists", basis="api", sources="CA CTX XPK")
def domain(view: PoolView) -> Iterator[Problem]:
    """A4X needs a workload policy with the topology of its NVLink domain; groundplan makes one."""
    policy = view.machine.workload_policy if view.machine is not None else None
    topology = view.pool.topology
    if (
        policy is not None
        and policy.topologies
        and topology is not None
        and topology not in policy.topologies
    ):
        yield Problem(
            view.at("topology"),
            f"{view.pool.machine} has no topology {topology}",
            did_you_mean(topology, policy.topologies) or f"Leave it out: it is {listed(policy.topologies)}.",
            view.because("the machine", "machine"),
        )


@pool_rule("PL011", "an A4X pool is one NVLink domain", basis="api", sources="AO CA")
def domain_size(view: PoolView) -> Iterator[Problem]:
    """One domain has 72 GPUs on 18 machines, and one placement policy is one domain."""
    policy = view.machine.workload_policy if view.machine is not None else None
    most = policy.max_nodes if policy is not None else None
    largest = max(view.parts, key=lambda part: part.most, default=None)
    if most is not None and largest is not None and largest.most > most:
        path = ("capacity", "reservation", "blocks", largest.block) if largest.block else ("nodes",)
        yield Problem(
            view.at(*path),
            f"one NVLink domain of {view.pool.machine} is {most} nodes; the pool may have {largest.most}",
            f"Make a pool for each domain: `nodes: {most}`, or a block of its own in `capacity`.",
            view.because("the machine", "machine"),
        )


@pool_rule("PL013", "compact placement is not for Spot machines", basis="unwise", sources="XPK")
def spot(view: PoolView) -> Iterator[Problem]:
    """Every machine that is taken away must be replaced beside the others, where perhaps none is free."""
    if _compact(view) and view.kind == "spot":
        yield Problem(
            view.at("placement"),
            "Spot machines that must stand together are seldom found again",
            "Remove `placement`, or obtain the machines in another way.",
            view.because("it is Spot here", "capacity"),
        )


@pool_rule("PL014", "reserved machines of A3 Mega are placed by their reservation", basis="unwise",
           source="Reports of users of xpk")  # fmt: skip
def reserved_a3_mega(view: PoolView) -> Iterator[Problem]:
    """Pools of A3 Mega with a placement policy of their own failed on named reservations.

    Dense reservations of other machines accept one.
    """
    reserved = view.kind == "reservation"
    if _compact(view) and reserved and view.machine is not None and view.machine.series == "A3 Mega":
        yield Problem(
            view.at("placement"),
            "A3 Mega pools with a placement of their own have failed on named reservations",
            "Remove `placement`: the reservation says where its machines stand.",
            view.because("the reservation", "capacity"),
        )


def _compact(view: PoolView) -> bool:
    return view.pool.placement == "compact"
