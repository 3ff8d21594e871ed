"""The runner on real engines, with resources of the provider that is built into Terraform."""

import json
import os
import signal
import subprocess
import threading
import time

import msgspec
import pytest

from groundplan.engines.terraform import environment, process
from groundplan.engines.terraform.engine import Engine, find_engines
from groundplan.engines.terraform.events import (
    Diagnostic,
    Message,
    ResourceEvent,
    Summary,
    parse,
    readable,
)
from groundplan.engines.terraform.process import Interrupt
from groundplan.engines.terraform.runner import RunError, Terraform
from groundplan.errors import Interrupted

ENGINES = find_engines()
pytestmark = pytest.mark.terraform


@pytest.fixture(params=ENGINES, ids=lambda engine: f"{engine.name}-{engine.kind}")
def terraform(request, tmp_path):
    """A runner for one engine, in an empty root; its events are in ``events``."""
    logs, config = tmp_path / "logs", tmp_path / "engine.tfrc"
    logs.mkdir()
    config.write_text(environment.OFFLINE_CLI_CONFIG)
    root = tmp_path / "root"
    root.mkdir()
    variables = environment.offline(os.environ, config, {})
    runner = Terraform(request.param, root, variables, logs, on_event=Events())
    yield runner
    runner.interrupt.count = 3  # ends whatever a failing test left running


class Events(list):
    def __call__(self, event):
        self.append(event)

    def resources(self, kind):
        return [e.address for e in self if isinstance(e, ResourceEvent) and e.kind == kind]


def write(terraform, resources, /, **sections):
    content = {"resource": {"terraform_data": resources}, **sections}
    (terraform.directory / "main.tf.json").write_text(json.dumps(content))


def shell(command, *after):
    return {
        "provisioner": [{"local-exec": {"command": command}}],
        "depends_on": [f"terraform_data.{name}" for name in after],
    }


def in_state(terraform):
    module = terraform.show_state().get("values", {}).get("root_module", {})
    return {resource["name"] for resource in module.get("resources", ())}


def test_the_life_of_a_root(terraform, tmp_path):
    write(
        terraform,
        {"a": {"input": 1}, "b": {"input": "${terraform_data.a.output}"}},
        output={"b": {"value": "${terraform_data.b.output}"}},
    )
    plan = tmp_path / "p"
    terraform.init()
    assert terraform.validate() == []
    assert terraform.state() == b""
    assert terraform.state_list() == []

    assert terraform.plan(plan) is True
    assert plan.stat().st_mode & 0o777 == 0o600
    shown = json.loads(terraform.show_plan(plan))
    assert [c["change"]["actions"] for c in shown["resource_changes"]] == [["create"], ["create"]]
    terraform.apply(plan)
    assert terraform.state_list() == ["terraform_data.a", "terraform_data.b"]
    assert terraform.output() == {"b": 1}

    events = terraform.on_event
    assert events.resources("planned_change") == ["terraform_data.a", "terraform_data.b"] * 2  # plan, apply
    assert events.resources("apply_complete") == ["terraform_data.a", "terraform_data.b"]
    assert [(e.operation, e.add) for e in events if isinstance(e, Summary)] == [("plan", 2), ("apply", 2)]

    assert terraform.plan(plan) is False
    assert terraform.plan(plan, targets=["terraform_data.a"]) is False
    assert terraform.plan(plan, destroy=True) is True
    terraform.apply(plan)
    assert terraform.state_list() == []


def test_import_and_schema(terraform):
    write(terraform, {"a": {}})
    terraform.init()
    terraform.import_("terraform_data.a", "given-id")
    assert terraform.state_list() == ["terraform_data.a"]
    assert b"terraform_data" in terraform.providers_schema()


def test_a_wrong_configuration_fails_with_the_place(terraform):
    write(terraform, {"a": {}})
    terraform.init()
    write(terraform, {"a": {"inptu": 1}})
    with pytest.raises(RunError) as caught:
        terraform.validate()
    assert caught.value.message == "validate failed: Extraneous JSON object property"
    assert "inptu" in caught.value.detail
    assert caught.value.diagnostics[0].range.filename == "main.tf.json"


def test_a_provider_that_the_stand_in_does_not_serve_fails_at_once(terraform):
    write(terraform, {"a": {}}, terraform={"required_providers": {"random": {"source": "hashicorp/random"}}})
    with pytest.raises(RunError, match="init failed") as caught:
        terraform.init()
    assert "no-providers-offline" in caught.value.detail


def test_a_failing_apply_says_what_failed_and_keeps_what_was_made(terraform, tmp_path):
    write(terraform, {"a": {}, "b": shell("echo the disk is full; exit 3", "a")})
    terraform.init()
    terraform.plan(tmp_path / "p")
    with pytest.raises(RunError) as caught:
        terraform.apply(tmp_path / "p")
    error = caught.value
    assert error.exit_code == 4
    assert error.command == "apply"
    assert "terraform_data.b" in error.detail
    assert str(error.log) in error.hint
    log = error.log.read_text()
    assert "the disk is full" in log
    assert "terraform_data.a: Creation complete" in log
    assert not log.startswith("{"), "a log is for people"
    assert error.log.stat().st_mode & 0o777 == 0o600
    assert in_state(terraform) >= {"a"}
    assert terraform.on_event.resources("apply_errored") == ["terraform_data.b"]


def test_events_arrive_while_the_engine_works(terraform, tmp_path):
    write(
        terraform, {"quick": {}, "slow": shell(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done", "quick")}
    )

    def on_event(event):
        if isinstance(event, ResourceEvent) and event.kind == "apply_start" and "slow" in event.address:
            (tmp_path / "go").touch()  # without live events the apply would never end

    terraform.init()
    terraform.plan(tmp_path / "p")
    live = Terraform(terraform.engine, terraform.directory, terraform.environment, terraform.logs, on_event)
    watchdog = threading.Timer(10, (tmp_path / "go").touch)
    watchdog.start()
    began = time.monotonic()
    live.apply(tmp_path / "p")
    watchdog.cancel()
    assert time.monotonic() - began < 8


def apply_until_slow(terraform, tmp_path, stop):
    """Apply a quick, a slow and a later resource; call ``stop`` once the slow one runs."""
    write(
        terraform,
        {
            "quick": {},
            "slow": shell(f"touch {tmp_path}/runs; exec sleep 20", "quick"),
            "later": shell("true", "slow"),
        },
    )
    terraform.init()
    terraform.plan(tmp_path / "p")

    def wait():
        while not (tmp_path / "runs").exists():
            time.sleep(0.02)
        stop()

    stopper = threading.Thread(target=wait)
    stopper.start()
    try:
        terraform.apply(tmp_path / "p")
    finally:
        (tmp_path / "runs").touch()
        stopper.join()


def test_ctrl_c_ends_after_the_running_operations_and_the_state_is_safe(terraform, tmp_path):
    with pytest.raises(Interrupted, match="the state is safe") as caught, terraform.interrupt.listening():
        apply_until_slow(terraform, tmp_path, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert caught.value.exit_code == 130
    with pytest.raises(Interrupted):
        terraform.plan(tmp_path / "p")  # nothing new starts
    terraform.interrupt.count = 0
    assert "quick" in in_state(terraform)
    assert "later" not in in_state(terraform)
    assert terraform.plan(tmp_path / "p") is True  # and the state is not locked


def test_a_second_ctrl_c_abandons(tmp_path):
    stubborn = tmp_path / "stubborn"
    stubborn.write_text(
        "#!/bin/sh\ntrap 'n=$n.; echo $n; [ $n = .. ] && exit 9' INT; echo up; while :; do sleep 0.02; done\n"
    )
    stubborn.chmod(0o700)
    interrupt = Interrupt()

    def on_event(event):
        interrupt.count = min(interrupt.count + 1, 2)

    engine = Engine("terraform", "1.15.0", "binary", stubborn)
    runner = Terraform(engine, tmp_path, {"PATH": "/bin:/usr/bin"}, tmp_path, on_event, interrupt)
    with pytest.raises(Interrupted, match="abandoned") as caught:
        runner.apply(tmp_path / "p")
    assert "may exist without being in the state" in caught.value.hint


def test_an_exception_in_a_callback_still_lets_the_engine_save_its_state(terraform, tmp_path):
    def on_event(event):
        if isinstance(event, ResourceEvent) and event.kind == "apply_complete":
            raise ZeroDivisionError

    write(terraform, {"quick": {}, "slow": shell("exec sleep 20", "quick")})
    terraform.init()
    terraform.plan(tmp_path / "p")
    broken = Terraform(terraform.engine, terraform.directory, terraform.environment, terraform.logs, on_event)
    with pytest.raises(ZeroDivisionError):
        broken.apply(tmp_path / "p")
    assert "quick" in in_state(terraform)
    assert terraform.plan(tmp_path / "p") is True  # the engine has ended and holds no lock


def run_script(tmp_path, script, interrupt, on_line=lambda line: None):
    return process.run(
        ["/bin/sh", "-c", script],
        directory=tmp_path,
        environment={"PATH": "/bin:/usr/bin"},
        output=tmp_path / "out",
        on_line=on_line,
        interrupt=interrupt,
    )


def test_a_child_that_ignores_interrupts_is_killed_with_its_children(tmp_path):
    interrupt = Interrupt()

    def on_line(line):
        interrupt.count = 3

    began = time.monotonic()
    ended = run_script(tmp_path, "trap '' INT; sleep 30 & echo $!; wait; wait", interrupt, on_line)
    assert ended == (-signal.SIGKILL, 3)
    assert time.monotonic() - began < process.GRACE_SECONDS / 2, "the third time is meant"
    grandchild = int((tmp_path / "out").read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and is_running(grandchild):
        time.sleep(0.02)
    assert not is_running(grandchild)


def is_running(pid):
    ended = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True)
    return bool(ended.stdout.strip()) and not ended.stdout.startswith("Z")


def test_a_great_deal_of_output_on_both_streams_does_not_block(tmp_path):
    lines = []
    script = "i=0; while [ $i -lt 20000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done; printf last"
    assert run_script(tmp_path, script, Interrupt(), lines.append) == (0, 0)
    assert len(lines) == 40001
    assert lines[-1] == b"last"


def test_many_runs_at_a_time_are_all_told(tmp_path):
    interrupt, codes, ready = Interrupt(), [], threading.Semaphore(0)

    def work(name):
        (tmp_path / name).mkdir()
        script = "trap 'exit 7' INT; echo up; while :; do sleep 0.05; done"
        codes.append(run_script(tmp_path / name, script, interrupt, lambda line: ready.release()).code)

    threads = [threading.Thread(target=work, args=(f"s{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert ready.acquire(timeout=10)
    interrupt.trigger()
    for thread in threads:
        thread.join(10)
    assert codes == [7] * 4


def test_listening_restores_the_former_handlers():
    former = signal.getsignal(signal.SIGINT)
    said = []
    with Interrupt().listening(said.append) as interrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
    assert interrupt.count == 2
    assert said == [1, 2]
    assert signal.getsignal(signal.SIGINT) is former


def line(**content):
    return msgspec.json.encode(content)


RESOURCE = {"addr": "google_x.a", "module": "", "resource_key": None}


@pytest.mark.parametrize(
    ("content", "event"),
    [
        (
            {
                "type": "planned_change",
                "change": {"resource": RESOURCE, "action": "replace", "reason": "tainted"},
            },
            ResourceEvent(kind="planned_change", address="google_x.a", action="replace", reason="tainted"),
        ),
        (
            {
                "type": "apply_progress",
                "hook": {"resource": RESOURCE, "action": "create", "elapsed_seconds": 20},
            },
            ResourceEvent(kind="apply_progress", address="google_x.a", action="create", seconds=20),
        ),
        (
            {
                "type": "change_summary",
                "changes": {"add": 1, "change": 2, "import": 3, "remove": 4, "operation": "plan"},
            },
            Summary(operation="plan", add=1, change=2, imported=3, remove=4),
        ),
        (
            {
                "type": "diagnostic",
                "diagnostic": {"severity": "warning", "summary": "s", "snippet": {"values": []}},
            },
            Diagnostic(severity="warning", summary="s"),
        ),
        (
            {"type": "from_the_future", "@message": "m", "hook": {"x": 1}},
            Message(kind="from_the_future", text="m"),
        ),
    ],
)
def test_lines_become_events(content, event):
    assert parse(line(**content)) == event


def test_a_line_that_is_not_json_is_text():
    assert parse(b"panic: \xff\n") == Message(kind="text", text="panic: \ufffd")
    assert readable(b"panic") == "panic"
