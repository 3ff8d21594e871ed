import datetime
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr

from groundplan.blueprints.model import Maintenance
from groundplan.modules.maintenance import maintenance_policy

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def policy(**maintenance):
    return maintenance_policy(Maintenance.model_validate(maintenance))


def window(days, start, timezone, duration="8h"):
    said = {"days": days, "start": start, "duration": duration, "timezone": timezone}
    return policy(window=said)["recurring_window"]


@pytest.mark.parametrize(
    ("days", "start", "timezone", "first", "byday"),
    [
        (["sat", "sun"], "02:00", "UTC", "2026-01-10T02:00:00Z", "SA,SU"),
        (["sun", "sat"], "02:00", "America/New_York", "2026-01-10T07:00:00Z", "SA,SU"),
        (["fri", "sat"], "22:00", "America/New_York", "2026-01-10T03:00:00Z", "SA,SU"),
        (["sat", "sun"], "02:00", "Asia/Tokyo", "2026-01-09T17:00:00Z", "FR,SA"),
        (["mon"], "02:00", "Asia/Tokyo", "2026-01-11T17:00:00Z", "SU"),
        (["sun", "mon"], "23:00", "America/New_York", "2026-01-05T04:00:00Z", "MO,TU"),
        (["mon"], "01:30", "Asia/Kolkata", "2026-01-11T20:00:00Z", "SU"),
        (DAYS, "00:30", "Europe/Berlin", "2026-01-05T23:30:00Z", "MO,TU,WE,TH,FR,SA,SU"),
    ],
)
def test_days_move_with_the_time_into_utc(days, start, timezone, first, byday):
    made = window(days, start, timezone)
    assert made["start_time"] == first
    assert made["recurrence"] == f"FREQ=WEEKLY;BYDAY={byday}"


@pytest.mark.parametrize(
    "timezone", ["UTC", "America/New_York", "Asia/Tokyo", "Australia/Sydney", "Europe/Dublin"]
)
@pytest.mark.parametrize("start", ["00:00", "02:00", "13:00", "23:30"])
def test_windows_start_at_the_local_time_or_one_hour_later_all_year(timezone, start):
    made = window(["sat", "sun"], start, timezone)
    first = datetime.datetime.fromisoformat(made["start_time"])
    minutes = int(start[:2]) * 60 + int(start[3:])
    found = rrulestr(made["recurrence"], dtstart=first)[:104]
    assert found[0] == first, "the first window is one of the recurrence"
    off = set()
    for occurrence in found:
        local = occurrence.astimezone(ZoneInfo(timezone))
        midnight = local.replace(hour=0, minute=0)
        late = (local - midnight).total_seconds() / 60 - minutes
        late += 24 * 60 if late < -12 * 60 else 0
        off.add(late)
        began = local - datetime.timedelta(minutes=late)
        assert began.strftime("%a").lower() in ("sat", "sun")
    assert 0 in off
    assert off <= {0, 60}


def test_a_window_lasts_as_long_as_it_says():
    made = window(["sat"], "20:00", "UTC", "30h")
    assert made["end_time"] == "2026-01-12T02:00:00Z"


def test_exclusions_are_in_utc_and_in_alphabetical_order():
    made = policy(
        window={"days": ["sat", "sun"], "start": "02:00", "duration": "6h"},
        exclusions={
            "launch": {"start": "2026-12-15T00:00:00+02:00", "end": "2027-01-05T00:00:00Z"},
            "freeze": {
                "start": "2026-11-01T00:00:00Z",
                "end": "end-of-support",
                "scope": "no-minor-upgrades",
            },
        },
    )["maintenance_exclusion"]
    assert made == [
        {
            "exclusion_name": "freeze",
            "start_time": "2026-11-01T00:00:00Z",
            "end_time": None,
            "exclusion_options": {"scope": "NO_MINOR_UPGRADES", "end_time_behavior": "UNTIL_END_OF_SUPPORT"},
        },
        {
            "exclusion_name": "launch",
            "start_time": "2026-12-14T22:00:00Z",
            "end_time": "2027-01-05T00:00:00Z",
            "exclusion_options": {"scope": "NO_UPGRADES", "end_time_behavior": None},
        },
    ]


def test_intervals_alone_get_a_window_that_is_always_open():
    made = policy(disruption={"minor": "30d", "patch": "7d"})
    assert made["disruption_budget"] == {
        "minor_version_disruption_interval": "2592000s",
        "patch_version_disruption_interval": "604800s",
    }
    assert made["recurring_window"]["recurrence"] == "FREQ=DAILY"


def test_nothing_said_is_nothing_written():
    assert policy() is None
