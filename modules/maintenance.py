"""When GKE may upgrade a cluster: from a window in local time to GKE's recurrence in UTC.

GKE knows windows only in UTC, with the days in UTC too (GKE docs, "Maintenance windows and exclusions"),
and anything but Zulu time shows as a change for ever. A recurrence cannot follow daylight saving time, so
the zone's standard time decides: while its clocks are one hour ahead, the window is one hour later for
people there. The first window lies on a fixed day in the past, so that the same blueprint gives the same
plan on every day.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from groundplan.blueprints.model import Maintenance, MaintenanceExclusion, MaintenanceWindow

#: The Monday before the first window of every cluster.
ANCHOR = datetime.date(2026, 1, 5)

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

#: What GKE does without a window; its API wants one beside exclusions and intervals.
ANY_TIME = {
    "start_time": "2026-01-05T00:00:00Z",
    "end_time": "2026-01-06T00:00:00Z",
    "recurrence": "FREQ=DAILY",
}


def maintenance_policy(maintenance: Maintenance) -> dict[str, Any] | None:
    """The block ``maintenance_policy`` of a cluster; None if the blueprint says nothing."""
    budget = _budget(maintenance)
    if not (maintenance.window or maintenance.exclusions or budget):
        return None
    return {
        "recurring_window": recurring_window(maintenance.window) if maintenance.window else ANY_TIME,
        "maintenance_exclusion": _exclusions(maintenance.exclusions) or None,
        "disruption_budget": budget,
    }


def recurring_window(window: MaintenanceWindow) -> dict[str, str]:
    """The block ``recurring_window``: first start and end, and the recurrence, all in UTC."""
    local = datetime.time.fromisoformat(window.start)
    shift = _standard_offset(window.timezone)
    starts = [
        datetime.datetime.combine(ANCHOR + datetime.timedelta(DAYS.index(day)), local) - shift
        for day in window.days
    ]
    weekdays = sorted({start.weekday() for start in starts})
    first = datetime.datetime.combine(ANCHOR + datetime.timedelta(weekdays[0]), starts[0].time())
    days = ",".join(DAYS[day][:2].upper() for day in weekdays)
    return {
        "start_time": _zulu(first),
        "end_time": _zulu(first + datetime.timedelta(seconds=window.duration_seconds)),
        "recurrence": f"FREQ=WEEKLY;BYDAY={days}",
    }


def _standard_offset(timezone: str) -> datetime.timedelta:
    """How far the zone is ahead of UTC in the half of the year when its clocks are behind."""
    zone = ZoneInfo(timezone)
    noons = (datetime.datetime(ANCHOR.year, month, 5, 12, tzinfo=zone) for month in (1, 7))
    return min(noon.utcoffset() or datetime.timedelta() for noon in noons)


def _exclusions(exclusions: Mapping[str, MaintenanceExclusion]) -> list[dict[str, Any]]:
    return [
        {
            "exclusion_name": name,
            "start_time": _zulu(exclusion.start),
            "end_time": None if isinstance(exclusion.end, str) else _zulu(exclusion.end),
            "exclusion_options": {
                "scope": exclusion.scope.upper().replace("-", "_"),
                "end_time_behavior": "UNTIL_END_OF_SUPPORT" if isinstance(exclusion.end, str) else None,
            },
        }
        for name, exclusion in sorted(exclusions.items())
    ]


def _budget(maintenance: Maintenance) -> dict[str, Any] | None:
    minor, patch = maintenance.disruption.minor_seconds, maintenance.disruption.patch_seconds
    if minor is None and patch is None:
        return None
    return {
        "minor_version_disruption_interval": None if minor is None else f"{minor}s",
        "patch_version_disruption_interval": None if patch is None else f"{patch}s",
    }


def _zulu(time: datetime.datetime) -> str:
    """RFC 3339 in UTC; a time without a zone is UTC already."""
    return time.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
