"""TPU slices: which exist, of how many machines they are, and how pools hold them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import Problem
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.rules.sources import both_sides, dispute
from groundplan.blueprints.words import listed
from groundplan.facts.accelerators import Tpu, tpu_topologies, tpu_topology


@pool_rule("TP001", "a topology has as many sides as its TPUs", basis="peer", sources="CT XPK")
def dimensions(view: PoolView) -> Iterator[Problem]:
    """v5e and v6e chips form planes, all others form cubes."""
    tpu, sides = _asked(view)
    if tpu is not None and sides and len(sides) != _dimensions(tpu):
        yield Problem(
            view.at("topology"),
            f"slices of {view.pool.machine} have {_dimensions(tpu)} sides, not {len(sides)}",
            _nearest(view, math.prod(sides)),
            view.because("the machine", "machine"),
        )


@pool_rule("TP002", "a topology is one that the TPUs form", basis="peer", sources="CT XPK")
def offered(view: PoolView) -> Iterator[Problem]:
    """Only some slices are wired. Larger cubes have sides that are multiples of 4, in ascending order."""
    tpu, sides = _asked(view)
    if tpu is None or not sides or len(sides) != _dimensions(tpu):
        return
    if view.slice is not None:
        yield from _disputed_order(view, sides)
    elif not _single_host_only(tpu) and _whole(tpu, sides):
        yield Problem(
            view.at("topology"),
            f"there is no slice {view.pool.topology} of {view.pool.machine}",
            _nearest(view, math.prod(sides)),
            view.because("the machine", "machine"),
        )


@pool_rule("TP003", "a topology fills whole machines", basis="api", sources="CA CT")
def whole_machines(view: PoolView) -> Iterator[Problem]:
    """A machine has all of its chips in one slice."""
    tpu, sides = _asked(view)
    if tpu is None or not sides or len(sides) != _dimensions(tpu) or _single_host_only(tpu):
        return
    if not _whole(tpu, sides):
        chips = math.prod(sides)
        yield Problem(
            view.at("topology"),
            f"{view.pool.topology} is {chips} chips, which does not fill machines of {tpu.chips}",
            _nearest(view, chips),
            view.because("the machine", "machine"),
        )


@pool_rule("TP004", "a slice has exactly its nodes", basis="api", sources="CA CT SKY")
def slice_size(view: PoolView) -> Iterator[Problem]:
    """A slice is made and removed as a whole. A GKE pool with another number of nodes never gets ready."""
    hosts, nodes, reservation = view.slice_nodes, view.pool.nodes, view.pool.capacity.reservation
    if hosts is None:
        return
    if nodes is not None and nodes.fixed and nodes.max != hosts:
        yield Problem(
            view.at("nodes"),
            f"{view.pool.topology} on {view.pool.machine} is exactly {hosts} nodes, not {nodes.max}",
            "Leave `nodes` out: it follows from the topology. More slices are `slices: N`.",
            view.because("the topology", "topology"),
        )
    for block, spec in (reservation.blocks if reservation is not None else {}).items():
        if spec.nodes % hosts:
            yield Problem(
                view.at("capacity", "reservation", "blocks", block, "nodes"),
                f"{spec.nodes} nodes hold no whole number of slices of {hosts} nodes",
                f"Write a multiple of {hosts}.",
                view.because("the topology", "topology"),
            )


@pool_rule("TP005", "machines for one slice serve that slice", basis="api", sources="CA")
def single_host(view: PoolView) -> Iterator[Problem]:
    """Machines with one or eight chips are whole slices and form no larger ones."""
    tpu, sides = _asked(view)
    if tpu is not None and sides and _single_host_only(tpu) and view.slice is None:
        if len(sides) != _dimensions(tpu):
            return  # TP001 says so
        yield Problem(
            view.at("topology"),
            f"{view.pool.machine} only serves {tpu.topology}, not {view.pool.topology}",
            f"Write `topology: {tpu.topology}`{_other_machine(view)}.",
            view.because("the machine", "machine"),
        )


@pool_rule("TP007", "a slice grows from nothing to all of it", basis="api", sources="CTX MTS")
def slice_bounds(view: PoolView) -> Iterator[Problem]:
    """Half a slice is of no use, so there are no bounds in between."""
    hosts, nodes = view.slice_nodes, view.pool.nodes
    if hosts is not None and nodes is not None and not nodes.fixed and (nodes.min, nodes.max) != (0, hosts):
        yield Problem(
            view.at("nodes"),
            f"a slice {view.pool.topology} scales from 0 to {hosts} nodes only",
            f"Write `nodes: {{min: 0, max: {hosts}}}`. More slices are `slices: N`.",
            view.because("the topology", "topology"),
        )


@pool_rule("TP008", "pools of TPU7x say their topology", basis="peer", sources="CT")
def missing(view: PoolView) -> Iterator[Problem]:
    """Slices of TPU7x need it in any case, for their workload policy too."""
    tpu = view.machine.tpu if view.machine is not None else None
    if tpu is not None and tpu.generation == "tpu7x" and view.pool.topology is None:
        yield Problem(
            view.at("topology"),
            f"`topology` is missing in `{view.key}`",
            f"One machine is `topology: {tpu.topology}`.",
            view.because("the machine", "machine"),
        )


@pool_rule("TP009", "several slices are of several machines each", basis="unwise", sources="MTS")
def multislice(view: PoolView) -> Iterator[Problem]:
    """Multislice joins equal slices of several machines. Slices of one machine are simply more nodes."""
    if view.pool.slices > 1 and view.is_tpu and view.slice_nodes is None:
        yield Problem(
            view.at("slices"),
            "slices of one machine need no `slices`",
            f"Write `nodes: {view.pool.slices}` instead.",
            view.because("the topology", "topology"),
        )


@pool_rule("TP010", "only TPUs have topologies and slices", basis="language", source="The blueprint language")
def without_tpus(view: PoolView) -> Iterator[Problem]:
    """On other machines they would do nothing."""
    machine = view.machine
    if machine is None or view.is_tpu:
        return
    if view.pool.topology is not None and machine.workload_policy is None:
        yield Problem(
            view.at("topology"),
            f"{machine.name} has no TPUs, so it has no topology",
            "Remove it. `placement: compact` puts nodes close together.",
            view.because("the machine", "machine"),
            at_key=True,
        )
    if view.pool.slices > 1:
        yield Problem(
            view.at("slices"),
            f"{machine.name} has no TPUs, so it forms no slices",
            "Remove it, and write `nodes`.",
            view.because("the machine", "machine"),
            at_key=True,
        )


@pool_rule("TP011", "a slice is in one zone", basis="unwise", sources="XPK")
def one_zone(view: PoolView) -> Iterator[Problem]:
    """A slice cannot be spread, and GKE makes a fixed number of nodes in each zone of a pool."""
    if view.slice_nodes is not None and len(view.zones) != 1:
        where = f"stands in {listed(view.zones, 'and')}" if view.zones else "names no zone"
        yield Problem(
            view.at("topology"),
            f"a slice of several machines is in one zone; the pool {where}",
            "Write the zone: `zones: [a]`.",
            (("the zones", view.zones_path),) if view.zones else (),
        )


def _asked(view: PoolView) -> tuple[Tpu | None, tuple[int, ...]]:
    """The TPU facts of the pool's machine, and the sides of its topology; empty where one is missing."""
    tpu, topology = view.machine.tpu if view.machine is not None else None, view.pool.topology
    return (tpu, tuple(int(side) for side in topology.split("x"))) if tpu and topology else (tpu, ())


def _dimensions(tpu: Tpu) -> int:
    return tpu.topology.count("x") + 1


def _whole(tpu: Tpu, sides: tuple[int, ...]) -> bool:
    """Whether the chips of a slice are those of whole machines, of one at least."""
    chips = math.prod(sides)
    return chips > 0 and chips % tpu.chips == 0


def _single_host_only(tpu: Tpu) -> bool:
    return not tpu.multi_host and tpu.max_cubes is None


def _nearest(view: PoolView, chips: int) -> str:
    """The slices of the pool's machine that are nearest to a number of chips, the one of that size first."""
    names = tpu_topologies(view.pool.machine)
    sizes = {name: found.chips for name in names if (found := tpu_topology(view.pool.machine, name))}
    asked = sorted(int(side) for side in (view.pool.topology or "").split("x"))

    def distance(name: str) -> tuple[float, int]:
        sides = [int(side) for side in name.split("x")]
        apart = sum(abs(a - b) for a, b in zip(sides, asked, strict=False))
        return abs(math.log((sizes[name]) / max(chips, 1))), apart

    return f"Did you mean {listed([f'`{name}`' for name in sorted(sizes, key=distance)[:3]])}?"


def _other_machine(view: PoolView) -> str:
    from groundplan.facts.accelerators import catalog

    fitting = [
        found.name
        for found in catalog().machines.values()
        if found.family == (view.machine.family if view.machine else "")
        and tpu_topology(found.name, view.pool.topology or "")
    ]
    return f", or `machine: {fitting[0]}`" if fitting else ""


def _disputed_order(view: PoolView, sides: tuple[int, ...]) -> Iterator[Problem]:
    """Sides in another order than ascending, which only one source allows."""
    disputed = dispute("order of the sides of a topology", view.machine)
    if disputed is not None and list(sides) != sorted(sides) and view.slice_nodes is not None:
        ascending = "x".join(map(str, sorted(sides)))
        yield Problem(
            view.at("topology"),
            f"whether {view.pool.topology} exists is not certain; {ascending} does",
            both_sides(disputed),
            view.because("the machine", "machine"),
            severity="warning",
        )
