"""Two plans of one stack: do they say the same, and where not?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from groundplan.plans.differences import differences
from groundplan.plans.model import Action, Change, Plan
from groundplan.plans.places import Origin, place
from groundplan.plans.things import SIGNS
from groundplan.plans.words import counted

SHOWN_DETAILS = 6  # of one thing
#: A resource in a plan: its address and, of one left over from a replacement, the key.
_Key = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Deviation:
    """One resource about which two plans say different things.

    Attributes:
        kind: ``new``: only the newer plan changes it; ``gone``: only the older one did; ``other``: both do,
            in different ways.
        change: what the newer plan does to it, where it does nothing the older one.
        details: what it does attribute by attribute, as far as the other plan does not say the same; nothing
            for a new object.
    """

    kind: Literal["new", "gone", "other"]
    change: Change
    details: tuple[str, ...] = ()


def deviations(older: Plan, newer: Plan) -> list[Deviation]:
    """Where two plans differ in what a person would see; new things first, then what is gone.

    Both plans must be redacted, or neither.
    """
    before, after = _by_key(older.actual), _by_key(newer.actual)
    new = [Deviation("new", change, _what(change)) for key, change in after.items() if key not in before]
    gone = [Deviation("gone", change) for key, change in before.items() if key not in after]
    both = [(before[key], after[key]) for key in after if key in before]
    other = [
        Deviation("other", now, tuple(_changed_details(then, now)))
        for then, now in both
        if (then.action, _details(then)) != (now.action, _details(now))
    ]
    return [*new, *other, *gone]


def told(found: Iterable[Deviation], origins: Mapping[str, Origin]) -> Iterator[str]:
    """Deviations as lines; resources of one thing of the blueprint are one line.

    ``new: ± clusters/main: node pool train (google_container_node_pool.main_train)``

    Args:
        found: what ``deviations`` found.
        origins: address → path of the key that asked for the resource.
    """
    things: dict[str, list[Deviation]] = {}
    for deviation in found:
        where, sign = place(deviation.change, origins), SIGNS[deviation.change.action]
        things.setdefault(f"{deviation.kind}: {sign} {where.group}: {where.label}", []).append(deviation)
    for thing, parts in things.items():
        about = parts[0].change.address if len(parts) == 1 else counted(len(parts), "resource")
        yield f"{thing} ({about})"
        details = [detail for part in parts for detail in part.details]
        yield from (f"  {detail}" for detail in details[:SHOWN_DETAILS])
        if len(details) > SHOWN_DETAILS:
            yield f"  … and {counted(len(details) - SHOWN_DETAILS, 'more attribute')}"


def same(one: Plan, other: Plan) -> bool:
    """Do two plans say exactly the same about every resource and output?"""
    return (
        list(map(_ordered, one.changes)) == list(map(_ordered, other.changes))
        and one.output_changes == other.output_changes
        and (one.errored, one.complete) == (other.errored, other.complete)
    )


def _by_key(changes: list[Change]) -> dict[_Key, Change]:
    return {(change.address, change.deposed): change for change in changes}


def _what(change: Change) -> tuple[str, ...]:
    """Attribute by attribute what happens to an object that exists; a new one has too many."""
    return () if change.action is Action.CREATE else _details(change)


def _details(change: Change) -> tuple[str, ...]:
    return tuple(map(str, differences(change)))


def _changed_details(then: Change, now: Change) -> Iterator[str]:
    if then.action is not now.action:
        yield f"{then.action} then, {now.action} now"
    was, is_ = _what(then), _what(now)
    if then.action is now.action is Action.CREATE:
        was, is_ = _details(then), _details(now)
    yield from (f"then {line}" for line in was if line not in is_)
    yield from (f"now {line}" for line in is_ if line not in was)


def _ordered(change: Change) -> Change:
    """A change whose parts are in an order of our own: Terraform's order of these paths is not stable."""
    paths = tuple(sorted(change.body.replace_paths, key=repr))
    return msgspec.structs.replace(change, body=msgspec.structs.replace(change.body, replace_paths=paths))
