"""Hyperdisk ML: volumes that hold models and are read by many machines at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

from groundplan.blueprints.model import Disk
from groundplan.blueprints.rules.attachments import Attachment, attachments
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.sources import both_sides, cited, dispute
from groundplan.blueprints.tree import Path
from groundplan.facts.accelerators import catalog

TYPE = "hyperdisk-ml"
MIB, MB = 2**20, 10**6
#: What release notes once said to be the most, in MB/s; the entry under `disputes` in the catalog.
OLDER_MOST_MBPS = 1_200_000


@environment_rule("HM001", "a Hyperdisk ML volume has 4 GiB to 64 TiB", source=cited("HD"))
def size(view: EnvironmentView) -> Iterator[Problem]:
    """Compute Engine refuses other sizes."""
    limits = catalog().limits.hyperdisk_ml
    for path, disk in _volumes(view):
        if not limits.min_gib <= disk.size_gib <= limits.max_gib:
            yield Problem(
                (*path, "size"),
                f"a Hyperdisk ML volume has {limits.min_gib} GiB to {limits.max_gib // 1024} TiB",
                "Split what it holds over several volumes." if disk.size_gib > limits.max_gib else "",
            )


@environment_rule("HM002", "a Hyperdisk ML volume is fast enough for its size", source=cited("PD"))
def too_slow(view: EnvironmentView) -> Iterator[Problem]:
    """Throughput is at least 0.12 MB/s for each GiB."""
    for path, disk in _volumes(view):
        given = disk.throughput_mib_per_second
        least = math.ceil(catalog().limits.hyperdisk_ml.min_mbps_per_gib * disk.size_gib * MB / MIB)
        if given is not None and given < least:
            yield Problem(
                (*path, "throughput"),
                f"a volume of {disk.size_gib} GiB has at least {least} MiB/s, not {given}",
                f"Write `throughput: {least}MiB/s` or more.",
                (("its size", (*path, "size")),),
            )


@environment_rule("HM003", "a Hyperdisk ML volume is not faster than there are any", source=cited("HD"))
def too_fast(view: EnvironmentView) -> Iterator[Problem]:
    """The limit was once lower, and sources still say both; between them it is only warned of."""
    limits = catalog().limits.hyperdisk_ml
    disputed = dispute("most throughput of a Hyperdisk ML volume")
    for path, disk in _volumes(view):
        given = disk.throughput_mib_per_second or 0
        if given > limits.max_mibps:
            yield Problem(
                (*path, "throughput"),
                f"a volume has at most {limits.max_mibps:,} MiB/s, not {given:,}",
                f"Write `throughput: {limits.max_mibps}MiB/s`, or spread the readers over volumes.",
            )
        elif disputed is not None and given * MIB > OLDER_MOST_MBPS * MB:
            message = f"whether a volume may have {given:,} MiB/s is not certain"
            yield Problem((*path, "throughput"), message, both_sides(disputed), severity="warning")


@environment_rule("HM007", "at most 2500 machines read one volume", source=cited("HD REL"))
def readers(view: EnvironmentView) -> Iterator[Problem]:
    """Further machines cannot attach it."""
    most = catalog().limits.hyperdisk_ml.max_attached
    for (name, zone), uses in _by_volume(view).items():
        nodes = sum(use.pool.most_nodes for use in uses)
        if nodes > most:
            yield Problem(
                ("storage", "disks", name),
                f"up to {nodes:,} nodes may read `{name}` in {zone}; one volume serves at most {most:,}",
                "Make a second volume for some of the pools, or lower `nodes`.",
                tuple((f"up to {use.pool.most_nodes:,} nodes", use.pool.at("nodes")) for use in uses),
                at_key=True,
            )


@environment_rule(
    "HM008", "pools do not grow faster than a volume can be attached", source=cited("HD"), severity="warning"
)
def attach_rate(view: EnvironmentView) -> Iterator[Problem]:
    """A volume is attached to 100 machines in 30 seconds; pods on further new nodes wait."""
    limits = catalog().limits.hyperdisk_ml
    for (name, zone), uses in _by_volume(view).items():
        for use in uses:
            new = max(part.most - (0 if part.fixed else part.least) for part in use.pool.parts)
            if limits.attached_per_30_seconds < new and use.pool.most_nodes <= limits.max_attached:
                seconds = 30 * math.ceil(new / limits.attached_per_30_seconds)
                yield Problem(
                    use.pool.at("nodes"),
                    f"`{name}` reaches {new} new nodes in {zone} after {seconds} seconds at the earliest",
                    "Expect it, or raise `min` so that fewer nodes come at once.",
                    (("the volume", ("storage", "disks", name)),),
                )


def _volumes(view: EnvironmentView) -> Iterator[tuple[Path, Disk]]:
    for name, disk in view.environment.storage.disks.items():
        if disk.type == TYPE:
            yield ("storage", "disks", name), disk


def _by_volume(view: EnvironmentView) -> dict[tuple[str, str], list[Attachment]]:
    """The pools that use each volume: a disk in two zones is two volumes. Each pool once."""
    found: dict[tuple[str, str], dict[Path, Attachment]] = {}
    region = view.environment.region
    for one in attachments(view):
        for zone in one.disk.zones if one.disk.type == TYPE else ():
            full = zone if "-" in zone else f"{region}-{zone}"
            if not one.pool.zones or full in one.pool.zones:
                found.setdefault((one.name, full), {})[one.pool.path] = one
    return {volume: list(uses.values()) for volume, uses in found.items()}
