"""Disks that nodes boot from, Local SSDs, and which machines take which disks of data."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.attachments import Attachment, attachments, pools_of
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.rules.sources import both_sides, cited, dispute
from groundplan.blueprints.words import did_you_mean, listed
from groundplan.facts.accelerators import catalog

#: Types of Hyperdisk that hold data only.
DATA_ONLY = ("hyperdisk-ml", "hyperdisk-extreme", "hyperdisk-throughput")
#: Types of disks, for suggestions.
TYPES = ("pd-standard", "pd-balanced", "pd-ssd", "pd-extreme", "hyperdisk-balanced", *DATA_ONLY)


@pool_rule("DK001", "a machine boots from a disk that it can boot from", basis="api", sources="AO CA")
def boot_disk(view: PoolView) -> Iterator[Problem]:
    """The newer machines boot from Hyperdisk Balanced only, the older ones from Persistent Disks only."""
    if not _writes_boot_type(view) or view.pool.boot_disk.type in DATA_ONLY:
        return
    wanted, allowed = view.pool.boot_disk.type, view.machine.boot_disks if view.machine is not None else None
    if wanted not in (allowed or TYPES):
        known = allowed or TYPES
        yield Problem(
            view.at("boot_disk", "type"),
            f"{view.pool.machine} does not boot from {wanted}",
            did_you_mean(wanted, known) if wanted not in TYPES else f"It boots from {listed(known)}.",
            view.because("the machine", "machine"),
        )


@pool_rule("DK002", "boot disks are of a type that can boot", basis="api", sources="HD")
def cannot_boot(view: PoolView) -> Iterator[Problem]:
    """Hyperdisk ML, Extreme and Throughput hold data only."""
    if view.pool.boot_disk.type in DATA_ONLY:
        allowed = view.machine.boot_disks if view.machine is not None else None
        yield Problem(
            view.at("boot_disk", "type"),
            f"nothing boots from {view.pool.boot_disk.type}",
            f"Write {listed([f'`type: {one}`' for one in allowed or ('hyperdisk-balanced',)])}.",
        )


@environment_rule("DK003", "machines take the Hyperdisk ML that is used on them", source=cited("HD CA"))
def hyperdisk_ml(view: EnvironmentView) -> Iterator[Problem]:
    """N1 machines and TPU v4 take none; a pod with such a volume never starts there."""
    yield from _not_taken(view, ("hyperdisk-ml",))


@environment_rule(
    "DK004", "machines take the Hyperdisk Extreme and Throughput that is used on them", source=cited("AO")
)
def other_hyperdisks(view: EnvironmentView) -> Iterator[Problem]:
    """Small A3 High machines, A2, G2 and small G4 machines take no Hyperdisk Extreme."""
    yield from _not_taken(view, ("hyperdisk-extreme", "hyperdisk-throughput"))


@pool_rule("DK006", "the number of Local SSDs is one that the machine takes", basis="api", sources="CA AO")
def local_ssds(view: PoolView) -> Iterator[Problem]:
    """Many machines come with a fixed number, others take some numbers only."""
    count, facts = view.pool.local_ssd.count, view.machine.local_ssd if view.machine is not None else None
    if count is None or facts is None:
        return
    if facts.fixed is not None and count != facts.fixed:
        hint = "Leave `count` out: it follows from the machine."
        message = f"{view.pool.machine} always has {facts.fixed} Local SSDs, not {count}"
    elif facts.allowed and count not in facts.allowed:
        numbers = listed([str(one) for one in facts.allowed])
        hint, message = "", f"{view.pool.machine} takes {numbers} Local SSDs, not {count}"
    else:
        return
    yield Problem(view.at("local_ssd", "count"), message, hint, view.because("the machine", "machine"))


@environment_rule("DK007", "no Local SSDs are used where there are none", source=cited("CA AO"))
def no_local_ssds(view: EnvironmentView) -> Iterator[Problem]:
    """TPU machines, the smallest G4 and the `-nolssd` variants have none."""
    for pool in view.pool_views:
        asked = pool.pool.local_ssd
        if (asked.mode != "none" or asked.count) and has_local_ssds(pool) is False:
            yield Problem(
                pool.at("local_ssd"),
                f"{pool.pool.machine} has no Local SSDs",
                "Remove `local_ssd`, or choose another machine.",
                pool.because("the machine", "machine"),
                at_key=True,
            )
    for key, workload in view.environment.workloads.items():
        for reference, mount in workload.mounts.items():
            if mount.cache == "local-ssd":
                for index, pool in pools_of(view, workload):
                    yield from _cache(pool, ("workloads", key, "mounts", reference, "cache"), key, index)


@environment_rule("DK009", "disks have a size that Google Cloud offers", source=cited("HD"))
def sizes(view: EnvironmentView) -> Iterator[Problem]:
    """Hyperdisk volumes have 4 GiB to 64 TiB; of Persistent Disks no other limit is known here."""
    limits = catalog().limits.hyperdisk_ml
    for name, disk in view.environment.storage.disks.items():
        if disk.type != "hyperdisk-ml" and not limits.min_gib <= disk.size_gib <= limits.max_gib:
            yield Problem(
                ("storage", "disks", name, "size"),
                f"a disk has {limits.min_gib} GiB to {limits.max_gib // 1024} TiB",
                f"Write `size: {limits.min_gib if disk.size_gib < limits.min_gib else limits.max_gib}GiB`.",
            )


@environment_rule("DK010", "disks are of a type that exists", source=cited("HD"))
def types(view: EnvironmentView) -> Iterator[Problem]:
    """Compute Engine refuses a type that it does not know."""
    known = (*TYPES, "hyperdisk-balanced-high-availability")
    for name, disk in view.environment.storage.disks.items():
        if disk.type not in known:
            hint = did_you_mean(disk.type, known) or f"There is {listed(known, 'and')}."
            yield Problem(
                ("storage", "disks", name, "type"), f"there are no disks of the type {disk.type}", hint
            )


@environment_rule("HW002", "machines take the Persistent Disks that are used on them", source=cited("AO"))
def persistent_disks(view: EnvironmentView) -> Iterator[Problem]:
    """A3 Ultra, A4 and A4X machines take Hyperdisk only."""
    yield from _not_taken(view, ("pd-standard", "pd-balanced", "pd-ssd", "pd-extreme"))


def has_local_ssds(view: PoolView) -> bool | None:
    """Whether its machines can have Local SSDs; None: not known."""
    facts = view.machine.local_ssd if view.machine is not None else None
    return None if facts is None else bool(facts.fixed or facts.allowed)


def _writes_boot_type(view: PoolView) -> bool:
    return "type" in view.pool.boot_disk.model_fields_set


def _not_taken(view: EnvironmentView, types: tuple[str, ...]) -> Iterator[Problem]:
    """Disks of these types that workloads use on machines that take none."""
    for one in attachments(view):
        machine = one.pool.machine
        if one.disk.type in types and machine is not None and machine.attaches(one.disk.type) is False:
            disputed = dispute("data disks", machine)
            contested = disputed is not None and any(
                one.disk.type in claim for claim in disputed.claims.values()
            )
            takes = [disk for disk in machine.data_disks or () if disk.startswith("hyperdisk")] or [
                "none of them"
            ]
            yield Problem(
                one.path,
                f"{machine.name} does not take {one.disk.type}",
                both_sides(disputed) if disputed and contested else f"Of Hyperdisk it takes {listed(takes)}.",
                _places(one),
                severity="warning" if contested else None,
            )


def _places(one: Attachment) -> tuple[tuple[str, tuple[str | int, ...]], ...]:
    return (
        ("the disk", (*one.disk_path, "type")),
        ("the machine", one.pool.at("machine")),
    )


def _cache(pool: PoolView, path: tuple[str | int, ...], workload: str, index: int) -> Iterator[Problem]:
    """A cache on Local SSDs that the nodes of a pool do not have."""
    places = (
        ("it runs here", ("workloads", workload, "runs_on", index)),
        *pool.because("the machine", "machine"),
    )
    facts = pool.machine.local_ssd if pool.machine is not None else None
    if has_local_ssds(pool) is False:
        message = f"{pool.pool.machine} has no Local SSDs for a cache"
        yield Problem(path, message, "Write `cache: memory`.", places)
    elif pool.pool.local_ssd.mode != "ephemeral" and not (facts is not None and facts.fixed):
        message = f"the nodes of `{pool.key}` have no Local SSDs for a cache"
        hint = "Add `local_ssd: {mode: ephemeral}` to the pool, or write `cache: memory`."
        yield Problem(path, message, hint, places, severity="warning")
