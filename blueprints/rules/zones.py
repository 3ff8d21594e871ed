"""Zones and the regions they are in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.tree import Path

ZONES = "Google Cloud docs, Compute Engine, Regions and zones"

#: Endings of zones that exist somewhere: a to f, and those of AI zones. Checked 2026-11-30.
_USUAL = re.compile(r"[a-f]|ai\d+[a-z]")


@environment_rule("ZN001", "zones are in the region", source=ZONES)
def elsewhere(view: EnvironmentView) -> Iterator[Problem]:
    """Google Cloud refuses a zone of another region."""
    for path, region, zone in _zones(view):
        if "-" in zone and not zone.startswith(f"{region}-"):
            yield Problem(path, f"`{zone}` is not a zone of {region}", f"Zones of it begin with {region}-.")


@environment_rule("ZN002", "zones are ones that may exist", source=ZONES, severity="warning")
def unusual(view: EnvironmentView) -> Iterator[Problem]:
    """Zones end in a to f almost everywhere. Which ones a region has is not known here."""
    for path, region, zone in _zones(view):
        ending = zone.rpartition("-")[2]
        if not _USUAL.fullmatch(ending):
            yield Problem(
                path,
                f"no region is known to have a zone `{ending}`",
                f"`gcloud compute zones list --filter=region:{region}` lists what there is.",
            )


@environment_rule("ZN003", "a zone is named once", source=ZONES)
def repeated(view: EnvironmentView) -> Iterator[Problem]:
    """`a` and `us-central1-a` are the same zone; named twice, resources would collide."""
    seen: dict[tuple[Path, str], Path] = {}
    for path, region, zone in _zones(view):
        full = zone if "-" in zone else f"{region}-{zone}"
        first = seen.setdefault((path[:-1], full), path)
        if first != path:
            yield Problem(path, f"the zone {full} is named twice", related=(("first named", first),))


def _zones(view: EnvironmentView) -> Iterator[tuple[Path, str, str]]:
    """Every zone that is written: its path, the region it should be in, the zone."""
    environment = view.environment
    lists: list[tuple[Path, str, tuple[str, ...]]] = []
    for path, cluster in view.clusters():
        lists.append(((*path, "zones"), environment.cluster_region(cluster), cluster.zones))
    for path, cluster, pool in view.pools():
        lists.append(((*path, "zones"), environment.cluster_region(cluster), pool.zones))
    for name, disk in environment.storage.disks.items():
        lists.append((("storage", "disks", name, "zones"), environment.region, disk.zones))
    for path, region, zones in lists:
        for index, zone in enumerate(zones):
            yield (*path, index), region, zone
