"""Reservations that pools consume: where they are, and what is declared of them under ``external``."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.model import ExternalReservation, Reservation
from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import BlueprintView, Problem, blueprint_rule
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.rules.sources import cited
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import listed

PLACE = ("external", "reservations")


@pool_rule("RS004", "blocks of a reservation are in one zone, which is named", basis="peer", sources="CT")
def block_zone(view: PoolView) -> Iterator[Problem]:
    """A block is a place in a data centre. A pool over several zones would ask for it where it is not."""
    reservation = view.pool.capacity.reservation
    if reservation is not None and reservation.blocks and len(view.zones) != 1:
        where = f"is spread over {listed(view.zones, 'and')}" if view.zones else "names no zone"
        yield Problem(
            view.zones_path if view.zones else view.at("capacity"),
            f"blocks of a reservation are in one zone; the pool {where}",
            "Write the zone of the blocks: `zones: [a]`.",
            view.because("the blocks", "capacity") if view.zones else (),
        )


@blueprint_rule(
    "RS006", "a reservation has the machines that its consumers ask for", source=cited("CT"), basis="peer"
)
def other_machine(view: BlueprintView) -> Iterator[Problem]:
    """GKE makes no node from a reservation of another machine type; the pool stays empty or in error.

    Known are reservations that stand under `external.reservations`; and where two pools consume one, either
    has the wrong machine if they differ.
    """
    declared = view.blueprint.external.reservations
    first: dict[tuple[str | None, str], tuple[str, Path]] = {}
    for path, pool, name, project in _consumers(view):
        known = declared.get(name)
        if known is not None and _same_project(known, project):
            if known.machine != pool.pool.machine:
                yield Problem(
                    (*path, "machine"),
                    f"the reservation `{name}` holds {known.machine}, not {pool.pool.machine}",
                    f"Write `machine: {known.machine}`, or consume another reservation.",
                    (
                        ("the reservation", (*PLACE, name, "machine")),
                        ("consumed here", (*path, "capacity")),
                    ),
                )
            continue
        machine, other = first.setdefault((project, name), (pool.pool.machine, path))
        if machine != pool.pool.machine:
            yield Problem(
                (*path, "machine"),
                f"the reservation `{name}` cannot hold both {machine} and {pool.pool.machine}",
                "Consume another reservation, or correct one of the machines.",
                (("the other pool", (*other, "machine")), ("consumed here", (*path, "capacity"))),
            )


@pool_rule(
    "RS007", "a pool with a reservation is in the zones of the reservation", basis="peer", sources="CT"
)
def zone_of_reservation(view: PoolView) -> Iterator[Problem]:
    """Reservations are zonal. A pool without zones is spread over three, and two have nothing reserved."""
    reservation = view.pool.capacity.reservation
    if reservation is None:
        return
    reserved = _zones(view, reservation)
    elsewhere = [zone for zone in view.zones if reserved and zone not in reserved]
    if elsewhere:
        yield Problem(
            view.zones_path,
            f"the reservation `{reservation.name}` has no machines in {listed(elsewhere)}",
            f"It has some in {listed(reserved, 'and')}.",
            view.because("consumed here", "capacity"),
        )
    elif not view.zones and not reservation.blocks:  # of blocks RS004 says so
        yield Problem(
            view.at("capacity"),
            f"the pool consumes the reservation `{reservation.name}` and names no zone",
            f"Write `zones: [{', '.join(reserved) or 'a'}]`, where the machines are reserved.",
        )


@blueprint_rule(
    "RS008",
    "a reservation has as many machines as its consumers ask for",
    source="xpk, which counts before it makes pools",
    severity="warning",
)
def too_many(view: BlueprintView) -> Iterator[Problem]:
    """What comes too late stays pending. Pools of all environments that share the reservation count."""
    for name, known in view.blueprint.external.reservations.items():
        asked: dict[str | None, dict[Path, int]] = {}
        for path, pool, consumed, project in _consumers(view):
            if consumed == name and _same_project(known, project):
                asked.setdefault(project, {})[path] = pool.most_nodes
        for by_pool in asked.values():
            nodes = sum(by_pool.values())
            if known.nodes is not None and nodes > known.nodes:
                yield Problem(
                    (*PLACE, name, "nodes"),
                    f"`{name}` has {known.nodes} machines, and its consumers ask for {nodes}",
                    "Reserve more, or lower `nodes` of its pools.",
                    tuple((f"{number} here", (*path, "capacity")) for path, number in by_pool.items()),
                )


def _consumers(view: BlueprintView) -> Iterator[tuple[Path, PoolView, str, str | None]]:
    """Each pool that consumes a named reservation: its path, itself, the reservation's name and project."""
    for environment, one in view.environments.items():
        for pool in one.pool_views:
            if (reservation := pool.pool.capacity.reservation) is not None:
                path = ("environments", environment, *pool.path)
                # A reservation without a project is one of the environment's own.
                yield path, pool, reservation.name, reservation.project or one.environment.project_id


def _zones(view: PoolView, reservation: Reservation) -> tuple[str, ...]:
    """The zones that a declared reservation is in, by their whole names; empty where nobody says."""
    known = view.reservations.get(reservation.name)
    if known is None or not _same_project(known, reservation.project):
        return ()
    return tuple(zone if "-" in zone else f"{view.region}-{zone}" for zone in known.zones)


def _same_project(known: ExternalReservation, project: str | None) -> bool:
    return known.project is None or project is None or known.project == project
