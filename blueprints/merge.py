"""Defaults under an environment: one tree in which every value still knows where it was written.

Maps merge by key at every depth. Scalars, lists and values that are one decision (``capacity``, ``nodes``,
``sharing``) win whole. A key left blank is an empty map. A written null removes what the defaults set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from groundplan.blueprints.shapes import Shape
from groundplan.blueprints.tree import Entry, Map, Node, Path, is_blank, is_null


def merged(under: Node | None, over: Node, shape: Shape) -> Node:
    """``over`` laid on ``under``, without the nulls.

    Args:
        under: what the defaults say; None if nothing.
        over: what the environment says; not null itself.
        shape: what may stand here.
    """
    if under is not None and is_null(under):
        under = None
    if under is not None and is_blank(over) and not shape.whole:
        return merged(None, under, shape)
    if not isinstance(over, Map):
        return over
    below = under.entries if isinstance(under, Map) and not shape.whole else {}
    result = Map(over.source, over.start, over.end)
    for name in [*below, *(name for name in over.entries if name not in below)]:
        lower, upper = below.get(name), over.entries.get(name)
        if upper is None:
            upper, lower = lower, None
        if upper is None or is_null(upper.value):
            continue
        value = merged(lower.value if lower else None, upper.value, shape.step(name))
        result.entries[name] = Entry(upper.key, value)
    return result


def idle_nulls(
    under: Node | None, over: Node, shape: Shape, path: Path = ()
) -> Iterator[tuple[Path, Entry, Collection[str]]]:
    """The nulls of an environment that remove nothing: path, entry, the keys that the defaults set there."""
    if not isinstance(over, Map):
        return
    below = under.entries if isinstance(under, Map) and not shape.whole else {}
    for name, entry in over.entries.items():
        lower = below.get(name)
        if shape.kind == "model" and name not in shape.keys:
            continue
        if not is_null(entry.value):
            step = shape.step(name)
            yield from idle_nulls(lower.value if lower else None, entry.value, step, (*path, name))
        elif lower is None or is_null(lower.value):
            yield (*path, name), entry, below
