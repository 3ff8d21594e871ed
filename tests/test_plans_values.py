import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundplan.plans.values import (
    ABSENT,
    UNKNOWN,
    AmbiguousPath,
    Attributes,
    format_path,
    make_value,
    parse_path,
)

POOL = Attributes(
    {
        "name": "train",
        "node_config": [{"spot": True, "guest_accelerator": [], "taint": [{"key": "a"}, {"key": "b"}]}],
        "labels": {"example.com/env": "prod", "team": None},
        "zones": ["a", None],
        "secret": "hunter2-hunter2",
        "disabled": False,
    },
    {
        "id": True,
        "node_config": [{"kubelet_config": True, "service_account": True, "taint": [{}, {"value": True}]}],
        "zones": [False, True],
        "network": True,
    },
    {"secret": True},
)


def test_known_values_are_read_through_lists_of_one_element():
    assert POOL["node_config.spot"] == True  # noqa: E712
    assert POOL["node_config[0].spot"].raw is True
    assert POOL["node_config.taint[1].key"] == "b"
    assert POOL['labels["example.com/env"]'] == "prod"
    assert POOL["labels", "example.com/env"] == "prod"


def test_false_is_known_and_null_is_absent():
    assert POOL["disabled"].is_known and not POOL["disabled"]
    assert POOL["labels.team"].is_absent
    assert POOL["nothing.at.all"].is_absent
    assert POOL["node_config.guest_accelerator.type"].is_absent
    assert not ABSENT and ABSENT == ABSENT and ABSENT == None  # noqa: E711


def test_after_unknown_is_read_first():
    assert POOL["id"].is_unknown
    assert POOL["node_config.service_account"].is_unknown
    # The whole block is unknown, so is everything in it.
    assert POOL["node_config.kubelet_config.cpu_manager_policy"].is_unknown
    assert Attributes({"node_config": []}, {"node_config": True})["node_config.spot"].is_unknown
    assert Attributes(None, True)["anything"].is_unknown


def test_an_unknown_value_has_no_truth_and_equals_nothing():
    for question in (lambda: bool(UNKNOWN), lambda: UNKNOWN == "x", lambda: POOL["name"] == UNKNOWN):
        with pytest.raises(TypeError, match="known after apply"):
            question()
    with pytest.raises(TypeError):
        _ = POOL["zones"] == ["a", "b"]  # one element is unknown
    with pytest.raises(TypeError):
        hash(UNKNOWN)


def test_unknown_parts_of_a_list_or_object_are_unknown_values():
    assert POOL["zones"].raw[0] == "a" and POOL["zones"].raw[1] is UNKNOWN
    assert POOL["node_config.taint"].raw[1]["value"] is UNKNOWN
    assert str(POOL["zones"]) == "a, (known after apply)"


def test_each_goes_through_all_elements():
    assert [str(value) for value in POOL.each("node_config.taint.key")] == ["a", "b"]
    assert [value.is_unknown for value in POOL.each("zones")] == [False, True]
    assert [value.is_unknown for value in POOL.each("network.anything")] == [True]
    assert POOL.each("node_config.guest_accelerator.type") == []
    assert [str(value) for value in POOL.each("name")] == ["train"]


def test_a_path_through_several_elements_must_say_which():
    with pytest.raises(AmbiguousPath, match="2 values"):
        _ = POOL["node_config.taint.key"]


def test_sensitive_values_are_never_shown():
    value = POOL["secret"]
    assert value == "hunter2-hunter2"
    assert "hunter2" not in f"{value} {value!r}"
    block = Attributes({"auth": [{"key": "hunter2-hunter2"}]}, False, {"auth": [{"key": True}]})
    assert "hunter2" not in str(block["auth"])


def test_names_are_those_of_known_and_unknown_attributes():
    assert {"id", "name", "network"} < set(POOL.names())
    assert not Attributes(None).exists


@pytest.mark.parametrize("path", ["", "a..b", "a.", "[x]", 'a["b', ".a"])
def test_a_malformed_path_is_refused(path):
    with pytest.raises(ValueError, match="not an attribute path"):
        parse_path(path)


@given(st.lists(st.one_of(st.text(min_size=1), st.integers(0, 99)), min_size=1))
def test_paths_survive_writing_and_reading(steps):
    assert parse_path(format_path(tuple(steps))) == tuple(steps)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON, JSON)
def test_any_json_beside_any_marks_gives_a_value(raw, unknown, sensitive):
    value = make_value(raw, unknown, sensitive)
    assert value.is_unknown == (unknown is True)
    assert isinstance(str(value), str)
