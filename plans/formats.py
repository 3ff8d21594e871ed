"""Google's values as the blueprint writes them: ``604800`` is ``7d``, ``STABLE`` is ``stable``.

Each function takes a known ``Value`` and gives text; unknown, sensitive and absent ones never come here.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any

from groundplan.plans.values import Value

Show = Callable[[Value], str]


def lower(value: Value) -> str:
    """``STABLE`` → ``stable``, ``NO_UPGRADES`` → ``no-upgrades``."""
    return str(value).lower().replace("_", "-")


def seconds(value: Value) -> str:
    """``604800`` and ``"604800s"`` → ``7d``."""
    from groundplan.blueprints.quantities import duration

    text = str(value).removesuffix("s")
    return duration(int(text)) if text.isdigit() else str(value)


def gib(value: Value) -> str:
    """``100`` → ``100GiB``."""
    return f"{value}GiB"


def mib_per_second(value: Value) -> str:
    """``2400`` → ``2400MiB/s``."""
    return f"{value}MiB/s"


def last_part(value: Value) -> str:
    """``projects/p/global/networks/main`` → ``main``."""
    return str(value).rpartition("/")[2]


def location(value: Value) -> str:
    """``US-CENTRAL1`` → ``us-central1``; multi-regions stay as they are."""
    text = str(value)
    return text.lower() if "-" in text else text


def flag(on: str, off: str) -> Show:
    """A switch by the words for its two positions."""
    return lambda value: on if value.raw is True else off


def protect(value: Value) -> str:
    """``deletion_protection`` and ``deletion_policy`` as the blueprint's ``protect``."""
    return "true" if value.raw in (True, "PREVENT") else "false"


def fields(*names: str) -> Show:
    """Of each block in a list, these fields: ``10.0.0.0/8, 192.168.0.0/16``."""

    def show(value: Value) -> str:
        return _listed(" ".join(str(b[name]) for name in names if b.get(name)) for b in blocks(value))

    return show


def taints(value: Value) -> str:
    """``nvidia.com/gpu=present:NoSchedule``, as kubectl writes them."""
    effects = {
        "NO_SCHEDULE": "NoSchedule",
        "PREFER_NO_SCHEDULE": "PreferNoSchedule",
        "NO_EXECUTE": "NoExecute",
    }
    return _listed(
        f"{taint.get('key')}={taint.get('value') or ''}:{effects.get(str(taint.get('effect')), '')}"
        for taint in blocks(value)
    )


def exclusions(value: Value) -> str:
    """``launch 2026-12-15 to 2027-01-05``."""
    return _listed(
        f"{block.get('exclusion_name')} {_day(block.get('start_time'))} to {_day(block.get('end_time'))}"
        for block in blocks(value)
    )


def combined(value: Value) -> str:
    """How the conditions of an access level combine, as the blueprint says it."""
    return "any_of" if value.raw == "OR" else "all_of"


def conditions(value: Value) -> str:
    """``203.0.113.0/24 or 198.51.100.0/24, user:a@example.com``: what the conditions of a level ask for."""
    return _listed(
        " and ".join(" or ".join(map(str, items)) for items in block.values() if isinstance(items, list))
        for block in blocks(value)
    )


def window(value: Value) -> str:
    """A weekly window: ``sat,sun 02:00 8h (UTC-05:00)``, in the offset that the plan has it in."""
    for block in blocks(value):
        days = _days(str(block.get("recurrence") or ""))
        if block.get("window_start_time"):
            start = blocks_of(block["window_start_time"])[0]
            clock = f"{start.get('hours') or 0:02}:{start.get('minutes') or 0:02}"
            return f"{days} {clock} {seconds(Value(value.state, block.get('window_duration')))} (UTC)"
        start_time, end_time = _instant(block.get("start_time")), _instant(block.get("end_time"))
        if start_time and end_time:
            length = int((end_time - start_time).total_seconds())
            return f"{days} {start_time:%H:%M} {seconds(Value(value.state, length))} ({start_time.tzname()})"
    return str(value)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(filter(None, texts)) or "none"


def _day(instant: Any) -> str:
    return str(instant)[:10] if instant else "end of support"


def _days(recurrence: str) -> str:
    """``FREQ=WEEKLY;BYDAY=SA,SU`` → ``sat,sun`` (RFC 5545)."""
    names = {"MO": "mon", "TU": "tue", "WE": "wed", "TH": "thu", "FR": "fri", "SA": "sat", "SU": "sun"}
    parts = dict(part.split("=", 1) for part in recurrence.split(";") if "=" in part)
    days = [names.get(day, day) for day in parts.get("BYDAY", "").split(",") if day]
    return ",".join(days) or parts.get("FREQ", "").lower()


def _instant(text: Any) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return None


def blocks(value: Value) -> list[dict[str, Any]]:
    """The blocks of a value."""
    return blocks_of(value.raw)


def blocks_of(raw: Any) -> list[dict[str, Any]]:
    """The blocks of a raw value: a list of objects, or one object."""
    items = raw if isinstance(raw, list) else [raw]
    return [item for item in items if isinstance(item, dict)]
