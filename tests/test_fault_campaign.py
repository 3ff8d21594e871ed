"""A small fault campaign in every run of the tests, and a large one at night (`-m nightly`)."""

import sys

import pytest
from faults.campaign import Worlds, execute, plan_runs, small_disks
from faults.kinds import BY_NAME, KINDS

pytestmark = [
    pytest.mark.terraform,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc"),
]

#: Some resources of several kinds, and no cluster: a run takes a second.
BLUEPRINT = """\
apiVersion: groundplan/v1
name: tiny
defaults:
  labels: {team: faults}
environments:
  ml-dev:
    network: {address_space: 10.64.0.0/16}
    storage:
      buckets:
        data: {}
        more: {}
"""
SEED = 1
QUICK = [kind for kind in KINDS if not (kind.bucket or kind.full_disk or "pool" in kind.name)]


@pytest.fixture(scope="session")
def worlds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worlds")
    (folder / "tiny.yaml").write_text(BLUEPRINT)
    return Worlds(folder, folder / "tiny.yaml")


def cases(number, kinds):
    """Names only: the worlds are made when the tests run."""
    return [f"{kinds[index % len(kinds)].name}-{index}" for index in range(number)]


@pytest.mark.parametrize("case", cases(24, QUICK))
def test_faults(case, worlds, tmp_path):
    name, _, number = case.rpartition("-")
    runs = plan_runs(SEED, int(number) + 1, {"tiny": worlds}, (BY_NAME[name],))
    assert execute(runs[-1], worlds, tmp_path / "world").problems == []


def test_a_full_disk(worlds, tmp_path):
    if not small_disks():
        pytest.skip("this machine gives us no small disk")
    run = plan_runs(SEED, 1, {"tiny": worlds}, (BY_NAME["disk full"],))[0]
    assert execute(run, worlds, tmp_path / "world").problems == []


def test_a_bucket_that_fails(worlds, tmp_path):
    run = plan_runs(SEED, 1, {"tiny": worlds}, (BY_NAME["state bucket lost"],))[0]
    assert execute(run, worlds, tmp_path / "world").problems == []
