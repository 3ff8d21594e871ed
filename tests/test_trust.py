"""Around an apply: asked before losses, state saved, failures explained, objects taken over, and verified."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_factory import BLUEPRINT, PROTECTED, Person, edit, environment, groundplan, project

from groundplan.engines.terraform import backups, local_state
from groundplan.engines.terraform.events import Diagnostic, ResourceEvent
from groundplan.engines.terraform.recovery import object_id, standing
from groundplan.engines.terraform.runner import RunError
from groundplan.engines.terraform.session import Session
from groundplan.errors import EngineError
from groundplan.plans.model import read_plan

OFFLINE = ("--offline", "--auto-approve")
#: No cluster: an apply takes half a second.
SMALL = """\
apiVersion: groundplan/v1
name: tiny
environments:
  ml-dev:
    storage:
      buckets:
        data: {}
        more: {}
"""
FORBIDDEN = "Error 403: Required 'storage.buckets.create' permission for 'x', forbidden"
BUCKET = {"type": "google_storage_bucket", "id": "data", "action": "create"}
LIBRARY = Path(__file__).parents[1] / "blueprints" / "library"
terraform = pytest.mark.terraform


def faults(*scripts):
    return {"GROUNDPLAN_OFFLINE_FAULTS": json.dumps(scripts)}


def root(folder, stack="ml-dev"):
    return folder / ".groundplan" / "offline" / stack


def state(folder, stack="ml-dev"):
    return json.loads((root(folder, stack) / "terraform.tfstate").read_text())


def recorded(folder):
    return {f"{r['type']}.{r['name']}" for r in state(folder)["resources"]}


def line_of(folder, text):
    lines = (folder / "groundplan.yaml").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.fixture
def small(tmp_path):
    return project(tmp_path, SMALL)


# -- what is said after a failure


@terraform
def test_a_failure_says_what_failed_what_was_said_what_exists_and_what_next(small):
    result = groundplan(small, "apply", "ml-dev", *OFFLINE, **faults(BUCKET | {"error": FORBIDDEN}))
    assert result.code == 4
    line = line_of(small, "data: {}")
    parts = [
        f"error: groundplan.yaml:{line}:15: bucket data (storage) was not created in ml-dev",
        f"  Google: {FORBIDDEN}",
        "Whoever runs this may not do that: storage.buckets.create",
        f"The full text: {root(small)}/logs/apply.log",
        "4 of 5 resources created",
        "Exists now:\n    services: APIs (3)\n    storage: bucket more",
        "Does not exist:\n    storage: bucket data",
        f"The state before this apply: {root(small)}/backups/0-",
        "  = Ask for a role that has it",
        "  = Go on: groundplan apply ml-dev --auto-approve --offline",
    ]
    found = [result.err.find(part) for part in parts]
    assert -1 not in found, parts[found.index(-1)]
    assert found == sorted(found), "in this order"
    assert FORBIDDEN in (root(small) / "logs" / "apply.log").read_text()
    assert groundplan(small, "apply", "ml-dev", *OFFLINE).code == 0


@terraform
def test_the_same_refusal_of_several_things_is_said_once(small):
    everywhere = {"type": "google_storage_bucket", "action": "create", "error": FORBIDDEN}
    result = groundplan(small, "apply", "ml-dev", *OFFLINE, **faults(everywhere))
    assert result.err.count("Google: Error 403") == 1
    assert "bucket data (storage) was not created" in result.err
    assert "bucket more (storage) was not created" in result.err
    assert "and 1 more in ml-dev" in result.err


@terraform
def test_what_could_not_be_destroyed_is_named_although_terraform_does_not(small):
    groundplan(small, "apply", "ml-dev", *OFFLINE)
    refused = BUCKET | {"action": "delete", "error": "Error 409: The bucket you tried to delete is not empty"}
    result = groundplan(small, "destroy", "ml-dev", *OFFLINE, **faults(refused))
    assert result.code == 4
    assert ": bucket data (storage) was not deleted in ml-dev" in result.err
    assert "It still holds data, and groundplan does not delete data." in result.err
    assert "Deleted:" in result.err
    assert re.search(r"Still exists:\n(    .*\n)*    storage: bucket data\n", result.err)
    assert "Go on: groundplan destroy ml-dev" in result.err


@terraform
def test_earlier_environments_are_named(tmp_path):
    folder = project(tmp_path, SMALL + "  ml-prod:\n    storage: {buckets: {data: {}}}\n")
    prod = {"type": "google_storage_bucket", "action": "create", "id": "prod", "error": FORBIDDEN}
    result = groundplan(folder, "apply", "--all", *OFFLINE, **faults(prod))
    assert result.code == 4
    assert "in ml-prod" in result.err
    assert "Applied before: ml-dev" in result.err
    assert "Go on: groundplan apply --all" in result.err


@terraform
def test_after_a_saved_plan_failed_it_does_not_fit_any_more(small):
    groundplan(small, "plan", "--offline", "--out", "plans")
    denied = faults(BUCKET | {"error": FORBIDDEN})
    result = groundplan(small, "apply", "--plan", "plans", "--offline", **denied)
    assert result.code == 4
    assert ": bucket data (storage) was not created in ml-dev" in result.err
    assert result.err.endswith("  = Go on: groundplan apply ml-dev --offline\n")


def test_an_engine_that_was_killed_is_told_apart_from_one_that_failed(tmp_path):
    killed = RunError("apply", [], tmp_path / "apply.log", "last words", -signal.SIGKILL)
    assert killed.message == "apply was ended by SIGKILL"
    assert "when memory ran out" in killed.hint
    assert RunError("apply", [], tmp_path / "apply.log", "last words").message == "apply failed"


@terraform
def test_a_failed_plan_is_explained_too(small):
    groundplan(small, "apply", "ml-dev", *OFFLINE)
    result = groundplan(small, "plan", "--offline", **faults(BUCKET | {"action": "read", "error": FORBIDDEN}))
    assert result.code == 4
    assert "  = Ask for a role that has it" in result.err


@terraform
def test_ctrl_c_ends_with_130_and_the_same_report(small):
    slow = [{"type": "google_storage_bucket", "action": "create", "delay_seconds": 1}]
    process = subprocess.Popen(
        [sys.executable, "-m", "groundplan", "apply", "ml-dev", *OFFLINE],
        cwd=small,
        env=environment(**faults(*slow)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = root(small) / "logs" / "apply.jsonl"
    while not (log.exists() and b"apply_start" in log.read_bytes()) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopping after the running operations; state is safe; press again to abandon" in said
    assert re.search(
        r"error: ml-dev: apply was stopped after the running operations; the state is safe\n", said
    )
    assert re.search(r"\d of 5 resources created", said)
    assert "= Go on: groundplan apply ml-dev --auto-approve --offline" in said


@terraform
def test_what_may_be_made_twice_is_told_before(tmp_path):
    """A project's lien has no name of its own: Google would not refuse a second one."""
    folder = project(tmp_path, (LIBRARY / "starter.yaml").read_text())
    words = ("apply", "foundation", "--no-verify", *OFFLINE)
    dying = {"type": "google_resource_manager_lien", "action": "finish", "crash": True}
    assert groundplan(folder, *words, **faults(dying)).code == 4
    again = groundplan(folder, *words)  # may meet what else was under way, too
    told = re.search(
        r"foundation: the last apply was cut off while it made (.*?)\. If that exists", again.err
    )
    assert "lien" in told[1]
    assert "--adopt=google_resource_manager_lien." in again.err


# -- objects that are half made, or that the state does not know


@terraform
def test_what_is_half_made_is_replaced_by_the_next_apply(small):
    late = BUCKET | {"action": "finish", "error": "timeout while waiting for state to become 'DONE'"}
    result = groundplan(small, "apply", "ml-dev", *OFFLINE, **faults(late))
    assert result.code == 4
    assert "Half made; the next apply replaces it:\n    storage: bucket data" in result.err
    again = groundplan(small, "apply", "ml-dev", *OFFLINE)
    assert again.code == 0
    assert "± bucket data" in again.out


@terraform
def test_what_is_half_made_and_protected_can_be_kept(tmp_path):
    """A protected environment refuses to replace it; without a way to keep it nothing could go on."""
    folder = project(tmp_path, SMALL.replace("ml-dev", "ml-prod"))
    late = BUCKET | {"action": "finish", "error": "timeout while waiting for state to become 'DONE'"}
    assert groundplan(folder, "apply", "ml-prod", *OFFLINE, **faults(late)).code == 4
    refused = groundplan(folder, "apply", "ml-prod", *OFFLINE)
    assert refused.code == 3
    command = re.search(r"Or keep what is half made, if it is well: groundplan (.*)", refused.err)[1]
    assert "--adopt=google_storage_bucket.data=tiny-ml-prod-data" in command
    kept = groundplan(folder, *shlex.split(command))
    assert kept.code == 0, kept.err
    assert "±" not in kept.out
    assert groundplan(folder, "plan", "--offline", "--detailed-exitcode").code == 0


@terraform
@pytest.mark.parametrize("moment", ["create", "finish"])
def test_what_a_dead_provider_left_is_taken_over(small, moment):
    dying = BUCKET | {"action": moment, "crash": True, "delay_seconds": 0.3}
    result = groundplan(small, "apply", "ml-dev", *OFFLINE, **faults(dying))
    assert result.code == 4
    assert "May exist without being in the state; the next apply says so:" in result.err
    again = groundplan(small, "apply", "ml-dev", *OFFLINE)
    if moment == "create":
        assert again.code == 0
        return
    assert again.code == 4
    assert "already exists" in again.err
    command = re.search(r"= Take over: groundplan (.*)", again.err)[1]
    assert "--adopt=google_storage_bucket.data=tiny-ml-dev-data" in command
    taken = groundplan(small, *shlex.split(command))
    assert taken.code == 0, taken.err
    assert "google_storage_bucket.data" in recorded(small)
    assert groundplan(small, "plan", "--offline", "--detailed-exitcode").code == 0


@terraform
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ml-dev", "--adopt", "google_storage_bucket.nope=x"], "there is no such resource"),
        (["--adopt", "google_storage_bucket.data=x"], "ml-dev, ml-prod all have it"),
        (["ml-dev", "--adopt", "google_storage_bucket.data"], "is not ADDRESS=ID"),
        (["ml-dev", "--lock-timeout", "soon"], "write 90s or 5m"),
    ],
)
def test_wrong_options(tmp_path, words, said):
    folder = project(tmp_path, SMALL + "  ml-prod:\n    storage: {buckets: {data: {}}}\n")
    result = groundplan(folder, "apply", *words, *OFFLINE)
    assert result.code == 64
    assert said in result.err
    assert not (folder / ".groundplan").exists()


@terraform
def test_adopting_nothing(small):
    result = groundplan(small, "apply", "ml-dev", "--adopt", "google_storage_bucket.data=nope", *OFFLINE)
    assert result.code == 4
    assert "  = Run again without --adopt." in result.err


@terraform
def test_ids_come_from_the_configuration_alone(tmp_path, monkeypatch):
    """All ids in the state of an applied cluster are what ``object_id`` says."""
    folder = project(tmp_path, BLUEPRINT)
    seen = []
    monkeypatch.setattr(Session, "prepare", lambda self, stacks: seen.extend(stacks))
    assert groundplan(folder, "apply", "ml-dev", *OFFLINE).code == 0
    groundplan(folder, "output", "ml-dev", "--offline")
    graph = seen[0].graph
    ids = {
        f"{r['type']}.{r['name']}": r["instances"][0]["attributes"]["id"]
        for r in state(folder)["resources"]
        if r["mode"] == "managed"
    }
    ids = {
        address: id_ for address, id_ in ids.items() if "_iam_" not in address
    }  # grants are never in the way
    told = {address: object_id(graph[address], graph) for address in ids}
    assert len(ids) > 20
    assert told == ids


# -- state


@terraform
def test_the_state_is_backed_up_before_an_apply(small):
    groundplan(small, "apply", "ml-dev", "--no-verify", *OFFLINE)
    before = (root(small) / "terraform.tfstate").read_bytes()
    edit(small, "data: {}", "data: {soft_delete: 9d}")
    assert groundplan(small, "apply", "ml-dev", "--no-verify", *OFFLINE).code == 0
    newest = backups.newest_first(root(small))[0]
    assert newest.read_bytes() == before
    assert re.fullmatch(rf"{json.loads(before)['serial']}-\d{{8}}T\d{{6}}Z\.tfstate", newest.name)
    assert newest.stat().st_mode & 0o777 == 0o600


def test_the_newest_backups_are_kept(tmp_path):
    for serial in range(backups.KEPT + 3):
        backups.back_up(tmp_path, json.dumps({"lineage": "x", "serial": serial}).encode())
    kept = [int(path.name.partition("-")[0]) for path in backups.newest_first(tmp_path)]
    assert kept == list(range(backups.KEPT + 2, 2, -1))
    assert len(list((tmp_path / backups.DIRECTORY).iterdir())) == backups.KEPT


@terraform
@pytest.mark.parametrize("left", [0, 300], ids=["empty", "half"])
def test_a_state_that_was_cut_off_is_mended(small, left):
    groundplan(small, "apply", "ml-dev", *OFFLINE)
    edit(small, "data: {}", "data: {}\n        third: {}")
    groundplan(small, "apply", "ml-dev", *OFFLINE)
    path = root(small) / "terraform.tfstate"
    path.write_bytes(path.read_bytes()[:left])
    result = groundplan(small, "plan", "--offline")
    assert result.code == 0, result.err
    assert "the state of ml-dev was cut off while it was written; restored from" in result.err
    assert "google_storage_bucket.data" in recorded(small)
    assert path.with_name(path.name + local_state.CUT_OFF).stat().st_size == left
    again = groundplan(small, "apply", "ml-dev", *OFFLINE)
    assert "--adopt=google_storage_bucket.third=" in again.err
    assert groundplan(small, *shlex.split(re.search(r"Take over: groundplan (.*)", again.err)[1])).code == 0


def test_a_cut_off_state_without_a_copy_is_not_taken_for_none(tmp_path):
    path = tmp_path / "terraform.tfstate"
    path.write_bytes(b'{"version": 4, "lin')
    with pytest.raises(EngineError, match="there is no copy of it"):
        local_state.mend(path, "ml-dev")
    assert path.read_bytes() == b'{"version": 4, "lin'


@terraform
def test_an_engine_that_outlived_its_groundplan_is_waited_for(small):
    groundplan(small, "apply", "ml-dev", *OFFLINE)
    hold = (
        "import fcntl, sys, time\n"
        f"file = open({str(root(small) / 'terraform.tfstate')!r}, 'r+')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print(flush=True)\n"
        "time.sleep(float(sys.argv[1]))\n"
    )
    for seconds, patience, code in (("60", "0s", 4), ("1", "20s", 0)):
        with subprocess.Popen([sys.executable, "-c", hold, seconds], stdout=subprocess.PIPE) as engine:
            engine.stdout.readline()
            result = groundplan(small, "apply", "ml-dev", "--lock-timeout", patience, *OFFLINE)
            engine.kill()
        assert result.code == code, result.err
        assert ("an engine that an earlier run started still works on ml-dev" in result.err) == (code == 4)


@terraform
def test_nothing_is_applied_where_the_state_has_no_room(small, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**20))
    result = groundplan(small, "apply", "ml-dev", *OFFLINE)
    assert result.code == 4
    assert "nothing was applied to ml-dev: only 1.0 MiB are free" in result.err
    assert recorded(small) == set()


# -- verification


@pytest.fixture
def meddling(small, monkeypatch):
    """Somebody changes a bucket by hand while groundplan applies."""
    real = Session.apply

    def apply(self, plans):
        done = real(self, plans)
        path = small / ".groundplan" / "offline" / "cloud" / "google_storage_bucket" / "tiny-ml-dev-data.json"
        stored = json.loads(path.read_text())
        stored["attributes"]["storage_class"] = "COLDLINE"
        path.write_text(json.dumps(stored))
        return done

    monkeypatch.setattr(Session, "apply", apply)


@terraform
def test_what_keeps_differing_is_told(small, meddling):
    result = groundplan(small, "apply", "ml-dev", *OFFLINE)
    assert result.code == 4
    assert "ml-dev: applied, but a new plan is not empty: 1 resource would change again" in result.err
    assert f"groundplan.yaml:{line_of(small, 'data: {}')}:15: bucket data (storage)" in result.err
    assert "storage_class" in result.err
    assert "COLDLINE" in result.err
    assert "Look again: groundplan plan ml-dev --offline" in result.err


@terraform
def test_without_verification_nobody_looks(small, meddling):
    assert groundplan(small, "apply", "ml-dev", "--no-verify", *OFFLINE).code == 0


# -- losses in a protected environment


@terraform
def test_a_loss_is_refused_or_asked_for_by_name(tmp_path):
    """A GPU pool has to be replaced; the environment is protected."""
    folder = project(tmp_path, PROTECTED)
    assert groundplan(folder, "apply", "ml-prod", "--no-verify", *OFFLINE).code == 0
    edit(folder, "g2-standard-12", "a2-highgpu-1g")
    before = state(folder, "ml-prod")["serial"]

    refused = groundplan(folder, "apply", "ml-prod", *OFFLINE)
    assert refused.code == 3
    assert "refused, nothing was changed: ml-prod would lose something for good" in refused.err
    assert "node_pools/l4 (google_container_node_pool.main_l4): the plan replaces it" in refused.err
    assert "--allow-loss" in refused.err
    groundplan(folder, "plan", "ml-prod", "--offline", "--out", "plans")
    assert groundplan(folder, "apply", "--plan", "plans", "--offline").code == 3

    for typed in ("y\n", ""):
        no = groundplan(folder, "apply", "ml-prod", "--offline", stdin=Person(typed))
        assert no.code == 130, typed
        assert "ml-prod is protected and loses for good:" in no.err
        assert "not applied; nothing was changed" in no.err
    assert state(folder, "ml-prod")["serial"] == before

    yes = groundplan(folder, "apply", "ml-prod", "--offline", "--no-verify", stdin=Person("ml-prod\n"))
    assert yes.code == 0, yes.err
    edit(folder, "a2-highgpu-1g", "g2-standard-12")
    assert groundplan(folder, "apply", "ml-prod", "--no-verify", "--allow-loss", *OFFLINE).code == 0


class Interrupting(Person):
    """Somebody who presses Ctrl-C at the question."""

    def readline(self, *arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return super().readline(*arguments)


@terraform
def test_ctrl_c_at_the_question_is_an_answer(small):
    result = groundplan(small, "apply", "ml-dev", "--offline", stdin=Interrupting("y\n"))
    assert result.code == 130
    assert "not applied; nothing was changed" in result.err
    assert recorded(small) == set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "as it was"


# -- how far an apply came


def change(name, *actions):
    return {
        "address": f"google_storage_bucket.{name}",
        "mode": "managed",
        "type": "google_storage_bucket",
        "name": name,
        "change": {"actions": list(actions), "before": None, "after": {}},
    }


def stored(*names, tainted=()):
    resources = [
        {
            "mode": "managed",
            "type": "google_storage_bucket",
            "name": name,
            "instances": [{"status": "tainted"} if name in tainted else {}],
        }
        for name in names
    ]
    return json.dumps({"resources": resources}).encode()


def event(kind, name, action, id=""):
    return ResourceEvent(kind=kind, address=f"google_storage_bucket.{name}", action=action, id=id)


def names(changes):
    return {one.name for one in changes}


def test_standing_by_state_and_events():
    plan = read_plan(
        json.dumps(
            {
                "format_version": "1.2",
                "resource_changes": [
                    *(change(name, "create") for name in ("made", "half", "lost", "hanging", "waiting")),
                    *(change(name, "update") for name in ("updated", "untouched")),
                    *(change(name, "delete") for name in ("deleted", "kept")),
                    *(change(name, "delete", "create") for name in ("replaced", "only_deleted")),
                    change("same", "no-op"),
                ],
            }
        ).encode()
    )
    events = [
        event("apply_start", "hanging", "create"),
        event("apply_complete", "lost", "create", "lost-id"),
        event("apply_complete", "updated", "update"),
        event("apply_complete", "replaced", "delete"),
        event("apply_complete", "replaced", "create"),
        event("apply_complete", "only_deleted", "delete"),
    ]
    now = standing(
        plan, events, stored("made", "half", "updated", "untouched", "kept", "replaced", tainted=["half"])
    )
    assert names(now.done) == {"made", "updated", "deleted", "replaced"}
    assert names(now.half_made) == {"half"}
    assert names(now.unrecorded) == {"lost"}
    assert now.ids == {"google_storage_bucket.lost": "lost-id"}
    assert names(now.uncertain) == {"hanging"}
    assert names(now.open) == {"waiting", "untouched", "kept", "only_deleted"}
    assert now.total == 11


def test_standing_without_a_state_believes_the_engine():
    plan = read_plan(
        json.dumps(
            {"format_version": "1.2", "resource_changes": [change("a", "create"), change("b", "create")]}
        ).encode()
    )
    gave_up = Diagnostic(
        severity="error", summary="timeout while waiting for state", address="google_storage_bucket.b"
    )
    now = standing(plan, [event("apply_complete", "a", "create"), gave_up], None)
    assert (names(now.done), names(now.uncertain), now.from_state) == ({"a"}, {"b"}, False)


def test_backups_of_a_bad_state_are_refused(tmp_path):
    with pytest.raises(EngineError, match="cannot be read"):
        backups.back_up(tmp_path, b"{")
    assert backups.back_up(tmp_path, b"") is None
    assert not list(Path(tmp_path).iterdir())


def test_a_lock_is_seen_only_while_it_is_held(tmp_path):
    path = tmp_path / "ml-dev" / "terraform.tfstate"
    path.parent.mkdir()
    path.write_text('{"lineage": "x", "serial": 1}')
    with path.open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    workspace = SimpleNamespace(offline=True, path=tmp_path)
    assert list(local_state.settle(workspace, [], patience_seconds=0)) == []
