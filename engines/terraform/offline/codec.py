"""Values as Terraform core sends them: go-cty's msgpack, to and from plain Python.

A block is a dict that holds every attribute and nested block of its schema; lists, sets and maps are
lists and dicts; null is None. A value that is not known yet is ``UNKNOWN``.
"""

from __future__ import annotations

from typing import Any, Final, final

import msgpack

from groundplan.facts.schema import Block, CtyType

_INT64 = range(-(2**63), 2**64)


@final
class Unknown:
    """The type of ``UNKNOWN``: a value that Terraform learns only after apply."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false")


UNKNOWN: Final = Unknown()


def decode(data: bytes) -> Any:
    """The Python value of go-cty msgpack bytes. Refinements of unknown values are dropped."""
    return msgpack.unpackb(data, ext_hook=lambda code, payload: UNKNOWN, strict_map_key=False)


def encode(value: Any) -> bytes:
    """The go-cty msgpack bytes of a Python value."""
    packed: bytes = msgpack.packb(_packable(value))
    return packed


def _packable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _packable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_packable(item) for item in value]
    if value is UNKNOWN:
        return msgpack.ExtType(0, b"\x00")
    # Core keeps numbers as decimals: 0.1 sent as a binary float would differ from the 0.1 of the
    # configuration in every plan. As text it arrives exactly.
    if isinstance(value, float) or (isinstance(value, int) and value not in _INT64):
        return repr(value)
    return value


def conform(block: Block, value: Any) -> Any:
    """Make ``value`` fit ``block``: every key present, none extra, scalars of the declared types.

    Lists and sets of blocks become empty lists where they are null, as Terraform demands.
    """
    if value is None or value is UNKNOWN:
        return value
    out = {name: _conform_type(a.type, value.get(name)) for name, a in block.attributes.items()}
    for name, nested in block.blocks.items():
        inner = value.get(name)
        if inner is UNKNOWN or nested.nesting == "single":
            out[name] = conform(nested.block, inner)
        else:
            out[name] = [conform(nested.block, element) for element in inner or []]
    return out


def _conform_type(kind: CtyType, value: Any) -> Any:
    if value is None or value is UNKNOWN:
        return value
    if isinstance(kind, str):
        return _SCALARS[kind](value)
    container, inner = kind
    if container in ("list", "set"):
        return [_conform_type(inner, item) for item in value]
    if container == "map":
        return {key: _conform_type(inner, item) for key, item in value.items()}
    return {key: _conform_type(item, value.get(key)) for key, item in inner.items()}  # object


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _number(value: Any) -> int | float:
    number = float(value) if isinstance(value, str) else value
    if isinstance(number, float) and number.is_integer():
        return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else int(number)
    return number


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else value == "true"


_SCALARS = {"string": _text, "number": _number, "bool": _boolean}


def has_unknown(value: Any) -> bool:
    """Is the value, or anything in it, unknown?"""
    if isinstance(value, dict):
        return any(map(has_unknown, value.values()))
    if isinstance(value, list):
        return any(map(has_unknown, value))
    return value is UNKNOWN


def without_unknown(value: Any) -> Any:
    """The value without members that are still unknown."""
    if isinstance(value, dict):
        return {key: without_unknown(item) for key, item in value.items() if item is not UNKNOWN}
    if isinstance(value, list):
        return [without_unknown(item) for item in value if item is not UNKNOWN]
    return value
