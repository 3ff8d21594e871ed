import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from groundplan.blueprints.quantities import (
    Boolean,
    Clock,
    Gib,
    Instant,
    InstantOrEndOfSupport,
    Integer,
    MibPerSecond,
    Network,
    Seconds,
    duration,
    gib,
    seconds,
)


@pytest.mark.parametrize(
    ("kind", "text", "value", "written"),
    [
        (Seconds, "90m", 5400, "90m"),
        (Seconds, "3d", 259200, "3d"),
        (Seconds, "1d12h", 129600, "36h"),
        (Seconds, "2w", 1209600, "14d"),
        (Seconds, "0s", 0, "0s"),
        (Gib, "200GiB", 200, "200GiB"),
        (Gib, "1TiB", 1024, "1TiB"),
        (Gib, "1PiB", 1048576, "1PiB"),
        (Gib, "2048MiB", 2, "2GiB"),
        (MibPerSecond, "2400MiB/s", 2400, "2400MiB/s"),
        (MibPerSecond, "2GiB/s", 2048, "2GiB/s"),
        (Boolean, "true", True, True),
        (Boolean, "FALSE", False, False),
        (Integer, "-3", -3, -3),
        (Clock, "02:00", "02:00", "02:00"),
        (InstantOrEndOfSupport, "end-of-support", "end-of-support", "end-of-support"),
        (
            Instant,
            "2026-12-15T01:00:00+01:00",
            datetime.datetime(2026, 12, 15, tzinfo=datetime.UTC),
            "2026-12-15T00:00:00Z",
        ),
    ],
)
def test_quantities_are_parsed_once_and_written_as_people_write_them(kind, text, value, written):
    adapter = TypeAdapter(kind)
    assert adapter.validate_python(text) == value
    assert adapter.dump_python(value, mode="json") == written
    assert adapter.validate_python(str(written)) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Seconds, "3"), (Seconds, "3 d"), (Seconds, "d"), (Seconds, "1.5h"), (Seconds, "-3d"),
        (Seconds, "3D"), (Seconds, ""), (Seconds, "٣d"), (Gib, "200"), (Gib, "200GB"), (Gib, "200 GiB"),
        (Gib, "100MiB"), (Gib, "1e3GiB"), (MibPerSecond, "2400"), (MibPerSecond, "2400MB/s"),
        (Boolean, "yes"), (Boolean, "1"), (Boolean, ""), (Integer, "3.0"), (Integer, "03"), (Integer, "0x3"),
        (Integer, "1_000"), (Integer, "+3"), (Integer, "9" * 19), (Clock, "2:00"), (Clock, "24:00"),
        (Clock, "02:00:00"), (Instant, "2026-12-15"), (Instant, "tomorrow"),
        (Instant, "0001-01-01T00:00:00+23:00"), (InstantOrEndOfSupport, "never"), (Network, "10.0.0.0"),
        (Network, "10.0.0.1/8"), (Network, "fd00::/8"), (Network, "10.0.0.0/33"),
        (Network, "10.0.0.0/255.0.0.0"), (Network, "010.0.0.0/8"),
    ],
)  # fmt: skip
def test_what_is_no_quantity_is_refused_in_our_words(kind, text):
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(text)
    (error,) = caught.value.errors()
    assert error["type"] == "value_error"


@given(st.integers(0, 10**9))
def test_durations_and_sizes_survive_a_round_trip(number):
    assert seconds(duration(number)) == number
    assert gib(TypeAdapter(Gib).dump_python(number, mode="json")) == number
