"""What ``plan`` and ``apply`` show: a plan in the blueprint's words, short enough for a screen.

Resources that one key of the blueprint asked for are one line; the dangerous ones come first. Terraform's own
addresses and attributes are behind ``resource_lines`` (``--resources``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from groundplan.plans import layout
from groundplan.plans.differences import differences
from groundplan.plans.losses import drained
from groundplan.plans.model import Action, Plan, paused_gc
from groundplan.plans.places import Origin, Place, place, target_names, title
from groundplan.plans.things import SIGNS, Context, Line, Thing
from groundplan.plans.words import counted, first, noun

__all__ = ["Counts", "Group", "Header", "Line", "Summary", "resource_lines", "summarize"]

_ORDER = "±-~+="
_OFFLINE = "Not knowable offline: free capacity, quota, permissions."


@dataclass(frozen=True, slots=True)
class Header:
    """What is asked and of whom.

    Attributes:
        stack: ``foundation`` or the environment's name.
        tier: its tier; empty for the foundation.
        protected: it refuses deletion.
        offline: planned against the stand-in.
        facts: provider and version of the facts of an offline plan: ``google 8.7.0``.
        engine: ``terraform 1.15.5 (embedded)``.
    """

    stack: str
    tier: str = ""
    protected: bool = False
    offline: bool = False
    facts: str = ""
    engine: str = ""

    def __str__(self) -> str:
        about = ", ".join(filter(None, (self.tier, "protected" if self.protected else "")))
        where = f"offline, facts of {self.facts}" if self.offline else ""
        parts = (f"{self.stack} ({about})" if about else self.stack, where, self.engine)
        return " · ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Group:
    """The lines under one heading, dangerous ones first."""

    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How much happens; ``keep`` counts objects that stay: moved, adopted or forgotten."""

    add: int = 0
    change: int = 0
    replace: int = 0
    destroy: int = 0
    keep: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.add + self.change + self.replace + self.destroy + self.keep

    def __str__(self) -> str:
        kept = f", {self.keep} to move, adopt or forget" if self.keep else ""
        counts = f"{self.add} to add, {self.change} to change, {self.replace} to replace"
        return f"{counts}, {self.destroy} to destroy{kept}"


@dataclass(frozen=True, slots=True)
class Summary:
    """A plan in the blueprint's words.

    Attributes:
        header: what is asked and of whom.
        groups: what happens.
        things: counts of things of the blueprint: a node pool with its placement policy is one.
        resources: counts of Terraform's resources.
        notes: what it costs, and what is not known.
        unchanged: number of resources that stay as they are.
    """

    header: Header
    groups: tuple[Group, ...]
    things: Counts
    resources: Counts
    notes: tuple[str, ...] = ()
    unchanged: int = 0

    def as_json(self) -> dict[str, Any]:
        """The same for machines; ``action`` is Terraform's word, ``replace`` for both orders."""
        return {
            "stack": self.header.stack,
            "tier": self.header.tier or None,
            "protected": self.header.protected,
            "offline": self.header.offline,
            "facts": self.header.facts or None,
            "engine": self.header.engine or None,
            "groups": [
                {"name": group.name, "lines": [_line_json(line) for line in group.lines]}
                for group in self.groups
            ],
            "things": _counts_json(self.things),
            "resources": _counts_json(self.resources),
            "unchanged": self.unchanged,
            "notes": list(self.notes),
        }

    def lines(self, width: int = 100, colour_fn: layout.Colour | None = None) -> list[str]:
        """Lines of text for a terminal of ``width`` columns.

        Args:
            width: columns; longer lines are broken, with the continuation below the text.
            colour_fn: gets a piece of text and its role (``layout.ROLES``), gives it back with colours.
        """
        return layout.lines(self, width, colour_fn)


def summarize(
    plan: Plan,
    header: Header,
    *,
    origins: Mapping[str, Origin] | None = None,
    describe: Mapping[str, str] | None = None,
) -> Summary:
    """Say a plan in the blueprint's words.

    Args:
        plan: the plan.
        header: what is asked and of whom.
        origins: address → path of the key inside the environment that asked for the resource. What is
            missing, as deleted resources are, is placed by its type and name.
        describe: address → what is made, short: ``4 × g2-standard-12, Spot``.
    """
    origins = origins or {}
    with paused_gc():
        managed = [change for change in plan.changes if change.mode == "managed"]
        things: dict[Place, Thing] = {}
        for change in managed:
            where = place(change, origins)
            things.setdefault(where, Thing(where)).changes.append(change)
        names = target_names(managed, origins)
        context = Context(header.offline, header.protected, names, describe or {})
        return Summary(
            header,
            _groups(things.values(), context),
            _count(thing.action for thing in things.values()),
            _count(change.action for change in plan.actual),
            tuple(_notes(plan, header)),
            len(managed) - len(plan.actual),
        )


def resource_lines(plan: Plan) -> list[str]:
    """What ``--resources`` shows: Terraform's addresses with the attributes that change."""
    found = []
    for change in plan.actual:
        moved = f" (was {change.previous_address})" if change.previous_address else ""
        adopted = " (adopted)" if change.importing else ""
        found.append(f"{SIGNS[change.action]} {change.address}{moved}{adopted}")
        found.extend(f"    {difference}" for difference in differences(change))
    return found


def _groups(things: Iterable[Thing], context: Context) -> tuple[Group, ...]:
    """Lines by heading; groups in which something precious is lost come first, and so do such lines."""
    lines: dict[str, list[Line]] = {}
    ranks: dict[str, tuple[int, str]] = {}
    for thing in things:
        found = thing.lines(context)
        if found:
            lines.setdefault(thing.place.group, []).extend(found)
            ranks[thing.place.group] = thing.place.rank
    groups = [Group(name, tuple(sorted(found, key=_danger))) for name, found in lines.items()]
    groups.sort(key=lambda group: (not any(line.precious for line in group.lines), ranks[group.name]))
    return tuple(groups)


def _danger(line: Line) -> tuple[bool, int]:
    return not line.precious, _ORDER.index(line.sign)


def _count(actions: Iterable[Action | None]) -> Counts:
    found = [SIGNS[action] for action in actions if action]
    return Counts(*(found.count(sign) for sign in "+~±-="))


def _notes(plan: Plan, header: Header) -> Iterable[str]:
    if plan.errored:
        yield "Planning failed half-way: this is not the whole plan."
    elif plan.deferred:
        yield f"Terraform leaves {counted(len(plan.deferred), 'change')} for a later plan."
    elif not plan.complete:
        yield "Terraform leaves some changes for a later plan."
    replaced = [c for c in plan.of_type("google_container_node_pool") if c.action is Action.REPLACE]
    for change in replaced[:3]:
        yield f"Replacing {title(change)} drains {drained(change) or 'it'}."
    drifted = [f"{noun(c.type)} {title(c)}" for c in plan.drift if differences(c) or c.deletes]
    if drifted:
        yield f"Changed outside of Terraform: {first(drifted, 4, ', ')}."
    outputs = [name for name, output in plan.output_changes.items() if output.action is not Action.NO_OP]
    if outputs and not plan.actual:
        yield f"Only outputs change: {first(outputs, 4, ', ')}."
    if header.offline and plan.actual:
        yield _OFFLINE


def _line_json(line: Line) -> dict[str, Any]:
    return {
        "action": line.action.value,
        "sign": line.sign,
        "label": line.label,
        "text": line.text,
        "facts": line.facts,
        "resources": list(line.addresses),
        "precious": line.precious,
    }


def _counts_json(counts: Counts) -> dict[str, int]:
    names = ("add", "change", "replace", "destroy", "keep")
    return {name: getattr(counts, name) for name in names}
