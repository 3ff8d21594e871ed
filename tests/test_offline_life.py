"""Real Terraform against the stand-in: plan, apply, drift, replace, import, destroy."""

import json

import pytest
from offline_factory import NETWORK, SETTINGS, TYPES, Root, cluster_root

from groundplan.engines.terraform.offline.session import Standin
from groundplan.engines.terraform.offline.values import project_number
from groundplan.engines.terraform.runner import RunError

pytestmark = pytest.mark.terraform


@pytest.fixture
def standin(tmp_path):
    with Standin(tmp_path / "cloud", tmp_path / "standin.log", types=TYPES) as standin:
        yield standin
    assert "Traceback" not in (tmp_path / "standin.log").read_text()


@pytest.fixture
def root(tmp_path, standin):
    return Root(tmp_path / "root", standin, tmp_path / "cloud")


def test_whole_life(root):
    root.write(cluster_root())
    assert root.terraform.validate() == []

    planned = root.plan()
    assert {address for address, change in planned.items() if change["actions"] != ["create"]} == set()
    cluster, network = planned["google_container_cluster.gke"], planned["google_compute_network.vpc"]
    assert network["after"]["deletion_policy"] == "DELETE"  # the provider's default is in the plan
    assert network["after"]["project"] == "ml"  # from the provider's settings
    assert network["after_unknown"]["self_link"] is True
    assert cluster["after_unknown"]["network"] is True  # an id that is not known yet
    assert cluster["after_unknown"]["master_auth"] is True
    assert planned["google_storage_bucket.data"]["after"]["location"] == "US-CENTRAL1"

    root.terraform.apply(root.path / "plan")
    assert root.changes() == {}
    assert root.state("google_compute_subnetwork.nodes")["gateway_address"] == "10.64.0.1"
    path, stored = root.object("google_container_cluster")
    assert (stored["type"], stored["id"]) == (
        "google_container_cluster",
        "projects/ml/locations/us-central1/clusters/gke",
    )
    assert oct(path.stat().st_mode)[-3:] == "600"
    assert oct(root.cloud.stat().st_mode)[-3:] == "700"

    root.edit("google_compute_network", routing_mode="GLOBAL", description="by hand")
    assert root.terraform.plan(root.path / "drift", refresh_only=True)
    assert root.changes()["google_compute_network.vpc"] == "replace"
    root.edit("google_compute_network", routing_mode="REGIONAL", description=None)

    root.write(cluster_root(accelerator="nvidia-h100-80gb"))
    replaced = root.plan()
    assert replaced.keys() == {"google_container_node_pool.train"}
    assert replaced["google_container_node_pool.train"]["replace_paths"] == [
        ["node_config", 0, "guest_accelerator", 0, "type"]
    ]
    root.terraform.apply(root.path / "plan")

    root.write(cluster_root(accelerator="nvidia-h100-80gb", node_count=3))
    assert root.apply() == {"google_container_node_pool.train": "update"}

    refusal = root.refused(destroy=True)[0]
    assert refusal.summary.startswith("Cannot destroy cluster because deletion_protection is set to true")
    assert "google_container_cluster.gke" in root.terraform.state_list()

    root.write(cluster_root(accelerator="nvidia-h100-80gb", protected=False))
    root.apply()
    root.apply(destroy=True)
    assert root.terraform.state_list() == []
    assert list(root.cloud.glob("google_*/*.json")) == []


def test_renamed_network_replaces_what_stands_on_it(root):
    root.write(cluster_root(protected=False))
    root.apply()
    root.write(cluster_root(protected=False, network="other"))
    planned = root.plan()
    assert {address: "/".join(change["actions"]) for address, change in planned.items()} == dict.fromkeys(
        (
            "google_compute_network.vpc",
            "google_compute_subnetwork.nodes",
            "google_container_cluster.gke",
            "google_container_node_pool.train",
        ),
        "delete/create",
    )
    forced = planned["google_container_cluster.gke"]["replace_paths"]
    assert sorted(forced) == [["network"], ["subnetwork"]]  # through ids that are not known yet


def test_an_object_deleted_by_hand_is_made_again(root):
    root.write(cluster_root())
    root.apply()
    root.object("google_storage_bucket")[0].unlink()
    assert root.apply() == {"google_storage_bucket.data": "create"}


def test_a_misfit_made_by_hand_is_explained(root):
    root.write(cluster_root())
    root.apply()
    root.edit("google_container_node_pool", node_config={"machine_type": "e2-medium"})
    with pytest.raises(RunError, match=r"google_container_node_pool .* does not fit its schema"):
        root.changes()


def test_import(root):
    grant = {
        "project": "ml",
        "role": "roles/viewer",
        "member": "user:Ann@Example.com",
        "condition": [{"title": "office hours", "expression": "request.time.getHours() >= 6"}],
    }
    resources = cluster_root() | {"google_project_iam_member": {"m": grant}}
    root.write(resources)
    root.apply()
    member = root.state("google_project_iam_member.m")["id"]
    assert member == "ml/roles/viewer/user:ann@example.com/office hours//request.time.getHours() >= 6"

    (root.path / "terraform.tfstate").unlink()
    for address, id_ in {
        "google_compute_network.vpc": "ml",
        "google_compute_subnetwork.nodes": "projects/ml/regions/us-central1/subnetworks/nodes",
        "google_container_cluster.gke": "ml/us-central1/gke",
        "google_container_node_pool.train": "ml/us-central1/gke/train",
        "google_storage_bucket.data": "ml-data",
        "google_project_iam_member.m": "ml roles/viewer user:ann@example.com office hours",
    }.items():
        root.terraform.import_(address, id_)
    # Only what is not part of an object is new.
    assert {a: c["after"]["timeouts"]["create"] for a, c in root.plan().items()} == {
        "google_container_cluster.gke": "45m"
    }
    with pytest.raises(RunError, match=r"import failed"):
        root.terraform.import_("google_compute_network.vpc", "other")


def test_failure_in_the_middle_heals(tmp_path, monkeypatch):
    fault = {
        "type": "google_container_node_pool",
        "action": "create",
        "error": "Error 403: quota",
        "times": 1,
    }
    slow = {"type": "google_compute_subnetwork", "action": "create", "delay_seconds": 0.3}
    failing = {"type": "google_storage_bucket", "action": "update", "error": "Error 503: later", "times": 1}
    monkeypatch.setenv("GROUNDPLAN_OFFLINE_FAULTS", json.dumps([fault, slow, failing]))
    with Standin(tmp_path / "cloud", types=TYPES) as standin:
        root = Root(tmp_path / "root", standin, tmp_path / "cloud")
        root.write(cluster_root())
        (refusal,) = root.refused()
        assert refusal.address == "google_container_node_pool.train"
        assert "Error 403: quota" in refusal.summary
        assert "google_container_node_pool.train" not in root.terraform.state_list()
        assert root.apply() == {"google_container_node_pool.train": "create"}

        changed = cluster_root()
        changed["google_storage_bucket"]["data"]["labels"] = {"team": "ml"}
        root.write(changed)
        root.refused()
        assert not root.state("google_storage_bucket.data")["labels"]  # as it was before
        assert root.apply() == {"google_storage_bucket.data": "update"}
        assert root.changes() == {}


def test_mistakes_are_found_where_they_stand(root):
    wrong = cluster_root()
    wrong["google_compute_subnetwork"]["nodes"]["ip_cidr_range"] = "10.0.0.0/24x"
    wrong["google_container_cluster"]["other"] = {"name": "c", "release_channel": [{"channel": "FAST"}]}
    root.write(wrong)
    with pytest.raises(RunError) as caught:
        root.terraform.validate()
    found = {d.summary: d.range.start.line for d in caught.value.diagnostics}
    lines = (root.path / "main.tf.json").read_text().splitlines()
    assert {lines[line - 1].strip().rstrip(",") for line in found.values()} == {
        '"ip_cidr_range": "10.0.0.0/24x"',
        '"channel": "FAST"',
    }


def test_labels(root):
    topic = {"name": "t", "labels": {"team": "ml"}}
    settings = SETTINGS | {"default_labels": {"env": "dev"}}
    root.write({"google_pubsub_topic": {"t": topic}}, provider=settings)
    root.apply()
    state = root.state("google_pubsub_topic.t")
    assert state["labels"] == {"team": "ml"}
    assert state["effective_labels"] == {"team": "ml", "env": "dev", "goog-terraform-provisioned": "true"}

    root.edit("google_pubsub_topic", effective_labels=state["effective_labels"] | {"by": "hand"})
    assert root.changes() == {}  # labels of others stay
    root.write({"google_pubsub_topic": {"t": {"name": "t"}}}, provider=settings)
    root.apply()
    assert root.state("google_pubsub_topic.t")["effective_labels"] == {
        "env": "dev",
        "by": "hand",
        "goog-terraform-provisioned": "true",
    }


def test_data_sources(root):
    account = {"account_id": "trainer", "project": "ml"}
    reads = {
        "google_client_config": {"here": {}},
        "google_compute_zones": {"all": {}},
        "google_project": {"existing": {"project_id": "somebody-elses"}},
        "google_storage_project_service_account": {"gcs": {}},
        "google_service_account": {"trainer": {"account_id": "${google_service_account.made.email}"}},
        "google_compute_network": {"vpc": {"name": "${google_compute_network.vpc.name}"}},
    }
    outputs = {
        "project": "${data.google_client_config.here.project}",
        "zones": "${data.google_compute_zones.all.names}",
        "number": "${data.google_project.existing.number}",
        "agent": "${data.google_storage_project_service_account.gcs.email_address}",
        "member": "${data.google_service_account.trainer.member}",
        "network": "${data.google_compute_network.vpc.id}",
    }
    resources = NETWORK | {"google_service_account": {"made": account}}
    root.write(resources, data=reads, output={name: {"value": value} for name, value in outputs.items()})
    assert (
        root.plan()["google_service_account.made"]["after"]["email"] == "trainer@ml.iam.gserviceaccount.com"
    )
    root.apply()
    assert root.terraform.output() == {
        "project": "ml",
        "zones": ["us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"],
        "number": project_number("somebody-elses"),
        "agent": f"service-{project_number('ml')}@gs-project-accounts.iam.gserviceaccount.com",
        "member": "serviceAccount:trainer@ml.iam.gserviceaccount.com",
        "network": "projects/ml/global/networks/vpc",
    }


def test_rules_of_one_perimeter_do_not_collide(root):
    perimeter = "accessPolicies/1/servicePerimeters/p"
    rule = {
        f"r{i}": {
            "perimeter": perimeter,
            "title": f"rule {i}",
            "ingress_from": [{"identity_type": "ANY_USER_ACCOUNT"}],
        }
        for i in range(3)
    }
    root.write({"google_access_context_manager_service_perimeter_ingress_policy": rule})
    root.apply()
    assert root.changes() == {}
    root.write({"google_access_context_manager_service_perimeter_ingress_policy": {"r0": rule["r0"]}})
    root.apply()
    kept = root.object("google_access_context_manager_service_perimeter_ingress_policy")[1]
    assert kept["attributes"]["title"] == "rule 0"
