"""A small fault campaign in every run of the tests; at night (`-m nightly`) the large one."""

import subprocess
import sys
from pathlib import Path

import pytest
from faults.campaign import Worlds, execute, plan_runs, small_disks
from faults.kinds import BY_NAME, KINDS

pytestmark = [
    pytest.mark.terraform,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc"),
]

#: A few resources and no cluster: a run takes a second or two.
BLUEPRINT = """\
apiVersion: groundplan/v1
name: tiny
defaults:
  labels: {team: faults}
environments:
  ml-dev:
    storage:
      buckets:
        data: {}
        more: {}
"""
SEED = 1
QUICK = [kind for kind in KINDS if not (kind.bucket or kind.full_disk or "pool" in kind.name)]


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Do the ``number``-th run of a campaign of one kind; what is wrong then."""
    folder = tmp_path_factory.mktemp("worlds")
    (folder / "tiny.yaml").write_text(BLUEPRINT)
    worlds = Worlds(folder, folder / "tiny.yaml")

    def run(kind, number=0):
        planned = plan_runs(SEED, number + 1, {"tiny": worlds}, (kind,), thorough=number % 8 == 0)
        return execute(planned[number], worlds, folder / f"run-{kind.name}-{number}").problems

    return run


@pytest.mark.parametrize(
    "number", range(24), ids=lambda number: f"{QUICK[number % len(QUICK)].name}, {number}"
)
def test_a_fault_loses_nothing_and_is_healed(run, number):
    assert run(QUICK[number % len(QUICK)], number) == []


def test_a_full_disk_loses_nothing_and_is_healed(run):
    if not small_disks():
        pytest.skip("this machine lets us mount no small disk")
    assert run(BY_NAME["disk full"]) == []


def test_a_failing_bucket_loses_nothing_and_is_healed(run):
    assert run(BY_NAME["state bucket lost"]) == []


@pytest.mark.nightly
def test_several_hundred_faults(tmp_path, pytestconfig):
    if "nightly" not in pytestconfig.option.markexpr:
        pytest.skip("only with -m nightly")
    tool = Path(__file__).parents[1] / "tools" / "fault_campaign.py"
    report = tmp_path / "report.md"
    options = ["--runs", "300", "--seed", str(SEED), "--report", report, "--folder", tmp_path]
    command = [sys.executable, tool, *options]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    assert "300 runs" in report.read_text()
