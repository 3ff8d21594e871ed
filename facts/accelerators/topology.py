"""The slices that TPU machines form: which topologies exist, and how many machines each is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import msgspec

from groundplan.facts.accelerators.catalog import machine
from groundplan.facts.accelerators.model import Tpu

#: 3-D slices of several machines below the first cube, 4x4x4. Sources: Cluster Toolkit, xpk.
_SMALL = ((2, 2, 2), (2, 2, 4), (2, 4, 4))
_CUBE = 4
_MAX_SIDE = 256
_NOTATION = re.compile(r"[1-9]\d*(x[1-9]\d*){1,2}")


class Topology(msgspec.Struct, frozen=True):
    """One slice on one machine type."""

    chips: int
    nodes: int  #: a slice has exactly these, and is made and removed as a whole
    multi_host: bool


def tpu_topology(name: str, topology: str) -> Topology | None:
    """The slice ``topology`` (``4x4x4``) made of machines of type ``name``; None: it does not exist.

    The 2-D slices (v5e, v6e) are listed. A 3-D slice is one of the small ones; or its sides are multiples of
    4 up to 256 and it has at most ``max_cubes`` cubes of 4x4x4. Sides ascend.
    """
    found = machine(name)
    if found is None or found.tpu is None or not _NOTATION.fullmatch(topology):
        return None
    tpu = found.tpu
    sides = tuple(int(side) for side in topology.split("x"))
    if topology == tpu.topology:
        return Topology(tpu.chips, 1, False)
    if topology in tpu.multi_host or _is_3d_slice(tpu, sides):
        chips = math.prod(sides)
        return Topology(chips, chips // tpu.chips, True)
    return None


def tpu_topologies(name: str) -> list[str]:
    """All slices of machines of type ``name``, smallest first, sides ascending; empty for other machines."""
    found = machine(name)
    if found is None or found.tpu is None:
        return []
    tpu = found.tpu
    larger = sorted(_3d_slices(tpu), key=lambda sides: (math.prod(sides), sides))
    return [tpu.topology, *tpu.multi_host, *("x".join(map(str, sides)) for sides in larger)]


def _is_3d_slice(tpu: Tpu, sides: tuple[int, ...]) -> bool:
    if tpu.max_cubes is None or len(sides) != len(_SMALL[0]):
        return False
    ascending = tuple(sorted(sides))
    if sides != ascending and not tpu.any_order:
        return False
    if ascending in _SMALL:
        return True
    whole_cubes = all(side % _CUBE == 0 and side <= _MAX_SIDE for side in sides)
    return whole_cubes and math.prod(side // _CUBE for side in sides) <= tpu.max_cubes


def _3d_slices(tpu: Tpu) -> Iterator[tuple[int, int, int]]:
    """All but the slice of one machine; sides ascend."""
    if tpu.max_cubes is None:
        return
    yield from _SMALL
    longest = _MAX_SIDE // _CUBE
    for a in range(1, longest + 1):
        for b in range(a, longest + 1):
            for c in range(b, min(longest, tpu.max_cubes // (a * b)) + 1):
                yield a * _CUBE, b * _CUBE, c * _CUBE
