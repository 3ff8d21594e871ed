"""The command line without --offline: providers out of a mirror, states in a Cloud Storage on the loopback.

The Terraform of the Python package makes the real runs, for the blueprints name it: so no engine needs to be
installed. Where terraform is, the foundation is applied with it too.
"""

import itertools
import json
import re
import shutil
import subprocess
import sys
import threading
import time

import pytest
import yaml
from cli_factory import edit, environment, groundplan, project

from groundplan.cli.output import Output
from groundplan.cli.project import Project
from groundplan.engines.terraform.engine import find_engines
from tests.support.cloud_storage import Fault
from tests.support.real_cloud import RealCloud

pytestmark = pytest.mark.terraform
BINARIES = [engine for engine in find_engines() if engine.kind == "binary"]
NUMBERS = itertools.count()  # of blueprints, so that nothing in the cloud is of two
#: No foundation: one bucket that somebody made holds the states.
SIMPLE = """\
apiVersion: groundplan/v1
name: NAME
engine: {name: embedded}
providers: {google: "~> 8.6"}
state: {bucket: states}
defaults:
  storage: {buckets: {data: {}}}
environments:
  ml-dev:
"""
PLATFORM = """\
apiVersion: groundplan/v1
name: NAME
organization: "123456789012"
foundation: {project: NAME-seed}
engine: {name: embedded}
providers: {google: "~> 8.6"}
defaults:
  billing_account: 01AB23-CD45EF-678901
  storage: {buckets: {data: {}}}
environments:
  ml-dev:
"""
LATER = ("  ml-dev:", "  ml-dev:\n  ml-prod:")


class World:
    """A blueprint, a cloud, and a way to run commands against it."""

    def __init__(self, cloud, folder, text):
        self.cloud = cloud
        self.name = f"p{next(NUMBERS)}"
        self.folder = project(folder, text.replace("NAME", self.name))

    def run(self, *argv, folder=None, **variables):
        return groundplan(folder or self.folder, *argv, **(self.cloud.environment | variables))

    def start(self, *argv, folder=None):
        """Begin a command as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "groundplan", *argv],
            cwd=folder or self.folder,
            env=environment(**self.cloud.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def checkout(self, folder):
        """What a colleague has who cloned the repository."""
        folder.mkdir()
        for path in self.folder.glob("groundplan.*"):
            shutil.copy(path, folder)
        return folder

    def state(self, stack, bucket=None):
        """The state in its bucket; None if there is none."""
        bucket = bucket or f"{self.name}-seed-state-{stack}"
        try:
            return json.loads(self.cloud.buckets.get(bucket, f"{self.name}/{stack}/default.tfstate").content)
        except Exception as refusal:
            assert getattr(refusal, "status", 0) == 404
            return None

    @property
    def local(self):
        """The state of a foundation whose bucket does not exist yet."""
        return self.folder / ".groundplan/run/foundation/terraform.tfstate"

    @property
    def text(self):
        return (self.folder / "groundplan.yaml").read_text()

    @property
    def lock(self):
        return yaml.safe_load((self.folder / "groundplan.lock.yaml").read_text())["environments"]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    """It serves what the platform consists of, and nothing more: each type takes time."""
    written = project(tmp_path_factory.mktemp("all"), PLATFORM.replace("NAME", "p").replace(*LATER))
    stacks = Project.load(str(written / "groundplan.yaml"), Output(quiet=True)).stacks(
        ["foundation", "ml-dev", "ml-prod"]
    )
    types = {resource.type for stack in stacks for resource in stack.graph if resource.mode == "managed"}
    with RealCloud(tmp_path_factory.mktemp("cloud"), types=types) as cloud:
        cloud.buckets.make("states", versioned=True)
        cloud.buckets.make("forgetful", versioned=False)
        yield cloud


@pytest.fixture(scope="module")
def world(cloud, tmp_path_factory):
    """A platform whose foundation and environment were just applied, after a first try that failed halfway.

    ``first`` and ``second`` are what was said, ``between`` is the state after the first.
    """
    world = World(cloud, tmp_path_factory.mktemp("platform") / "mine", PLATFORM)
    taken = cloud.mirror.cloud / "google_project" / f"projects%2F{world.name}-ml-dev.json"
    taken.parent.mkdir(parents=True, exist_ok=True)
    project_id = f"projects/{world.name}-ml-dev"
    taken.write_text(json.dumps({"type": "google_project", "id": project_id, "attributes": {}}))
    world.first = world.run("apply", "--all", "--auto-approve")
    world.between = json.loads(world.local.read_text())
    taken.unlink()
    world.second = world.run("apply", "--all", "--auto-approve")
    assert world.second.code == 0, world.second.both
    return world


@pytest.fixture
def simple(cloud, tmp_path):
    """A blueprint without a foundation, of a name of its own."""
    return World(cloud, tmp_path / "mine", SIMPLE)


# --- a platform ----------------------------------------------------------------------------------------


def test_the_foundation_says_what_it_takes_and_whose_credentials_it_uses(world):
    said = world.first.err
    assert re.search(r"resourcemanager.folderCreator +on organizations/123456789012 ", said)
    assert re.search(r"billing.user +on billingAccounts/01AB23-CD45EF-678901 ", said)
    assert "This run: an access token (GOOGLE_OAUTH_ACCESS_TOKEN)" in said
    assert said.index("folderCreator") < said.index("foundation: preparing")


def test_the_foundation_goes_on_where_it_failed_and_moves_into_its_bucket(world):
    assert world.first.code == 4
    assert f"does not exist yet; until it does, the state is in {world.local}" in world.first.err
    assert "already exists" in world.first.err
    assert "Exists now:" in world.first.err
    said = world.second.err
    assert (
        f"foundation: the state moves into gs://{world.name}-seed-state-foundation/{world.name}/foundation"
        in said
    )
    assert len(world.state("foundation")["resources"]) > 40
    assert len(world.state("ml-dev")["resources"]) > 2
    assert world.state("foundation")["lineage"] == world.between["lineage"]
    assert not world.local.exists()
    outputs = world.state("foundation")["outputs"]
    assert world.lock["ml-dev"]["project_number"] == outputs["project_numbers"]["value"]["ml-dev"]
    assert world.lock["ml-dev"]["folder"]


def test_nothing_is_left_to_do_for_anybody(world, tmp_path):
    theirs = world.checkout(tmp_path / "theirs")
    before = world.state("foundation")["serial"]
    result = world.run("plan", "--detailed-exitcode", folder=theirs)
    assert result.code == 0, result.both
    assert result.out.count("nothing to do") == 2
    assert world.state("foundation")["serial"] == before
    assert world.run("plan", "ml-dev", "--detailed-exitcode").code == 0
    outputs = world.run("output", "ml-dev", "--json", folder=theirs).json
    assert outputs["ml-dev"] == {"buckets": {"data": f"{world.name}-ml-dev-data"}, "clusters": {}}


def test_a_foundation_that_looks_for_its_state_elsewhere_does_not_begin_anew(world, tmp_path):
    theirs = world.checkout(tmp_path / "theirs")
    edit(theirs, "-seed}", "-sprout}")
    result = world.run("apply", "foundation", "--auto-approve", folder=theirs)
    assert result.code == 4
    assert "foundation was applied before, but the bucket with its state does not exist" in result.err
    assert not list((theirs / ".groundplan").rglob("foundation/*.tfstate"))


def test_an_environment_is_added_by_the_foundation_first(world, tmp_path):
    edit(world.folder, *LATER)
    theirs = world.checkout(tmp_path / "theirs")
    early = world.run("apply", "ml-prod", "--auto-approve", folder=theirs)
    assert early.code == 4
    assert "the bucket for the state of ml-prod does not exist" in early.err
    assert "groundplan apply foundation" in early.err
    dev = world.state("ml-dev")
    added = world.run("apply", "foundation", "ml-prod", "--auto-approve", "--no-verify", folder=theirs)
    assert added.code == 0, added.both
    assert "environments/ml-prod" in added.out
    assert "environments/ml-dev" not in added.out
    assert world.state("ml-prod")["outputs"]["buckets"]["value"] == {"data": f"{world.name}-ml-prod-data"}
    assert world.state("ml-dev") == dev
    learned = yaml.safe_load((theirs / "groundplan.lock.yaml").read_text())["environments"]
    assert learned["ml-prod"]["project_number"]
    assert learned["ml-dev"] == world.lock["ml-dev"]


def test_an_environment_is_destroyed_and_no_other(world, tmp_path):
    buckets = world.cloud.mirror.cloud / "google_storage_bucket"
    refused = world.run("destroy", "foundation", "--auto-approve")
    assert refused.code == 3
    assert "foundation would delete the bucket with its own state" in refused.err
    gone = world.run("destroy", "ml-dev", "--auto-approve", folder=world.checkout(tmp_path / "theirs"))
    assert gone.code == 0, gone.both
    assert world.state("ml-dev")["resources"] == []
    assert not (buckets / f"{world.name}-ml-dev-data.json").exists()
    assert (buckets / f"{world.name}-seed-state-ml-dev.json").exists(), "the foundation's"


@pytest.mark.skipif(not BINARIES, reason="no terraform on PATH")
def test_an_installed_engine_does_the_same(cloud, tmp_path):
    world = World(cloud, tmp_path / "mine", PLATFORM.replace("embedded", BINARIES[0].name))
    result = world.run("apply", "foundation", "--auto-approve", "--no-verify")
    assert result.code == 0, result.both
    assert f"Applied with {BINARIES[0]}." in result.out
    assert len(world.state("foundation")["resources"]) > 40
    assert world.lock["ml-dev"]["project_number"]


# --- two at a time -------------------------------------------------------------------------------------


def test_of_two_who_apply_one_wins_and_the_other_learns_who(simple, tmp_path):
    theirs = simple.checkout(tmp_path / "theirs")
    cloud, lock = simple.cloud, f"{simple.name}/ml-dev/default.tflock"
    # The first write is that of an empty state, when the backend is set up.
    applying = Fault("POST", f"{simple.name}/ml-dev/default.tfstate", after=1, until=threading.Event())
    cloud.storage.faults = [applying]
    first = simple.start("apply", "ml-dev", "--auto-approve", "--no-verify")
    while applying.times:
        assert first.poll() is None, first.stdout.read()
        time.sleep(0.05)
    (held,) = cloud.buckets.list("states", prefix=lock)[0]

    here = simple.run("plan", "ml-dev")
    assert here.code == 4
    assert re.search(r"another groundplan works in .*: process \d+, since \d{4}-", here.err)
    there = simple.run("apply", "ml-dev", "--auto-approve", "--lock-timeout", "0s", folder=theirs)
    assert there.code == 4
    assert re.search(r"the state of ml-dev is locked by \S+@\S+ \(apply since 20\d\d-\d\d-\d\d ", there.err)
    assert f"gcloud storage rm 'gs://states/{lock}#{held.generation}'" in there.err
    applying.until.set()
    said, _ = first.communicate(timeout=60)
    assert first.returncode == 0, said
    assert simple.run("plan", "ml-dev", "--detailed-exitcode", folder=theirs).code == 0


def test_an_engine_that_still_works_on_a_foundation_is_waited_for(cloud, tmp_path):
    world = World(cloud, tmp_path / "mine", PLATFORM)
    world.local.parent.mkdir(parents=True)
    world.local.write_text(json.dumps({"version": 4, "serial": 1, "lineage": "x", "resources": []}))
    code = "import fcntl, sys; f = open(sys.argv[1], 'rb+'); fcntl.lockf(f, 2); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, world.local], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as engine:
        engine.stdout.readline()
        result = world.run("apply", "foundation", "--auto-approve", "--lock-timeout", "0s")
        engine.communicate(b"\n")
    assert result.code == 4
    assert "an engine that an earlier run started still works on foundation" in result.err
    assert world.local.exists()


# --- what is refused -----------------------------------------------------------------------------------


def test_the_state_of_another_blueprint_is_not_planned_over(simple, tmp_path):
    assert simple.run("apply", "ml-dev", "--auto-approve", "--no-verify").code == 0
    mine = simple.state("ml-dev", "states")
    other = project(tmp_path / "other", simple.text.replace("state:", "names: {project: 'x-{env}'}\nstate:"))
    result = simple.run("apply", "ml-dev", "--auto-approve", folder=other)
    assert result.code == 4
    assert f"is that of ml-dev in the project {simple.name}-ml-dev, not of ml-dev in the" in result.err
    assert simple.state("ml-dev", "states") == mine
    edit(simple.folder, "bucket: states", "bucket: forgetful")
    moved = simple.run("plan", "ml-dev")
    assert moved.code == 4
    assert "A state is moved by hand" in moved.err


def test_an_identity_that_may_only_read_plans_what_was_applied_before(simple):
    forbidden = Fault("POST", f"{simple.name}/ml-dev/default.tf", status=403, times=99)
    simple.cloud.storage.faults = [forbidden]
    early = simple.run("plan", "ml-dev")
    assert early.code == 4
    assert "ml-dev was never applied, and this identity may not begin its state" in early.err
    simple.cloud.storage.faults = []
    assert simple.run("apply", "ml-dev", "--auto-approve", "--no-verify").code == 0
    simple.cloud.storage.faults = [forbidden]
    later = simple.run("plan", "ml-dev", "--detailed-exitcode")
    assert later.code == 0, later.both
    assert "ml-dev: no lock: this identity may only read" in later.err
    edit(simple.folder, "{data: {}}", "{data: {}, more: {}}")
    assert simple.run("apply", "ml-dev", "--auto-approve").code == 4, "an apply never goes without"
    made = simple.cloud.mirror.cloud / "google_storage_bucket"
    assert [path.stem for path in made.glob(f"{simple.name}-ml-dev-*")] == [f"{simple.name}-ml-dev-data"]
    simple.cloud.storage.faults = []


def test_a_bucket_has_to_keep_former_versions(simple):
    edit(simple.folder, "bucket: states", "bucket: forgetful")
    result = simple.run("apply", "ml-dev", "--auto-approve")
    assert result.code == 4
    assert "the bucket for the state of ml-dev is not versioned: gs://forgetful/" in result.err
    assert "gcloud storage buckets update gs://forgetful --versioning" in result.err
    assert not simple.state("ml-dev", "forgetful")["resources"]


def test_a_bucket_that_the_blueprint_names_has_to_exist(simple):
    edit(simple.folder, "bucket: states", "bucket: nowhere")
    result = simple.run("plan")
    assert result.code == 4
    assert "the bucket for the state of ml-dev does not exist: gs://nowhere/" in result.err


def test_a_state_of_a_newer_terraform_is_left_alone(simple):
    content = {"version": 5, "terraform_version": "1.99.0", "serial": 3, "lineage": "x"}
    simple.cloud.buckets.insert(
        "states", f"{simple.name}/ml-dev/default.tfstate", json.dumps(content).encode()
    )
    result = simple.run("plan")
    assert result.code == 4
    assert "Use Terraform 1.99.0 or newer, and ask for it under `engine:`" in result.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "{name: embedded}",
            "{name: embedded, version: '>= 99'}",
            "the blueprint asks for embedded >= 99; found ",
        ),
        (
            "{name: embedded}",
            "{name: terraform, version: '>= 99'}",
            "the blueprint asks for terraform >= 99; ",
        ),
        ("~> 8.6", "~> 99.0", "no available releases match the given constraints ~> 99.0"),
        ("~> 8.6", "~> 99.0", "Change `providers:` in the blueprint"),
    ],
)
def test_versions_are_kept(simple, old, new, said):
    edit(simple.folder, old, new)
    result = simple.run("plan")
    assert result.code == 4
    assert said in result.err


def test_the_embedded_engine_makes_no_real_run_unless_it_is_named(simple):
    edit(simple.folder, "{name: embedded}", "{name: tofu}")
    result = simple.run("plan", PATH="/nonexistent")
    assert result.code == 4
    assert "the blueprint asks for tofu >= 1.11" in result.err


def test_without_credentials_nothing_begins(simple):
    result = simple.run("plan", GOOGLE_OAUTH_ACCESS_TOKEN=None)
    assert result.code == 4
    assert "a real run needs Google Cloud credentials" in result.err
    assert not (simple.folder / ".groundplan").exists()
