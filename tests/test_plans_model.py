import gc
import json

import pytest
from plan_factory import DATA, change, plan, plan_bytes, real

from groundplan.errors import InputError
from groundplan.plans.model import Action, read_plan


def test_all_actions_of_a_real_plan():
    actions = {c.address: c.action for c in real("builtin_second").changes}
    assert actions == {
        "terraform_data.a": Action.UPDATE,
        "terraform_data.b": Action.NO_OP,
        "terraform_data.c[1]": Action.DELETE,
        "terraform_data.c2": Action.MOVE,
        'terraform_data.d["ml-dev"]': Action.DELETE,
        'terraform_data.d["ml.prod"]': Action.REPLACE,
        "terraform_data.keep": Action.FORGET,
        "terraform_data.nochange": Action.NO_OP,
        "terraform_data.str": Action.NO_OP,
        'module.env["ml-dev"].terraform_data.in': Action.DELETE,
        'module.env["ml.prod"].terraform_data.in': Action.NO_OP,
        'module.env["ml-dev"].module.child.terraform_data.leaf': Action.DELETE,
        'module.env["ml.prod"].module.child.terraform_data.leaf': Action.NO_OP,
    }


def test_a_change_says_where_it_is_and_why():
    by_address = real("builtin_second").by_address
    replaced = by_address['terraform_data.d["ml.prod"]']
    assert (replaced.type, replaced.name, replaced.index) == ("terraform_data", "d", "ml.prod")
    assert replaced.reason == "replace_because_cannot_update"
    assert replaced.replace_paths == ("triggers_replace",)
    assert replaced.deletes and not replaced.create_first
    assert by_address["terraform_data.c2"].previous_address == "terraform_data.c[0]"
    assert by_address["terraform_data.c[1]"].index == 1
    assert by_address["terraform_data.a"].provider == "terraform"
    leaf = by_address['module.env["ml.prod"].module.child.terraform_data.leaf']
    assert leaf.module == 'module.env["ml.prod"].module.child'


@pytest.mark.parametrize(
    ("actions", "create_first", "deletes"),
    [("delete+create", False, True), ("create+delete", True, True), ("create+forget", True, False)],
)
def test_every_order_of_a_replacement(actions, create_first, deletes):
    made = plan(change("google_compute_disk.d", actions, {"name": "a"}, {"name": "b"})).changes[0]
    assert (made.action, made.create_first, made.deletes) == (Action.REPLACE, create_first, deletes)


def test_replace_paths_are_readable():
    assert real("changed").by_address["google_container_node_pool.main_train"].replace_paths == (
        "node_config.ephemeral_storage_local_ssd_config.local_ssd_count",
        "node_config.guest_accelerator.type",
    )
    # Elements of a set stand in the path as themselves.
    paths = [["rule", {"port": 1}, "port"], ["rule", {"port": 2}, "port"], []]
    made = plan(change("google_compute_disk.d", "delete+create", {}, {}, replace_paths=paths)).changes[0]
    assert made.replace_paths == ("", "rule.port")


def test_values_before_and_after():
    old = real("builtin_second").by_address["terraform_data.a"]
    assert old.before["input"] == "plain" and old.after["input"] == "plain2"
    assert old.after["output"].is_unknown
    gone = real("builtin_second").by_address["terraform_data.keep"]
    assert not gone.after.exists and gone.latest["input"] == "n"


def test_actual_changes_leave_out_no_op_and_reading():
    data = {**change("google_compute_zones.z", "read"), "mode": "data"}
    adopted = change("google_storage_bucket.b", "no-op", {}, {}, importing={"id": "b"})
    same = change("google_storage_bucket.c", "no-op", {}, {})
    found = plan(data, adopted, same).actual
    assert [c.address for c in found] == ["google_storage_bucket.b"]
    assert found[0].importing


def test_index_by_type():
    made = real("changed")
    assert len(made.of_type("google_storage_bucket", "google_container_cluster")) == 4
    assert made.of_type("google_tpu_vm") == []


def test_configuration_and_references():
    made = real("builtin_second")
    leaf = made.by_address['module.env["ml.prod"].module.child.terraform_data.leaf']
    assert "references" in made.expressions(leaf)["input"]
    assert made.expressions(made.by_address["terraform_data.c[1]"]) == {}
    assert made.has_prior_state and not real("builtin_fresh").has_prior_state


def test_flags_outputs_drift_and_deferred_changes():
    deferred = {
        "reason": "absent_prereq",
        "resource_change": change("google_storage_bucket.b", "create", None, {}),
    }
    outputs = {
        "ca": {"actions": ["create"], "before": None, "after_unknown": True, "after_sensitive": True},
        "n": {"actions": ["no-op"], "before": 1, "after": 1, "after_unknown": False},
    }
    made = plan(
        errored=True, complete=False, applyable=False, deferred_changes=[deferred], output_changes=outputs,
        timestamp="2026-11-30T00:00:00Z",
    )  # fmt: skip
    assert (made.errored, made.complete, made.applyable) == (True, False, False)
    assert (
        made.deferred[0].reason == "absent_prereq" and made.deferred[0].change.type == "google_storage_bucket"
    )
    assert made.output_changes["ca"].value.is_unknown and made.output_changes["n"].action is Action.NO_OP
    assert real("drift").drift[0].address == "google_container_cluster.main"


def test_newer_minor_versions_and_unknown_keys_are_read():
    assert plan(format_version="1.99", something_new={"a": 1}).format_version == "1.99"


WHOLE = plan_bytes(change("google_storage_bucket.b", "create", None, {"name": "b"}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (WHOLE[: len(WHOLE) // 2], "cut off or not JSON"),
        (b"Error: no plan", "cut off or not JSON"),
        (b"\xff\xfe\x00", "cut off or not JSON"),
        (b"[1, 2]", "is not a plan"),
        (b"{}", "no format_version"),
        (b'{"format_version": 3}', "no format_version"),
        (b'{"format_version": "2.0", "resource_changes": {"a": 1}}', "format version 2.0; only 1.x"),
        (b'{"format_version": "2.0"}', "format version 2.0; only 1.x"),
        (plan_bytes(format_version="2.0"), "format version 2.0; only 1.x"),
        (b'{"format_version": "1.0", "values": {"root_module": {}}}', "is a state"),
        (b'{"version": 4, "lineage": "x", "serial": 1}', "is a state"),
        (b"PK\x03\x04rest of a zip file", "binary plan file"),
        (b'{"@level":"info","@message":"Terraform 1.15.5"}\n{"@level":"info"}', "the log of"),
        (plan_bytes(change("google_storage_bucket.b", "explode", {}, {})), "is not a plan"),
        (b'{"format_version": "1.2", "resource_changes": [{"address": 1}]}', "is not a plan"),
    ],
)
def test_what_is_no_plan_is_refused_with_a_hint(data, message):
    with pytest.raises(InputError) as caught:
        read_plan(data)
    assert message in caught.value.message
    assert caught.value.hint


def test_files_are_named_in_the_error(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the plan .*missing\.json"):
        read_plan(tmp_path / "missing.json")
    (tmp_path / "empty.json").touch()
    with pytest.raises(InputError, match=r"empty\.json is empty"):
        read_plan(tmp_path / "empty.json")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_windows_shells_write_is_read(encoding):
    assert read_plan(WHOLE.decode().encode(encoding)).changes[0].name == "b"


def test_an_empty_plan_is_a_plan():
    empty = {
        "format_version": "1.2",
        "planned_values": {"root_module": {}},
        "configuration": {"root_module": {}},
    }
    assert read_plan(json.dumps(empty).encode()).actual == []


def test_the_collector_runs_again_afterwards():
    read_plan(DATA / "drift.json")
    assert gc.isenabled()
