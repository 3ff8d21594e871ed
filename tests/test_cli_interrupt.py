"""Ctrl-C in the middle of an apply: what runs is finished, the state is true, the same command goes on."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from cli_factory import cloud, environment, groundplan, project

pytestmark = pytest.mark.terraform

SLOW = [{"type": "google_container_cluster", "action": "create", "delay_seconds": 1.5}]


def start(folder, *argv):
    """groundplan as a process group of its own, as a shell starts it; its stderr goes to a file."""
    with (folder / "stderr").open("wb") as stderr:
        return subprocess.Popen(
            [sys.executable, "-m", "groundplan", *argv],
            cwd=folder,
            env=environment(GROUNDPLAN_OFFLINE_FAULTS=json.dumps(SLOW)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )


def wait_for(folder, text, process):
    deadline = time.monotonic() + 60
    while text not in (folder / "stderr").read_text():
        assert process.poll() is None, (folder / "stderr").read_text()
        assert time.monotonic() < deadline, (folder / "stderr").read_text()
        time.sleep(0.02)


def test_an_interrupted_apply(tmp_path):
    folder = project(tmp_path)
    with start(folder, "apply", "--offline", "--auto-approve", "--verbose") as process:
        wait_for(folder, "start google_container_cluster.main", process)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends Ctrl-C to the whole group
        process.stdout.read()
    said = (folder / "stderr").read_text()
    assert process.returncode == 130, said
    assert "stopping after the running operations; state is safe" in said
    assert "Traceback" not in said

    made = {key.partition("/")[0] for key in cloud(folder)}
    assert "google_container_cluster" in made, "what ran was finished"
    assert "google_container_node_pool" not in made, "nothing new was begun"
    state = json.loads((folder / ".groundplan/offline/ml-dev/terraform.tfstate").read_text())
    known = {r["type"] for r in state["resources"] if r["mode"] == "managed" and r["instances"]}
    assert known == made, "the state knows what exists"

    again = groundplan(folder, "apply", "--offline", "--auto-approve")
    assert again.code == 0, again.both
    assert {key.partition("/")[0] for key in cloud(folder)} > made
