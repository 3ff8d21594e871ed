"""One thing of the blueprint in a plan: its resources, and the lines that say what happens to them.

A node pool is a pool with its placement policy; a workload is a handful of grants. What comes and goes with
the main resource is one line with it; what changes beside it gets a line of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from groundplan.plans import grants
from groundplan.plans.differences import may_replace
from groundplan.plans.losses import PRECIOUS, loses
from groundplan.plans.model import Action, Change
from groundplan.plans.places import Place, former, title
from groundplan.plans.words import Topic, counted, first, label, noun, replacing, topics

SIGNS = {
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.REPLACE: "±",
    Action.DELETE: "-",
    Action.FORGET: "=",
    Action.MOVE: "=",
    Action.NO_OP: "=",
}
_COMES_OR_GOES = (Action.CREATE, Action.DELETE)
#: What a plan says of grants that nobody gains or loses.
_KEPT = {
    Action.MOVE: "keeps its roles",
    Action.FORGET: "keeps its roles, no longer managed",
    Action.NO_OP: "has its roles already; they are adopted",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line: what happens to one thing of the blueprint.

    Attributes:
        action: what happens.
        label: to what: ``node pool train``, ``maintenance window``.
        text: how: ``before → after``, why it is replaced; may be empty.
        facts: what is made: ``4 × g2-standard-12, Spot``; may be empty.
        addresses: Terraform's addresses of the resources.
        precious: something is lost that cannot be made again as it was.
    """

    action: Action
    label: str
    text: str = ""
    facts: str = ""
    addresses: tuple[str, ...] = ()
    precious: bool = False

    @property
    def sign(self) -> str:
        """``+``, ``~``, ``±``, ``-``, or ``=`` where the object itself stays as it is."""
        return SIGNS[self.action]


@dataclass(frozen=True, slots=True)
class Context:
    """What lines need to know beyond the changes themselves.

    Attributes:
        offline: planned against the stand-in, which does not know of every update whether it replaces.
        protected: the environment refuses deletion, so what may replace is treated as a replacement.
        names: what the blueprint calls the targets of grants (``places.target_names``).
        describe: address → what is made.
    """

    offline: bool
    protected: bool
    names: Mapping[tuple[str, str], str]
    describe: Mapping[str, str]


@dataclass(slots=True)
class Thing:
    """The resources of one place in the blueprint, unchanged ones included."""

    place: Place
    changes: list[Change] = field(default_factory=list)

    @property
    def active(self) -> list[Change]:
        """The resources that something happens to."""
        return [c for c in self.changes if c.action is not Action.NO_OP or c.importing]

    @property
    def action(self) -> Action | None:
        """What happens to the thing as a whole; None if nothing does."""
        active = self.active
        if not active:
            return None
        main = [change for change in active if self._is_main(change)]
        # A grant that is replaced is one role for another: the thing it belongs to changes.
        if any(c.action is Action.REPLACE and not grants.is_grant(c.type) for c in main or active):
            return Action.REPLACE
        return _same_action(main or self.changes)

    def lines(self, context: Context) -> list[Line]:
        """What is shown of it; nothing if nothing happens."""
        active = self.active
        if self.place.noun == "API":
            return _apis(active)
        main = [change for change in active if self._is_main(change)]
        folded = {change.action for change in main if change.action in _COMES_OR_GOES}
        found: list[Line] = []
        for change in main:
            found += self._main(change, [c for c in active if not self._is_main(c)], context)
        lesser = [c for c in active if not self._is_main(c) and c.action not in folded]
        lesser = _without_repetition(lesser, main)
        found += _lesser([change for change in lesser if not grants.is_grant(change.type)], context)
        return found + self._grants([c for c in lesser if grants.is_grant(c.type)], context)

    def _is_main(self, change: Change) -> bool:
        """Whether it is the resource that the thing is named after."""
        return noun(change.type) == self.place.noun

    def _main(self, change: Change, lesser: list[Change], context: Context) -> list[Line]:
        if change.action is Action.UPDATE and self.place.label == "cluster":
            found = topics(change)
            if found:
                return [_topic_line(change, topic, context) for topic in found]
        together = change.action in _COMES_OR_GOES
        companions = [other for other in lesser if together and other.action is change.action]
        return [_line(change, self.place.label, context, companions)]

    def _grants(self, changes: list[Change], context: Context) -> list[Line]:
        """One line for each member, and for what it gains or loses one apart from what it keeps."""
        whole = _same_action(self.changes)
        together: dict[tuple[str, Action], list[Change]] = {}
        for change in changes:
            who = (
                self.place.label if self.place.group in ("workloads", "crossings") else grants.member(change)
            )
            changed = whole if whole in _COMES_OR_GOES else Action.UPDATE
            action = change.action if change.action in _KEPT else changed
            together.setdefault((who, action), []).append(change)
        found = []
        for (who, action), same in together.items():
            text = _KEPT.get(action) or grants.sentence(same, context.names, new=action is Action.CREATE)
            found.append(Line(action, who, text, addresses=_addresses(same)))
        return found


def _without_repetition(lesser: list[Change], main: list[Change]) -> list[Change]:
    """Without the updates that say what the main one says: a new label reaches everything."""
    said = {(t.key, t.text) for change in main if change.action is Action.UPDATE for t in topics(change)}

    def repeats(change: Change) -> bool:
        if not said or change.action is not Action.UPDATE:
            return False
        return {(topic.key, topic.text) for topic in topics(change)} <= said

    return [change for change in lesser if not repeats(change)]


def _same_action(changes: list[Change]) -> Action:
    """The action that all have in common; else it is a change of the whole."""
    actions = {change.action for change in changes}
    return actions.pop() if len(actions) == 1 else Action.UPDATE


def _lesser(changes: list[Change], context: Context) -> list[Line]:
    """Resources beside the main one: what changes one by one, what comes or goes by kind."""
    kinds: dict[tuple[Action, str], list[Change]] = {}
    for change in changes:
        kinds.setdefault((change.action, noun(change.type)), []).append(change)
    found = []
    for (action, kind), same in kinds.items():
        if action in _COMES_OR_GOES and len(same) > 1:
            text = first(sorted(map(title, same)), 4, ", ")
            lost = any(_is_precious(change, context) for change in same)
            found.append(Line(action, counted(len(same), kind), text, "", _addresses(same), lost))
        else:
            found += [_line(change, f"{kind} {title(change)}", context) for change in same]
    return found


def _apis(changes: list[Change]) -> list[Line]:
    words = {
        Action.CREATE: "enabled",
        Action.DELETE: "no longer managed",
        Action.FORGET: "no longer managed",
        Action.MOVE: "moved",
        Action.NO_OP: "adopted as they are",
    }
    found = []
    for action in dict.fromkeys(change.action for change in changes):
        same = [change for change in changes if change.action is action]
        what = f"{counted(len(same), 'API')} {words.get(action, 'changed')}"
        services = sorted(title(change).removesuffix(".googleapis.com") for change in same)
        found.append(Line(action, what, first(services, 4, ", "), addresses=_addresses(same)))
    return found


def _topic_line(change: Change, topic: Topic, context: Context) -> Line:
    doubt = context.offline and topic.attribute in may_replace(change)
    text = f"{topic.text}; {_doubt(topic.attribute)}" if doubt else topic.text
    lost = doubt and context.protected
    return Line(change.action, label(topic.key), text, addresses=(change.address,), precious=lost)


def _line(change: Change, name: str, context: Context, companions: list[Change] | None = None) -> Line:
    makes = change.action in (Action.CREATE, Action.REPLACE)
    facts = context.describe.get(change.address, "") if makes else ""
    together = companions or []
    text = _text(change, context) or ("" if facts else _with(together))
    addresses = _addresses([change, *together])
    return Line(change.action, name, text, facts, addresses, _is_precious(change, context))


def _text(change: Change, context: Context) -> str:
    match change.action:
        case Action.DELETE:
            return "left over from an interrupted replacement" if change.deposed else loses(change)
        case Action.REPLACE:
            return "; ".join([f"replace: {replacing(change)}", *_told(change)])
        case Action.UPDATE:
            doubt = [_doubt(*may_replace(change))] if context.offline and may_replace(change) else []
            adopted = ["adopted"] if change.importing else []
            moved = [f"was {former(change)}"] if change.previous_address else []
            return "; ".join([*_told(change), *doubt, *adopted, *moved])
        case Action.MOVE:
            return f"the same object, was {former(change)}"
        case Action.FORGET:
            return "no longer managed; the object stays"
        case Action.NO_OP:
            return "adopted as it is"
    return ""


def _told(change: Change, most: int = 3) -> list[str]:
    """What changes about a resource, the first few of it."""
    found = topics(change)
    if change.action is Action.REPLACE:
        # What comes out of a new resource is unknown, which says nothing here.
        found = [topic for topic in found if "(known after apply)" not in topic.text]
    elif not found:
        return ["only values that the provider computes"]
    alone = len(change.replace_paths) == 1
    texts = [t.text if t.forces_replacement and alone else f"{t.key} {t.text}" for t in found]
    return [first(texts, most)] if texts else []


def _doubt(*attributes: str) -> str:
    return f"update or replacement: not known offline ({', '.join(attributes)})"


def _with(companions: list[Change]) -> str:
    """What comes or goes with the main resource: ``with 2 subnets, 1 route``."""
    kinds = Counter("role" if grants.is_grant(c.type) else noun(c.type) for c in companions)
    return f"with {', '.join(counted(number, kind) for kind, number in kinds.items())}" if kinds else ""


def _is_precious(change: Change, context: Context) -> bool:
    """Whether something is lost for good. For a protected environment, what may replace is a replacement."""
    doubt = context.offline and context.protected and change.type in PRECIOUS
    return bool(loses(change)) or (doubt and bool(may_replace(change)))


def _addresses(changes: list[Change]) -> tuple[str, ...]:
    return tuple(change.address for change in changes)
