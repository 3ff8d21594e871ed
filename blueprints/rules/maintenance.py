"""Maintenance windows and exclusions, checked before GKE refuses them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from groundplan.blueprints.model import MaintenanceWindow
from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.quantities import duration
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.sources import cited
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import did_you_mean

GKE = "Google Cloud docs, Configure maintenance windows and exclusions"
PROVIDER = "Terraform provider for Google Cloud, container_cluster, maintenance_policy"

# The floor as GKE's error message states it: "without 48h maintenance availability" in "32d". A newer page
# says 92 days; what passes the older rule passes both. Checked 2026-11-30.
LEAST_AVAILABLE = datetime.timedelta(hours=48)
PERIOD = datetime.timedelta(days=32)
SHORTEST_SPAN = datetime.timedelta(hours=4)  #: shorter stretches do not count

MINUTE = datetime.timedelta(minutes=1)

MOST_EXCLUSIONS = 20
#: What GKE's pages said for years; newer texts allow 90. Checked 2026-11-30.
LONGEST_WITHOUT_UPGRADES = datetime.timedelta(days=30)
LONGEST_IN_ANY_TEXT = datetime.timedelta(days=90)
MOST_WITHOUT_UPGRADES = 3

Span = tuple[datetime.datetime, datetime.datetime]


@environment_rule("MW002", "a maintenance window is at least four hours long", source=GKE)
def short_windows(view: EnvironmentView) -> Iterator[Problem]:
    """GKE refuses shorter ones: an upgrade takes hours, and one that is cut off begins again."""
    for path, window in _windows(view):
        if window.duration_seconds < SHORTEST_SPAN.total_seconds():
            yield Problem(
                (*path, "duration"),
                f"a window lasts at least 4h, not {duration(window.duration_seconds)}",
                "Write `duration: 4h` or more. Three days of 4h a week are enough, one of 12h too.",
            )


@environment_rule(
    "MW003", "maintenance windows leave GKE 48 hours in 32 days", source=GKE, severity="warning"
)
def availability(view: EnvironmentView) -> Iterator[Problem]:
    """By GKE's own error message it refuses a policy that leaves less, and Terraform's plan does not notice.

    Only stretches of at least four hours count: Saturday 02:00 for 4h is 16 hours, for 12h it is 48.
    """
    for path, window in _windows(view):
        available = available_time(window)
        if window.duration_seconds >= SHORTEST_SPAN.total_seconds() and available < LEAST_AVAILABLE:
            hours = int(available.total_seconds() // 3600)
            yield Problem(
                (*path, "duration"),
                f"the window leaves GKE {hours} hours in 32 days; it wants 48",
                "Lengthen it or add days; enough are one day of 12h, two of 6h, three of 4h. "
                "Sources disagree: a newer text says 48 hours in 92 days. Checked 2026-11-30.",
            )


@environment_rule(
    "MW004", "no exclusion stops all upgrades for more than 30 days", source=GKE, severity="warning"
)
def long_exclusions(view: EnvironmentView) -> Iterator[Problem]:
    """GKE limits how long, and how often, a cluster may miss every upgrade, security fixes too.

    Older texts allow 30 days, newer ones 90; more is an error. At most three such exclusions are allowed.
    """
    for path, cluster in view.clusters():
        stopping = {
            name: exclusion
            for name, exclusion in cluster.maintenance.exclusions.items()
            if exclusion.scope == "no-upgrades"
        }
        for number, (name, exclusion) in enumerate(stopping.items()):
            place = (*path, "maintenance", "exclusions", name)
            if number >= MOST_WITHOUT_UPGRADES:
                message = f"`{name}` is one exclusion too many that stops all upgrades; GKE may allow three"
                yield Problem(place, message, "Write `scope: no-minor-or-node-upgrades`.", at_key=True)
            if isinstance(exclusion.end, str):
                continue
            length = exclusion.end - exclusion.start
            if length > LONGEST_WITHOUT_UPGRADES:
                refused = length > LONGEST_IN_ANY_TEXT
                limit = "allows 90 at most" if refused else "may allow 30"
                yield Problem(
                    (*place, "end"),
                    f"`{name}` stops all upgrades for {length.days} days; GKE {limit}",
                    "Shorten it, or write `scope: no-minor-or-node-upgrades`. "
                    "Sources disagree: older texts say 30 days, newer ones 90. Checked 2026-11-30.",
                    severity="error" if refused else None,
                )


@environment_rule("MW005", "a cluster has at most 20 exclusions", source=PROVIDER)
def many_exclusions(view: EnvironmentView) -> Iterator[Problem]:
    """The provider refuses more."""
    for path, cluster in view.clusters():
        count = len(cluster.maintenance.exclusions)
        if count > MOST_EXCLUSIONS:
            yield Problem(
                (*path, "maintenance", "exclusions"),
                f"there are {count} exclusions; a cluster has at most {MOST_EXCLUSIONS}",
                "Remove those that are over.",
                at_key=True,
            )


@environment_rule("MW007", "without upgrades there is an end", source=GKE, severity="warning")
def endless(view: EnvironmentView) -> Iterator[Problem]:
    """Only exclusions that let patches through may last until the end of support."""
    for path, cluster in view.clusters():
        for name, exclusion in cluster.maintenance.exclusions.items():
            if exclusion.scope == "no-upgrades" and isinstance(exclusion.end, str):
                yield Problem(
                    (*path, "maintenance", "exclusions", name, "end"),
                    f"`{name}` stops all upgrades without an end",
                    "Give it an end, or write `scope: no-minor-or-node-upgrades`.",
                )


@environment_rule(
    "MW009", "long training is not interrupted by upgrades", source=cited("CTX"), severity="warning"
)
def interrupted_training(view: EnvironmentView) -> Iterator[Problem]:
    """An upgrade of nodes restarts what runs on GPUs and TPUs, and a run over many machines as a whole.

    Looked at are clusters in production whose machines stay (reserved, on demand) and work together: over
    GPUDirect, or as one TPU slice.
    """
    together: dict[str, PoolView] = {}
    for pool in view.pool_views:
        direct = pool.machine is not None and pool.machine.gpudirect is not None and pool.most_nodes > 1
        stays = pool.kind in ("on-demand", "reservation", "any-reservation")
        if pool.tier == "production" and stays and (direct or pool.slice_nodes):
            together.setdefault(str(pool.path[1]), pool)
    for cluster, pool in together.items():
        exclusions = pool.cluster.maintenance.exclusions.values()
        if not any(one.scope == "no-minor-or-node-upgrades" for one in exclusions):
            yield Problem(
                ("clusters", cluster, "maintenance", "exclusions"),
                f"upgrades of `{cluster}` restart what trains on `{pool.key}`",
                "Add an exclusion: `{start: …, end: end-of-support, scope: no-minor-or-node-upgrades}`.",
                (("the pool", pool.path),),
            )


@environment_rule("MW010", "time zones exist", source="IANA time zone database")
def zones(view: EnvironmentView) -> Iterator[Problem]:
    """The window is converted to UTC, which a name nobody knows does not allow."""
    for path, window in _windows(view):
        if not _known(window.timezone):
            from zoneinfo import available_timezones

            yield Problem(
                (*path, "timezone"),
                f"there is no time zone `{window.timezone}`",
                did_you_mean(window.timezone, available_timezones())
                or "Write an IANA name: America/New_York.",
            )


@environment_rule("MW011", "exclusions end after they begin", source=PROVIDER)
def backwards(view: EnvironmentView) -> Iterator[Problem]:
    """GKE refuses an exclusion that ends before it begins."""
    for path, cluster in view.clusters():
        for name, exclusion in cluster.maintenance.exclusions.items():
            if not isinstance(exclusion.end, str) and exclusion.end <= exclusion.start:
                yield Problem(
                    (*path, "maintenance", "exclusions", name, "end"),
                    f"`{name}` ends before it begins",
                    related=(("its start", (*path, "maintenance", "exclusions", name, "start")),),
                )


def available_time(window: MaintenanceWindow) -> datetime.timedelta:
    """The least time that a window leaves in any stretch of ``PERIOD``.

    Windows that touch are one span. Spans shorter than ``SHORTEST_SPAN`` do not count, nor does what a
    stretch cuts off to less than that.
    """
    spans = _spans(window)
    latest = spans[-1][1] - PERIOD
    starts = [one for span in spans for one in _worst_starts(span) if spans[0][0] <= one <= latest]
    if not starts:
        return PERIOD
    return min(_inside(spans, start) for start in starts)


def _worst_starts(span: Span) -> tuple[datetime.datetime, datetime.datetime]:
    """Where a stretch begins or ends so that it just loses what it has of a span."""
    return span[1] - SHORTEST_SPAN + MINUTE, span[0] + SHORTEST_SPAN - MINUTE - PERIOD


def _spans(window: MaintenanceWindow) -> list[Span]:
    """The stretches of a window over three periods, those that touch joined."""
    from dateutil.rrule import WEEKLY, rrule, weekday

    names = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    first = datetime.datetime(2026, 1, 5)  # a Monday; the time zone does not change the sums
    days = [weekday(names.index(day)) for day in window.days]
    length = datetime.timedelta(seconds=min(window.duration_seconds, 7 * 86400))
    spans: list[Span] = []
    for start in rrule(WEEKLY, byweekday=days, dtstart=first, until=first + 3 * PERIOD):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], start + length))
        else:
            spans.append((start, start + length))
    return spans


def _inside(spans: Sequence[Span], start: datetime.datetime) -> datetime.timedelta:
    end = start + PERIOD
    inside = (min(last, end) - max(first, start) for first, last in spans)
    return sum((one for one in inside if one >= SHORTEST_SPAN), datetime.timedelta())


def _known(timezone: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _windows(view: EnvironmentView) -> Iterator[tuple[Path, MaintenanceWindow]]:
    for path, cluster in view.clusters():
        if cluster.maintenance.window:
            yield (*path, "maintenance", "window"), cluster.maintenance.window
