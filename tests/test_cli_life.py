"""The life of an environment: applied, changed, failed half-way, protected, destroyed."""

import json
import shutil

import pytest
from cli_factory import PROTECTED, Person, cloud, edit, groundplan, project

pytestmark = pytest.mark.terraform

GPUS = ("machine: g2-standard-12", "machine: g2-standard-24")  # one L4 each, then two


@pytest.fixture(scope="module")
def applied(tmp_path_factory):
    """A folder with a protected environment that was applied. For looking at only."""
    folder = project(tmp_path_factory.mktemp("applied") / "tiny", PROTECTED)
    result = groundplan(folder, "apply", "--offline", "--auto-approve")
    assert result.code == 0, result.both
    return folder


@pytest.fixture
def copy(applied, tmp_path):
    """A copy of the applied folder, to change."""
    return shutil.copytree(applied, tmp_path / "tiny")


def state(folder):
    return (folder / ".groundplan" / "offline" / "ml-prod" / "terraform.tfstate").read_bytes()


def test_an_apply_leaves_nothing_to_do(applied):
    result = groundplan(applied, "plan", "--offline", "--detailed-exitcode")
    assert result.code == 0
    assert "nothing to do" in result.out
    assert {key.partition("/")[0] for key in cloud(applied)} >= {
        "google_container_cluster",
        "google_storage_bucket",
    }


def test_other_gpus_are_a_replacement_and_the_plan_names_the_attribute(copy):
    edit(copy, *GPUS)
    result = groundplan(copy, "plan", "--offline", "--detailed-exitcode", "--json")
    assert result.code == 2
    (stack,) = result.json["stacks"]
    (line,) = [line for group in stack["groups"] for line in group["lines"]]
    assert (line["action"], line["sign"], line["label"]) == ("replace", "±", "node pool l4")
    assert line["text"].startswith("replace: ")
    assert "node_config.guest_accelerator.count" in line["text"]
    assert line["resources"] == ["google_container_node_pool.main_l4"]
    assert stack["resources"] == {"add": 0, "change": 0, "replace": 1, "destroy": 0, "keep": 0}
    assert "Replacing l4 drains up to 4 nodes." in stack["notes"]


def test_what_is_protected_goes_in_two_steps(copy):
    cloud_before, state_before = cloud(copy), state(copy)
    refused = groundplan(copy, "destroy", "ml-prod", "--offline", "--auto-approve", "--allow-loss")
    assert refused.code == 3
    assert "google_container_cluster.main" in refused.err
    assert "google_storage_bucket.data" in refused.err
    assert "`protect: false`" in refused.err
    assert (cloud(copy), state(copy)) == (cloud_before, state_before)

    edit(copy, "  ml-prod:", "  ml-prod:\n    protect: false")
    still = groundplan(copy, "destroy", "ml-prod", "--offline", "--auto-approve", "--allow-loss")
    assert still.code == 3, "written, but not applied yet"
    assert (cloud(copy), state(copy)) == (cloud_before, state_before)

    assert groundplan(copy, "apply", "--offline", "--auto-approve", "--no-verify").code == 0
    gone = groundplan(copy, "destroy", "ml-prod", "--offline", "--auto-approve", "--allow-loss")
    assert gone.code == 0, gone.both
    assert {path.partition("/")[0] for path in cloud(copy)} <= {"google_project_service"}, "APIs stay enabled"


def test_what_is_protected_is_not_replaced(copy):
    before = cloud(copy), state(copy)
    edit(copy, "{data: {}}", "{data: {location: EU}}")
    refused = groundplan(copy, "apply", "--offline", "--auto-approve", "--allow-loss")
    assert refused.code == 3
    assert "± bucket data" in refused.out
    assert "google_storage_bucket.data" in refused.err
    assert (cloud(copy), state(copy)) == before


def test_a_person_is_asked_and_nobody_is_not(copy):
    edit(copy, "  ml-prod:", "  ml-prod:\n    apis: [run]")
    before = cloud(copy), state(copy)
    nobody = groundplan(copy, "apply", "--offline")
    assert nobody.code == 64
    assert "--auto-approve" in nobody.err
    no = groundplan(copy, "apply", "--offline", stdin=Person("n\n"))
    assert no.code == 130
    assert "Apply ml-prod?" in no.err
    assert (cloud(copy), state(copy)) == before
    yes = groundplan(copy, "apply", "--offline", "--no-verify", stdin=Person("y\n"))
    assert yes.code == 0
    assert cloud(copy).keys() - before[0].keys()


def test_a_failed_apply_goes_on_where_it_stopped(copy):
    edit(copy, *GPUS)
    fault = [
        {
            "type": "google_container_node_pool",
            "action": "create",
            "error": "Error 429: no capacity in zone a",
        }
    ]
    failed = groundplan(
        copy,
        "apply",
        "--offline",
        "--auto-approve",
        "--allow-loss",
        GROUNDPLAN_OFFLINE_FAULTS=json.dumps(fault),
    )
    assert failed.code == 4
    assert "Error 429: no capacity in zone a" in failed.err
    assert "Traceback" not in failed.both
    assert not any("l4" in key for key in cloud(copy)), "the old pool is gone, the new one was refused"
    again = groundplan(copy, "apply", "--offline", "--auto-approve", "--json")
    assert again.code == 0
    assert again.json["stacks"][0]["changed"] == 1
    assert any("l4" in key for key in cloud(copy))


def test_two_at_a_time_are_refused(copy):
    import fcntl

    with (copy / ".groundplan/offline/lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = groundplan(copy, "plan", "--offline")
    assert result.code == 4
    assert "another groundplan works in" in result.err
