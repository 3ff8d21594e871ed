"""Work files, the wall between offline and real, and sessions over several stacks on a real engine."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from groundplan.engines.terraform import environment, session, state
from groundplan.engines.terraform.engine import find_engines
from groundplan.engines.terraform.events import Phase, ResourceEvent
from groundplan.engines.terraform.process import Interrupt
from groundplan.engines.terraform.session import Session, StacksFailed
from groundplan.engines.terraform.workspace import opened
from groundplan.errors import EngineError, Interrupted
from groundplan.modules.graph import Graph, Stack

REAL_STATE = b'{"version": 4, "serial": 3, "lineage": "0c1d", "resources": []}'


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_everything_in_the_work_directory_is_private_and_ignored_by_git(tmp_path):
    old = os.umask(0o022)
    try:
        with opened(tmp_path / ".groundplan", offline=True) as work:
            root = work.root("ml-dev")
            root.write({"terraform": [{}]})
    finally:
        os.umask(old)
    assert (tmp_path / ".groundplan/.gitignore").read_text() == "*\n"
    paths = [tmp_path / ".groundplan", *(tmp_path / ".groundplan").rglob("*")]
    assert {p.name for p in paths} >= {
        "main.tf.json",
        "terraform.tfstate",
        "cloud",
        "logs",
        "lock",
        "engine.tfrc",
    }
    for path in paths:
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_an_existing_work_directory_keeps_its_git_ignore(tmp_path):
    (tmp_path / ".gitignore").write_text("mine\n")
    with opened(tmp_path, offline=False, stacks=["ml-dev"]):
        pass
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


def test_one_process_at_a_time_offline(tmp_path):
    with opened(tmp_path, offline=True):
        with pytest.raises(EngineError) as caught, opened(tmp_path, offline=True):
            pass
        assert f"process {os.getpid()}, since 20" in caught.value.message
        assert caught.value.exit_code == 4
        with opened(tmp_path, offline=False, stacks=["ml-dev"]):
            pass  # the modes do not wait for each other
    with opened(tmp_path, offline=True):
        pass  # free again


def test_real_stacks_are_locked_one_by_one(tmp_path):
    with opened(tmp_path, offline=False, stacks=["ml-prod"]):
        with opened(tmp_path, offline=False, stacks=["ml-dev"]):
            pass
        both = opened(tmp_path, offline=False, stacks=["ml-dev", "ml-prod"])
        with pytest.raises(EngineError, match="another groundplan"), both:
            pass
        with opened(tmp_path, offline=False, stacks=["ml-dev"]):
            pass  # what the refused one had taken is free again


def test_a_killed_process_leaves_no_lock(tmp_path):
    code = (
        "import sys, os, pathlib; from groundplan.engines.terraform.workspace import opened\n"
        "with opened(pathlib.Path(sys.argv[1]), offline=True): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert "process" in (tmp_path / "offline/lock").read_text()
    with opened(tmp_path, offline=True):
        pass


def test_offline_state_is_marked_for_life_and_kept(tmp_path):
    with opened(tmp_path, offline=True) as work:
        first = work.root("ml-dev").identity()
        assert first.offline
        assert work.root("ml-dev").identity() == first


def test_an_offline_run_refuses_real_state(tmp_path):
    with opened(tmp_path, offline=True) as work:
        work.root("ml-dev").state.write_bytes(REAL_STATE)
        with pytest.raises(EngineError, match="belongs to a real run"):
            work.root("ml-dev")


def test_a_real_run_refuses_offline_state(tmp_path):
    with opened(tmp_path, offline=True) as work:
        offline_state = work.root("ml-dev").state.read_bytes()
    with opened(tmp_path, offline=False, stacks=["ml-dev"]) as work:
        root = work.root("ml-dev")
        assert root.identity() is None
        root.state.write_bytes(offline_state)
        with pytest.raises(EngineError, match="objects of the offline stand-in"):
            work.root("ml-dev")


def test_a_directory_of_the_other_mode_is_refused(tmp_path):
    with opened(tmp_path, offline=True):
        pass
    (tmp_path / "offline").rename(tmp_path / "run")
    with pytest.raises(EngineError, match="not for real runs"), opened(tmp_path, offline=False):
        pass


@pytest.mark.parametrize("raw", [b"", b"\n"])
def test_no_state_has_no_identity(raw):
    assert state.identity(raw) is None


def test_what_is_no_state_is_said(tmp_path):
    with pytest.raises(EngineError, match="cannot be read"):
        state.identity(b"<html>")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "f"
    state.replace(target, b"old")
    monkeypatch.setattr(state.os, "open", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        state.replace(target, b"new")
    assert target.read_bytes() == b"old"


# --- sessions ------------------------------------------------------------------------------------------


class Told:
    """Events of all stacks; also proves that no two threads tell at a time."""

    def __init__(self):
        self.events = []
        self.busy = threading.Lock()

    def __call__(self, stack, event):
        assert self.busy.acquire(blocking=False)
        self.events.append((stack, event))
        time.sleep(0.001)
        self.busy.release()

    def steps(self, stack):
        return [f"{e.step} {e.state}" for name, e in self.events if name == stack and isinstance(e, Phase)]


@pytest.fixture
def resources(monkeypatch):
    """What each stack consists of: resources of the built-in provider stand for those of Google."""
    content = {}

    def document(stack, *, offline, guarded):
        settings = {"backend": {"local": {"path": "terraform.tfstate"}}}
        return {"terraform": [settings], "resource": {"terraform_data": content[stack.name]}}

    monkeypatch.setattr(session, "document", document)
    return content


@pytest.fixture
def run(tmp_path):
    """An offline session without a stand-in."""
    with opened(tmp_path / "work", offline=True) as work:
        variables = environment.offline(os.environ, work.cli_config, {})
        yield Session(work, find_engines()[0], variables, Told(), Interrupt())


def stacks(*names):
    return [Stack(name, Graph()) for name in names]


def failing(command="exit 1"):
    return {"provisioner": [{"local-exec": {"command": command}}]}


pytestmark = pytest.mark.terraform


def test_stacks_are_planned_at_once_and_come_in_order(run, resources):
    resources.update({"dev": {"a": {}}, "prod": {"a": {}, "b": {}}, "empty": {"none": {"count": 0}}})
    plans = run.plan(stacks("prod", "dev", "empty"))
    assert [(p.name, p.changes) for p in plans] == [("prod", True), ("dev", True), ("empty", False)]
    assert len(json.loads(plans[0].json)["resource_changes"]) == 2
    assert all(p.state.offline and p.state.serial == 0 for p in plans)
    assert mode(plans[0].path) == 0o600
    whole = [f"{step} {state}" for step in ("init", "plan", "show") for state in ("started", "done")]
    assert run.on_event.steps("prod") == whole

    run.plan(stacks("prod"))
    assert run.on_event.steps("prod") == [*whole, *whole[2:]], "an unchanged root is not initialized again"


def test_apply_then_nothing_to_do_then_destroy(run, resources):
    resources.update({"dev": {"a": {}}, "prod": {"a": {}}})
    both = stacks("dev", "prod")
    applied = run.apply(run.plan(both))
    assert applied == session.Applied(("dev", "prod"))
    assert [p.changes for p in run.plan(both)] == [False, False]
    assert run.workspace.root("dev").identity().offline, "the mark survives Terraform's own writing"
    assert run.workspace.root("dev").identity().serial > 0
    assert run.apply(run.plan(both, destroy=True)).error is None
    assert run.terraform("dev").state_list() == []
    created = [
        n for n, e in run.on_event.events if isinstance(e, ResourceEvent) and e.kind == "apply_complete"
    ]
    assert created == ["dev", "prod", "dev", "prod"]


def test_apply_stops_at_the_first_failure_and_says_how_far_it_came(run, resources):
    resources.update({"dev": {"a": {}}, "staging": {"a": failing()}, "prod": {"a": {}}})
    applied = run.apply(run.plan(stacks("dev", "staging", "prod")))
    assert (applied.done, applied.failed, applied.left) == (("dev",), "staging", ("prod",))
    assert isinstance(applied.error, EngineError)
    assert "staging/logs/apply.log" in applied.error.hint
    assert run.on_event.steps("staging")[-1] == "apply failed"
    assert run.terraform("prod").state_list() == []


def test_a_stack_that_cannot_be_planned_does_not_stop_the_others(run, resources):
    resources.update({"dev": {"a": {"wrong": 1}}, "prod": {"a": {}}, "staging": {"a": {"bad": 1}}})
    with pytest.raises(StacksFailed) as caught:
        run.plan(stacks("dev", "prod", "staging"))
    assert list(caught.value.errors) == ["dev", "staging"]
    assert "wrong" in caught.value.detail
    assert "bad" in caught.value.detail
    assert run.workspace.root("prod").plan.exists()


def test_validation_of_several_stacks(run, resources):
    resources.update({"dev": {"a": {}}, "prod": {"a": {}}})
    assert run.validate(stacks("dev", "prod")) == {"dev": [], "prod": []}


def test_a_bug_in_one_thread_ends_the_others_soon(run, resources):
    resources.update({"dev": {"a": {}}})  # `unknown` raises KeyError
    with pytest.raises(KeyError):
        run.plan(stacks("unknown", "dev"))
    assert run.interrupt.count == 1


def test_an_interrupted_apply_leaves_the_rest(run, resources, tmp_path):
    resources.update({"dev": {"a": failing(f"touch {tmp_path}/runs; exec sleep 20")}, "prod": {"a": {}}})
    plans = run.plan(stacks("dev", "prod"))

    def stop():
        while not (tmp_path / "runs").exists():
            time.sleep(0.02)
        run.interrupt.trigger()

    stopper = threading.Thread(target=stop)
    stopper.start()
    applied = run.apply(plans)
    stopper.join()
    assert isinstance(applied.error, Interrupted)
    assert (applied.done, applied.failed, applied.left) == ((), "dev", ("prod",))


def test_a_real_session_refuses_a_backend_that_holds_offline_state(tmp_path, monkeypatch):
    """A backend other than the default file: the state must be asked for, not just looked at."""
    elsewhere = tmp_path / "elsewhere.tfstate"
    state.begin_offline(elsewhere)
    content = {"terraform": [{"backend": {"local": {"path": str(elsewhere)}}}]}
    monkeypatch.setattr(session, "document", lambda stack, guarded: content)
    with (
        opened(tmp_path / "work", offline=False, stacks=["dev"]) as work,
        session.session(work, find_engines()[0]) as real,
        pytest.raises(StacksFailed, match="objects of the offline stand-in"),
    ):
        real.plan(stacks("dev"))
