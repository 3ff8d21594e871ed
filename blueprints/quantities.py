"""Quantities as people write them (``3d``, ``200GiB``, ``2400MiB/s``), parsed once into plain numbers."""

from __future__ import annotations

import datetime
import ipaddress
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
GIB = {"GiB": 1, "TiB": 1024, "PiB": 1024**2}
MIB_PER_SECOND = {"MiB/s": 1, "GiB/s": 1024}

_DURATION = re.compile(r"(\d+)(s|m|h|d|w)")
_SIZE = re.compile(r"(\d+)(MiB|GiB|TiB|PiB)")
_THROUGHPUT = re.compile(r"(\d+)(MiB/s|GiB/s)")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


def seconds(value: Any) -> int:
    """``90m`` → 5400; several parts add up (``1d12h``).

    Raises:
        ValueError: the text is not a duration.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    parts = _DURATION.findall(str(value))
    if not parts or "".join(n + unit for n, unit in parts) != str(value):
        raise ValueError("a duration is a number and a unit (s, m, h, d, w): 90m, 3d, 1d12h")
    return sum(int(number) * SECONDS[unit] for number, unit in parts)


def gib(value: Any) -> int:
    """``1TiB`` → 1024 (GiB).

    Raises:
        ValueError: the text is not a size, or not a whole number of GiB.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SIZE.fullmatch(str(value))
    if not match:
        raise ValueError("a size is a number and a unit (GiB, TiB): 200GiB, 1TiB")
    number, unit = int(match[1]), match[2]
    if unit == "MiB":
        if number % 1024:
            raise ValueError("a size is a whole number of GiB")
        return number // 1024
    return number * GIB[unit]


def mib_per_second(value: Any) -> int:
    """``2400MiB/s`` → 2400.

    Raises:
        ValueError: the text is not a throughput.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _THROUGHPUT.fullmatch(str(value))
    if not match:
        raise ValueError("a throughput is a number and a unit (MiB/s, GiB/s): 2400MiB/s")
    return int(match[1]) * MIB_PER_SECOND[match[2]]


def _boolean(value: Any) -> Any:
    if isinstance(value, str):
        if value in ("true", "false"):
            return value == "true"
        raise ValueError("write true or false")
    return value


def _integer(value: Any) -> Any:
    if isinstance(value, str):
        if re.fullmatch(r"-?\d{1,18}", value):
            return int(value)
        raise ValueError("write a whole number")
    return value


def _clock(value: str) -> str:
    if not _CLOCK.fullmatch(value):
        raise ValueError('a time of day is HH:MM in quotes: "02:00"')
    return value


def _instant(value: Any) -> Any:
    if isinstance(value, str):
        try:
            parsed = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            raise ValueError("a time is RFC 3339: 2026-12-15T00:00:00Z") from None
        if parsed.tzinfo is None:
            raise ValueError("a time needs its zone: 2026-12-15T00:00:00Z")
        return parsed.astimezone(datetime.UTC)
    return value


def _network(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return ipaddress.IPv4Network(value)
        except ValueError as error:
            try:
                whole = ipaddress.IPv4Network(value, strict=False)
            except ValueError:
                raise ValueError("an address range is IPv4 with a prefix length: 10.64.0.0/20") from error
            raise ValueError(f"{value} has host bits set; the range that holds it is {whole}") from error
    return value


def _schema(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern}$", "examples": [example]})


Boolean = Annotated[bool, BeforeValidator(_boolean)]
Integer = Annotated[int, BeforeValidator(_integer)]
Seconds = Annotated[int, BeforeValidator(seconds), _schema(r"(\d+[smhdw])+", "3d")]
Gib = Annotated[int, BeforeValidator(gib), _schema(r"\d+(MiB|GiB|TiB|PiB)", "200GiB")]
MibPerSecond = Annotated[int, BeforeValidator(mib_per_second), _schema(r"\d+(MiB/s|GiB/s)", "2400MiB/s")]
Clock = Annotated[str, AfterValidator(_clock), _schema(r"([01]\d|2[0-3]):[0-5]\d", "02:00")]
Instant = Annotated[
    datetime.datetime,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-12-15T00:00:00Z"]}),
]
Network = Annotated[
    ipaddress.IPv4Network,
    BeforeValidator(_network),
    PlainSerializer(str, return_type=str),
    _schema(r"\d+\.\d+\.\d+\.\d+/\d+", "10.64.0.0/20"),
]
