"""Real runs without the real cloud: providers out of a mirror, state in a bucket, nothing attached."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest
from blueprint_factory import platform

from groundplan.blueprints.model import Tombstone
from groundplan.engines.terraform import dependency_lock, state, unsaved_state
from groundplan.engines.terraform.engine import find_engines
from groundplan.engines.terraform.session import StacksFailed, session
from groundplan.engines.terraform.workspace import opened
from groundplan.modules.graph import GcsState, Graph, LocalState, Stack, text
from groundplan.stacks.tombstones import tombstone
from tests.support.cloud_storage import CloudStorage, Fault
from tests.support.mirror import Mirror

pytestmark = pytest.mark.terraform
ENGINES = find_engines()
TYPES = {
    "google_compute_network",
    "google_compute_subnetwork",
    "google_service_account",
    "google_project_iam_member",
    "google_storage_bucket",
}


def stack(name, where=None, *, location="us-central1"):
    """A few resources with references between them, one of google-beta, and a data source."""
    graph = Graph(project=f"llm-{name}", region="us-central1", labels={"env": name})
    network = graph.add("google_compute_network", "main", name="main", auto_create_subnetworks=False)
    graph.add(
        "google_compute_subnetwork",
        "nodes",
        name="nodes",
        network=network["id"],
        ip_cidr_range="10.0.0.0/20",
        region="us-central1",
    )
    account = graph.add("google_service_account", "nodes", account_id="gke-nodes")
    graph.add(
        "google_project_iam_member",
        "nodes",
        provider="google-beta",
        project=f"llm-{name}",
        role="roles/container.defaultNodeServiceAccount",
        member=text("serviceAccount:", account["email"]),
    )
    graph.add("google_storage_bucket", "data", name=f"llm-{name}-data", location=location)
    graph.output("number", graph.data("google_project", "this", project_id=f"llm-{name}")["number"])
    return Stack(name, graph, where or GcsState("state", name), {"google": "~> 8.6"})


@pytest.fixture
def storage():
    with CloudStorage("state") as storage:
        yield storage


@pytest.fixture
def kept(tmp_path):
    return dependency_lock.beside(tmp_path / "llm.yaml")


@pytest.fixture
def run(tmp_path, storage, kept):
    """Open a session on real stacks, in one of several work directories."""

    @contextmanager
    def start(*stacks, engine=ENGINES[0], machine="mine"):
        names = [s.name for s in stacks]
        with (
            opened(tmp_path / machine, offline=False, stacks=names) as work,
            pytest.MonkeyPatch.context() as environment,
        ):
            for name, value in (mirror.environment | storage.environment).items():
                environment.setenv(name, value)
            with session(work, engine, locked_versions=kept) as running:
                running.lock_timeout_seconds = 0
                yield running

    with Mirror(tmp_path, types=TYPES) as mirror:
        yield start


def stored(storage, name):
    return json.loads(storage.buckets.get("state", f"{name}/default.tfstate").content)


def addresses(content):
    return {f"{r['type']}.{r['name']}" for r in content["resources"] if r["mode"] == "managed"}


@pytest.mark.parametrize(
    ("engine", "names"),
    [(ENGINES[0], ["dev", "prod"]), *((engine, ["dev"]) for engine in ENGINES[1:])],
    ids=[engine.kind for engine in ENGINES],
)
def test_the_life_of_environments(run, storage, kept, tmp_path, engine, names):
    stacks = [stack(name) for name in names]
    managed = {resource.address for resource in stacks[0].graph if resource.mode == "managed"}
    with run(*stacks, engine=engine) as mine:
        plans = mine.plan(stacks)
        assert all(plan.changes for plan in plans)
        assert all(plan.state and not plan.state.offline for plan in plans)
        assert mine.apply(plans).done == tuple(names)
        assert all(addresses(stored(storage, name)) == managed for name in names)

    with run(*stacks, engine=engine, machine="a colleague's") as theirs:
        again = theirs.plan(stacks)
        assert not any(plan.changes for plan in again), "all that counts is in the bucket"
        assert again[0].state.serial == stored(storage, names[0])["serial"]
        gone = theirs.plan(stacks[:1], destroy=True)
        assert theirs.apply(gone).error is None
    assert addresses(stored(storage, names[0])) == set()
    assert all(addresses(stored(storage, name)) == managed for name in names[1:])

    assert {o.name for o in storage.buckets.list("state")[0]} == {f"{name}/default.tfstate" for name in names}
    assert kept.read_text().count('\nprovider "') == 2, "google and google-beta, for all stacks"
    files = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    token = storage.environment["GOOGLE_OAUTH_ACCESS_TOKEN"].encode()
    assert not [path for path in files if token in path.read_bytes()], "no token among the work files"


def test_what_left_the_blueprint_is_destroyed_from_its_state_alone(run, storage):
    dev = stack("dev")
    made = platform({"ml-prod": {}}, foundation=False)
    made = made.model_copy(update={"removed": {"dev": Tombstone(confirm="llm-dev")}})
    bare = replace(tombstone(made, "dev"), state=dev.state, providers=dev.providers)
    with run(dev) as mine:
        assert mine.apply(mine.plan([dev])).error is None
    with run(bare, machine="a colleague's") as theirs:
        assert theirs.apply(theirs.plan([bare], destroy=True)).error is None
    assert addresses(stored(storage, "dev")) == set()


def test_a_plan_is_stale_once_somebody_else_has_applied(run, storage):
    dev = stack("dev")
    with run(dev) as mine, run(dev, machine="a colleague's") as theirs:
        plans = mine.plan([dev])
        assert theirs.apply(theirs.plan([dev])).error is None
        before = storage.buckets.get("state", "dev/default.tfstate")
        applied = mine.apply(plans)
        assert applied.failed == "dev"
        assert "stale" in applied.error.message
    assert storage.buckets.get("state", "dev/default.tfstate") is before


def test_offline_state_in_the_bucket_is_refused(run, storage, tmp_path):
    state.begin_offline(tmp_path / "offline.tfstate")
    content = (tmp_path / "offline.tfstate").read_bytes()
    storage.buckets.insert("state", "dev/default.tfstate", content)
    dev = stack("dev")
    with run(dev) as mine, pytest.raises(StacksFailed, match="objects of the offline stand-in"):
        mine.plan([dev])


def test_a_local_state_moves_into_its_bucket(run, storage):
    """The way of the foundation: its bucket does not exist before its first apply."""
    before, after = stack("dev", LocalState()), stack("dev")
    with run(before) as mine:
        assert mine.apply(mine.plan([before])).error is None
        assert storage.buckets.list("state")[0] == []
        mine.prepare([after], migrate_state=True)
        assert len(addresses(stored(storage, "dev"))) == 5
        assert not mine.plan([after])[0].changes


def test_a_held_lock_stops_a_stack_in_words(run, storage):
    dev = stack("dev")
    info = {
        "ID": "x",
        "Operation": "OperationTypeApply",
        "Who": "ci@runner-7",
        "Path": "gs://state/dev/default.tflock",
    }
    lock = storage.buckets.insert("state", "dev/default.tflock", json.dumps(info).encode())
    with run(dev) as mine, pytest.raises(StacksFailed) as caught:
        mine.plan([dev])
    assert caught.value.errors["dev"].message == "the state of dev is locked by ci@runner-7 (apply)"
    assert str(lock.generation) in caught.value.hint


def test_a_state_that_the_bucket_refused_once_does_not_fail_the_apply(run, storage, monkeypatch):
    monkeypatch.setattr(unsaved_state, "PAUSES_SECONDS", (0.0,))
    dev = stack("dev")
    with run(dev) as mine:
        plans = mine.plan([dev])
        storage.faults = [Fault("POST", "tfstate", status=503)]
        assert mine.apply(plans).done == ("dev",)
        assert len(addresses(stored(storage, "dev"))) == 5
        storage.faults = [Fault("POST", "tfstate", status=503, times=2)]
        assert mine.apply(mine.plan([dev], destroy=True)).failed == "dev"
        assert not mine.plan([dev], destroy=True)[0].changes, "saved before the next plan"
