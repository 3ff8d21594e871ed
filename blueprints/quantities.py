"""Quantities as people write them (``3d``, ``200GiB``, ``2400MiB/s``), parsed once into plain numbers.

Parsers take the source text of a scalar. What they refuse they explain in one line that ends with an example.
Written back as JSON, a quantity is again what a person would write.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
GIB = {"PiB": 1024**2, "TiB": 1024, "GiB": 1}
MIB_PER_SECOND = {"GiB/s": 1024, "MiB/s": 1}

_DURATION = re.compile(r"([0-9]{1,12})([smhdw])")
_SIZE = re.compile(r"([0-9]{1,12})(MiB|GiB|TiB|PiB)")
_THROUGHPUT = re.compile(r"([0-9]{1,9})(MiB/s|GiB/s)")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_NETWORK = re.compile(r"[0-9.]+/[0-9]{1,2}")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")

END_OF_SUPPORT = "end-of-support"


@dataclass(frozen=True)
class Matching:
    """A constraint on text: a pattern that the whole text matches, and the same in words for messages."""

    pattern: str
    words: str

    def check(self, value: str) -> str:
        """The value itself.

        Raises:
            ValueError: it does not match; the message is ``words``.
        """
        if not re.fullmatch(self.pattern, value, re.ASCII):
            raise ValueError(self.words)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(core), "pattern": f"^({self.pattern})$"}


def seconds(value: Any) -> int:
    """``90m`` → 5400; several parts add up (``1d12h``).

    Raises:
        ValueError: the text is not a duration.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    parts = _DURATION.findall(str(value))
    if not parts or "".join(number + unit for number, unit in parts) != str(value):
        raise ValueError("a duration is a number and a unit (s, m, h, d, w): 90m, 3d, 1d12h")
    return sum(int(number) * SECONDS[unit] for number, unit in parts)


def duration(value: int) -> str:
    """5400 → ``90m``: seconds in the largest unit that says them exactly, days at most."""
    for unit in ("d", "h", "m"):
        if value and value % SECONDS[unit] == 0:
            return f"{value // SECONDS[unit]}{unit}"
    return f"{value}s"


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
            raise ValueError("a size is a whole number of GiB: 200GiB")
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


def whole_number(value: Any) -> int:
    """``3`` → 3; hexadecimal and other notations that a reader may take for something else are refused.

    Raises:
        ValueError: the text is not a whole number.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    raise ValueError("write a whole number: 3")


def unknown_word(value: str, words: Sequence[str], further: str) -> PydanticCustomError:
    """The refusal of a word that is none of ``words``; ``further`` is what else may be written."""
    return PydanticCustomError(
        "unknown_word",
        "{value} is none of the words",
        {"value": value, "words": list(words), "further": further},
    )


def instant(value: datetime.datetime | str) -> str:
    """A time in RFC 3339, in UTC; other text stays as it is."""
    if isinstance(value, str):
        return value
    return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")


def _in_units(units: dict[str, int]) -> PlainSerializer:
    def written(value: int) -> str:
        unit = next((unit for unit, size in units.items() if value and value % size == 0), None)
        return f"{value // units[unit]}{unit}" if unit else f"{value}{list(units)[-1]}"

    return PlainSerializer(written, return_type=str, when_used="json")


def _boolean(value: Any) -> Any:
    if isinstance(value, str):
        if value in ("true", "True", "TRUE", "false", "False", "FALSE"):
            return value.lower() == "true"
        raise ValueError("write true or false")
    return value


def _clock(value: str) -> str:
    if not _CLOCK.fullmatch(value):
        raise ValueError('a time of day is HH:MM in quotes: "02:00"')
    return value


def _instant(value: Any) -> Any:
    if isinstance(value, str):
        try:
            parsed = datetime.datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("a time is RFC 3339: 2026-12-15T00:00:00Z") from None
        if parsed.tzinfo is None:
            raise ValueError("a time needs its zone: 2026-12-15T00:00:00Z")
        try:
            return parsed.astimezone(datetime.UTC)
        except OverflowError:
            raise ValueError("a time is RFC 3339: 2026-12-15T00:00:00Z") from None
    return value


def _end(value: Any) -> Any:
    if isinstance(value, str) and value != END_OF_SUPPORT:
        try:
            return _instant(value)
        except ValueError as error:
            raise ValueError(f"{error}, or {END_OF_SUPPORT}") from None
    return value


def _network(value: Any) -> Any:
    if isinstance(value, str):
        try:
            interface = ipaddress.IPv4Interface(value) if _NETWORK.fullmatch(value) else None
        except ValueError:
            interface = None
        if interface is None:
            raise ValueError("an address range is IPv4 with a prefix length: 10.64.0.0/20")
        if interface.ip != interface.network.network_address:
            raise ValueError(f"it has host bits set; the range that holds it is {interface.network}")
        return interface.network
    return value


def _address(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return ipaddress.IPv4Address(value)
        except ValueError:
            raise ValueError("an address is IPv4: 10.127.255.254") from None
    return value


def _schema(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern}$", "examples": [example]})


_TIME = {"type": "string", "format": "date-time", "examples": ["2026-12-15T00:00:00Z"]}

Boolean = Annotated[bool, BeforeValidator(_boolean)]
Integer = Annotated[int, BeforeValidator(whole_number)]
Share = Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
Seconds = Annotated[
    int,
    BeforeValidator(seconds),
    PlainSerializer(duration, return_type=str, when_used="json"),
    _schema(r"([0-9]+[smhdw])+", "3d"),
]
Gib = Annotated[int, BeforeValidator(gib), _in_units(GIB), _schema(r"[0-9]+(MiB|GiB|TiB|PiB)", "200GiB")]
MibPerSecond = Annotated[
    int,
    BeforeValidator(mib_per_second),
    _in_units(MIB_PER_SECOND),
    _schema(r"[0-9]+(MiB/s|GiB/s)", "2400MiB/s"),
]
Clock = Annotated[str, AfterValidator(_clock), _schema(r"([01][0-9]|2[0-3]):[0-5][0-9]", "02:00")]
Instant = Annotated[
    datetime.datetime,
    BeforeValidator(_instant),
    PlainSerializer(instant, return_type=str, when_used="json"),
    WithJsonSchema(_TIME),
]
InstantOrEndOfSupport = Annotated[
    datetime.datetime | Literal["end-of-support"],
    BeforeValidator(_end),
    PlainSerializer(instant, return_type=str, when_used="json"),
    WithJsonSchema({"anyOf": [_TIME, {"const": END_OF_SUPPORT}]}),
]
Network = Annotated[
    ipaddress.IPv4Network,
    BeforeValidator(_network),
    PlainSerializer(str, return_type=str),
    _schema(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+/[0-9]+", "10.64.0.0/20"),
]
Address = Annotated[
    ipaddress.IPv4Address,
    BeforeValidator(_address),
    PlainSerializer(str, return_type=str),
    _schema(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+", "10.127.255.254"),
]
