"""Stacks of Google resources, from the graph to the stand-in's cloud and back, with each engine."""

import json
import os
import shutil
import signal

import pytest

from groundplan.engines.terraform.engine import find_engines
from groundplan.engines.terraform.events import ResourceEvent
from groundplan.engines.terraform.process import Interrupt
from groundplan.engines.terraform.session import session
from groundplan.engines.terraform.workspace import opened
from groundplan.errors import EngineError, Interrupted
from groundplan.modules.graph import GcsState, Graph, Lifecycle, Stack, text

pytestmark = pytest.mark.terraform
ENGINES = find_engines()


def stack(name, bucket=None, **network):
    """A stack with each way to write something: reference, text, data source, block, google-beta, a move."""
    graph = Graph(project=f"llm-{name}", region="us-central1", labels={"env": name})
    vpc = graph.add(
        "google_compute_network", "main", name="main", **{"auto_create_subnetworks": False, **network}
    )
    subnet = graph.add(
        "google_compute_subnetwork",
        "nodes",
        name="nodes",
        network=vpc["id"],
        region="us-central1",
        ip_cidr_range="10.0.0.0/20",
        secondary_ip_range=[{"range_name": "pods", "ip_cidr_range": "10.4.0.0/14"}],
        depends_on=[vpc],
        lifecycle=Lifecycle(ignore_changes=("secondary_ip_range",)),
    )
    project = graph.data("google_project", "this", project_id=f"llm-{name}")
    account = graph.add(
        "google_service_account", "nodes", account_id="gke-nodes", description="reads ${bucket}"
    )
    graph.add(
        "google_project_iam_member",
        "nodes",
        provider="google-beta",
        project=f"llm-{name}",
        role="roles/container.defaultNodeServiceAccount",
        member=text("serviceAccount:", account["email"]),
    )
    graph.add("google_storage_bucket", "data", name=bucket or f"llm-{name}-data", location="us-central1")
    graph.output("number", project["number"], "the ${number} of the project")
    graph.output("subnet", subnet["id"])
    graph.move("google_compute_network.old", vpc)
    graph.forget("google_storage_bucket.gone")
    return Stack(name, graph, GcsState("state", name), {"google": "~> 8.7"}, ">= 99")


@pytest.fixture(params=ENGINES, ids=lambda engine: f"{engine.name}-{engine.kind}")
def engine(request):
    return request.param


def actions(plan):
    changes = json.loads(plan.json)["resource_changes"]
    return {change["address"]: change["change"]["actions"] for change in changes}


def test_the_life_of_two_environments(tmp_path, engine):
    dev, prod = stack("dev"), stack("prod")
    with opened(tmp_path, offline=True) as work, session(work, engine, [dev, prod]) as run:
        assert run.validate([dev, prod]) == {"dev": [], "prod": []}
        plans = run.plan([dev, prod])
        assert [plan.changes for plan in plans] == [True, True]
        assert run.apply(plans).error is None
        again = run.plan([dev, prod])
        assert [plan.changes for plan in again] == [False, False]
        assert run.terraform("prod").output()["subnet"].startswith("projects/llm-prod/")
        described = run.terraform("dev").show_state()["values"]["root_module"]["resources"]
        account = next(r for r in described if r["address"] == "google_service_account.nodes")
        assert account["values"]["description"] == "reads ${bucket}"


def test_cloud_and_states_outlive_a_session(tmp_path):
    dev, prod = stack("dev"), stack("prod")
    with opened(tmp_path, offline=True) as work, session(work, ENGINES[0], [dev, prod]) as run:
        assert run.apply(run.plan([dev, prod])).error is None

    changed, emptied = stack("dev", description="by team ml"), Stack("prod", Graph(project="llm-prod"))
    with opened(tmp_path, offline=True) as work, session(work, ENGINES[0], [emptied]) as run:
        replaced, gone = run.plan([changed, emptied])
        assert actions(replaced)["google_compute_network.main"] == ["delete", "create"]
        assert set(map(tuple, actions(gone).values())) == {("delete",)}
        assert run.apply([gone, *run.plan([dev], destroy=True)]).error is None
        assert run.terraform("dev").state_list() == run.terraform("prod").state_list() == []


def test_stacks_share_one_cloud_so_that_collisions_show(tmp_path):
    both = [stack("dev", bucket="taken"), stack("prod", bucket="taken")]
    with opened(tmp_path, offline=True) as work, session(work, ENGINES[0], both) as run:
        applied = run.apply(run.plan(both))
    assert (applied.done, applied.failed) == (("dev",), "prod")
    assert isinstance(applied.error, EngineError)
    assert "409" in applied.error.detail
    assert "google_storage_bucket.data" in applied.error.detail


def test_ctrl_c_lets_a_running_creation_finish_and_remembers_it(tmp_path, engine, monkeypatch):
    slow = [{"type": "google_compute_network", "action": "create", "delay_seconds": 0.5}]
    monkeypatch.setenv("GROUNDPLAN_OFFLINE_FAULTS", json.dumps(slow))
    interrupt, said = Interrupt(), []

    def on_event(name, event):
        if (
            isinstance(event, ResourceEvent)
            and event.kind == "apply_start"
            and "network.main" in event.address
        ):
            os.kill(os.getpid(), signal.SIGINT)

    dev, prod = stack("dev"), stack("prod")
    with (
        opened(tmp_path, offline=True) as work,
        session(work, engine, [dev, prod], on_event=on_event, interrupt=interrupt) as run,
        interrupt.listening(said.append),
    ):
        applied = run.apply(run.plan([dev, prod]))
        assert said == [1]
        assert isinstance(applied.error, Interrupted)
        assert (applied.done, applied.failed, applied.left) == ((), "dev", ("prod",))
        interrupt.count = 0
        state = run.terraform("dev").state_list()
        assert "google_compute_network.main" in state, "what was being created is known"
        assert "google_compute_subnetwork.nodes" not in state, "and nothing was begun after it"
        assert run.apply(run.plan([dev])).error is None, "the same command goes on where it stopped"


def test_types_that_only_a_state_knows_are_still_served(tmp_path):
    """An object deleted by hand, of a type that no stack uses any more: the state still has to be read."""
    dev = stack("dev")
    with opened(tmp_path, offline=True) as work, session(work, ENGINES[0], [dev]) as run:
        assert run.apply(run.plan([dev])).error is None
        shutil.rmtree(work.cloud / "google_storage_bucket")
    emptied = Stack("dev", Graph(project="llm-dev"))
    with opened(tmp_path, offline=True) as work, session(work, ENGINES[0], [emptied]) as run:
        assert "google_service_account.nodes" in actions(run.plan([emptied])[0])
