"""A stack that makes the bucket of its own state: it begins locally, moves, and never begins again."""

import json
from contextlib import contextmanager

import pytest

from groundplan.engines.terraform import bootstrap, unsaved_state
from groundplan.engines.terraform.engine import find_engines
from groundplan.engines.terraform.session import StacksFailed, session
from groundplan.engines.terraform.workspace import Root, opened
from groundplan.modules.graph import GcsState, Graph, Stack
from groundplan.plans.model import read_plan
from tests.support.cloud_storage import Fault
from tests.support.real_cloud import RealCloud

pytestmark = pytest.mark.terraform
ENGINES = find_engines()
BUCKET, ACCOUNT = "google_storage_bucket.state", "google_service_account.ci"


def seed(name, project=None):
    """A small foundation: an account, and the bucket for the stack's own state."""
    graph = Graph(project=project or name, region="us-central1")
    graph.add("google_service_account", "ci", account_id="ci-account")
    graph.add("google_storage_bucket", "state", name=f"{name}-state", location="US-CENTRAL1")
    return Stack("foundation", graph, GcsState(f"{name}-state", "llm/foundation"), {"google": "~> 8.6"})


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cloud")
    with RealCloud(folder, types={"google_service_account", "google_storage_bucket"}) as cloud:
        yield cloud


@pytest.fixture
def run(cloud, tmp_path, monkeypatch):
    """Open a session as a machine does that has no other."""
    for variable in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "TF_PLUGIN_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(unsaved_state, "PAUSES_SECONDS", (0.0,))

    @contextmanager
    def start(stack, *, machine="mine", engine=ENGINES[-1], **known):
        with (
            opened(tmp_path / machine, offline=False, stacks=["foundation"]) as work,
            session(work, engine, [stack], **known) as running,
        ):
            running.lock_timeout_seconds = 0
            yield running

    return start


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path / "mine" / "run" / "foundation")


def changes(run, stack):
    """What a plan would do: address → action."""
    (plan,) = run.plan([stack])
    return {change.address: change.action.value for change in read_plan(plan.json).actual}


def apply(run, stack):
    applied = run.apply(run.plan([stack]))
    assert applied.error is None, applied.error


def addresses(content):
    return {f"{one['type']}.{one['name']}" for one in json.loads(content)["resources"]}


def stored(cloud, stack):
    """The addresses of the state in the bucket; None if there is no bucket or no state."""
    name = f"{stack.state.prefix}/default.tfstate"
    try:
        return addresses(cloud.buckets.get(stack.state.bucket, name).content)
    except Exception as refusal:
        assert getattr(refusal, "status", 0) == 404
        return None


@pytest.mark.parametrize("engine", ENGINES, ids=[engine.kind for engine in ENGINES])
def test_it_begins_locally_and_moves_once_there_is_a_bucket(run, cloud, root, engine):
    stack = seed(f"llm-{engine.kind}")
    with run(stack, engine=engine) as mine:
        apply(mine, stack)
        assert addresses(root.state.read_bytes()) == {BUCKET, ACCOUNT}
        assert stored(cloud, stack) is None, "a crash here leaves it like this"
    with run(stack, engine=engine) as mine:
        assert changes(mine, stack) == {}
        assert stored(cloud, stack) == {BUCKET, ACCOUNT}
        assert not root.state.exists(), "nothing is left that somebody could go on with"
        stack.graph.add("google_service_account", "new", account_id="new-account")
        apply(mine, stack)
    with run(stack, engine=engine, machine="a colleague's", founded=True) as theirs:
        assert changes(theirs, stack) == {}
    assert stored(cloud, stack) == {BUCKET, ACCOUNT, "google_service_account.new"}


def test_an_apply_that_failed_before_the_bucket_goes_on_locally(run, cloud, root):
    stack = seed("llm-half")
    taken = cloud.mirror.cloud / "google_storage_bucket" / "llm-half-state.json"
    with run(stack) as mine:
        plans = mine.plan([stack])
        cloud.buckets.make("llm-half-state", versioned=True)
        assert mine.apply(plans).failed == "foundation"
        taken.unlink()
        assert addresses(root.state.read_bytes()) == {ACCOUNT}
    with run(stack) as mine:
        assert changes(mine, stack) == {BUCKET: "create"}
        apply(mine, stack)
        assert changes(mine, stack) == {}
    assert stored(cloud, stack) == {BUCKET, ACCOUNT}


def test_a_crash_while_it_moves_loses_nothing(run, cloud, root):
    """Before its state is in the bucket it waits under another name; from there it goes on, or back."""
    stack = seed("llm-moving")
    waiting = root.path / unsaved_state.NAME
    with run(stack) as mine:
        assert mine.apply(mine.plan([stack], targets=[ACCOUNT])).error is None
    root.state.replace(waiting)
    with run(stack) as mine:
        assert changes(mine, stack) == {BUCKET: "create"}
        assert not waiting.exists()
        apply(mine, stack)
    root.state.replace(waiting)
    with run(stack) as mine:
        assert changes(mine, stack) == {}
    assert stored(cloud, stack) == {BUCKET, ACCOUNT}
    assert not waiting.exists()


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_no_reason_to_begin_locally(run, cloud, root, status):
    stack = seed(f"llm-refused-{status}")
    cloud.storage.faults = [Fault(status=status, times=9)]
    with run(stack) as mine, pytest.raises(StacksFailed, match=f"Error {status}"):
        mine.plan([stack])
    assert not root.state.exists()
    assert "gcs" in (root.path / "main.tf.json").read_text()
    cloud.storage.faults = []


def test_a_refusal_after_the_apply_keeps_the_state(run, cloud, root):
    stack = seed("llm-later")
    with run(stack) as mine:
        apply(mine, stack)
        cloud.storage.faults = [Fault(status=403, times=9)]
        with pytest.raises(StacksFailed, match="Error 403"):
            mine.plan([stack])
        cloud.storage.faults = []
        assert addresses((root.path / unsaved_state.NAME).read_bytes()) == {BUCKET, ACCOUNT}
        assert changes(mine, stack) == {}
    assert stored(cloud, stack) == {BUCKET, ACCOUNT}


def test_a_bucket_that_is_gone_is_no_reason_to_begin_anew(run, cloud, root):
    stack = seed("llm-gone")
    with run(stack) as mine:
        apply(mine, stack)
        mine.prepare([stack])
        (cloud.mirror.cloud / "google_storage_bucket" / "llm-gone-state.json").unlink()
        with pytest.raises(StacksFailed, match="was applied before, but the bucket with its state"):
            mine.plan([stack])
    elsewhere = run(stack, machine="a colleague's", founded=True)
    with elsewhere as theirs, pytest.raises(StacksFailed, match="was applied before") as caught:
        theirs.plan([stack])
    assert "`foundation.project`" in caught.value.hint
    assert not root.state.exists()


def test_two_that_begin_at_the_same_time_do_not_overwrite_each_other(run, cloud, root):
    theirs, mine = seed("llm-twice"), seed("llm-twice")
    mine.graph.add("google_service_account", "mine", account_id="my-account")
    with run(mine) as me, run(theirs, machine="a colleague's") as colleague:
        plans = me.plan([mine], targets=["google_service_account.mine"])
        apply(colleague, theirs)
        colleague.prepare([theirs])
        assert me.apply(plans).error is None, "into a local state, since there was no bucket"
        with pytest.raises(StacksFailed, match="still cannot be saved") as caught:
            me.plan([mine])
    assert "lineage" in caught.value.detail
    assert stored(cloud, theirs) == {BUCKET, ACCOUNT}, "as the colleague left it"
    assert addresses((root.path / unsaved_state.NAME).read_bytes()) == {"google_service_account.mine"}


def test_an_empty_local_state_is_no_obstacle(run, cloud, root):
    stack = seed("llm-empty")
    with run(stack, machine="a colleague's") as colleague:
        apply(colleague, stack)
        colleague.prepare([stack])
    root.path.mkdir(parents=True)
    root.state.write_text(json.dumps({"version": 4, "serial": 7, "lineage": "other", "resources": []}))
    with run(stack) as mine:
        assert changes(mine, stack) == {}
    assert not root.state.exists()


def test_a_plan_that_loses_the_own_state_is_known(run, cloud):
    stack, moved = seed("llm-loss"), seed("llm-loss")
    with run(stack) as mine:
        apply(mine, stack)
        moved.graph[BUCKET].attributes["location"] = "EUROPE-WEST4"
        (destroys,), (replaces,) = mine.plan([stack], destroy=True), mine.plan([moved])
        assert bootstrap.loses_own_state(stack, read_plan(destroys.json))
        assert bootstrap.loses_own_state(stack, read_plan(replaces.json))
        assert not bootstrap.loses_own_state(seed("llm-other"), read_plan(destroys.json))
