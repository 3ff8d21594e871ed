"""Real Terraform against the stand-in: whole lives, refusals, and settings that must not leak."""

import copy
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundplan.engines.terraform import environment
from groundplan.engines.terraform.engine import choose_offline
from groundplan.engines.terraform.events import ResourceEvent
from groundplan.engines.terraform.offline.session import Standin
from groundplan.engines.terraform.offline.values import project_number
from groundplan.engines.terraform.runner import RunError, Terraform
from groundplan.errors import EngineError

pytestmark = pytest.mark.terraform

SETTINGS = {"project": "ml", "region": "us-central1", "zone": "us-central1-a"}


ENGINE = choose_offline()


class Root:
    """A Terraform root on one stand-in."""

    def __init__(self, path, standin, cloud):
        path.mkdir()
        (path / "logs").mkdir()
        (path / "engine.tfrc").write_text(environment.OFFLINE_CLI_CONFIG)
        self.path, self.cloud, self.events = path, cloud, []
        variables = environment.offline(os.environ, path / "engine.tfrc", standin.environment)
        self.terraform = Terraform(ENGINE, path, variables, path / "logs", on_event=self.events.append)

    def write(self, resources, provider=SETTINGS, **sections):
        resources = {name: items for name, items in resources.items() if items}
        document = {"provider": {"google": provider}, "resource": resources, **sections}
        (self.path / "main.tf.json").write_text(json.dumps(document, indent=1))

    def changes(self, **options):
        """What a plan does, by address."""
        self.events.clear()
        self.terraform.plan(self.path / "plan", **options)
        planned = [e for e in self.events if isinstance(e, ResourceEvent) and e.kind == "planned_change"]
        return {event.address: event.action for event in planned}

    def plan(self):
        """A plan's changes in full, by address."""
        self.terraform.plan(self.path / "plan")
        document = json.loads(self.terraform.show_plan(self.path / "plan"))
        changes = document["resource_changes"]
        return {c["address"]: c["change"] for c in changes if c["change"]["actions"] != ["no-op"]}

    def apply(self, **options):
        changes = self.changes(**options)
        self.terraform.apply(self.path / "plan")
        return changes

    def refused(self, **options):
        """The errors of an apply that must fail."""
        with pytest.raises(RunError) as caught:
            self.apply(**options)
        return caught.value.diagnostics

    def object(self, type_name, number=0):
        """File and content of an object of the cloud."""
        path = sorted((self.cloud / type_name).glob("*.json"))[number]
        return path, json.loads(path.read_text())

    def edit(self, type_name, **attributes):
        path, content = self.object(type_name)
        content["attributes"] |= attributes
        path.write_text(json.dumps(content))

    def state(self, address):
        resources = self.terraform.show_state()["values"]["root_module"]["resources"]
        return next(r["values"] for r in resources if r["address"] == address)


TYPES = {
    "google_access_context_manager_service_perimeter_ingress_policy",
    "google_compute_network",
    "google_compute_subnetwork",
    "google_container_cluster",
    "google_container_node_pool",
    "google_project",
    "google_project_iam_member",
    "google_project_service",
    "google_pubsub_topic",
    "google_service_account",
    "google_storage_bucket",
}


@pytest.fixture
def standin(tmp_path):
    with Standin(tmp_path / "cloud", tmp_path / "standin.log", types=TYPES) as standin:
        yield standin
    assert "Traceback" not in (tmp_path / "standin.log").read_text()


@pytest.fixture
def root(tmp_path, standin):
    return Root(tmp_path / "root", standin, tmp_path / "cloud")


def cluster_root(accelerator="nvidia-l4", network="ml", protected=True, **pool):
    return {
        "google_compute_network": {"vpc": {"name": network, "auto_create_subnetworks": False}},
        "google_compute_subnetwork": {
            "nodes": {
                "name": "nodes",
                "network": "${google_compute_network.vpc.id}",
                "ip_cidr_range": "10.64.0.0/20",
                "log_config": [{"flow_sampling": 0.1}],
                "secondary_ip_range": [{"range_name": "pods", "ip_cidr_range": "10.128.0.0/14"}],
            }
        },
        "google_container_cluster": {
            "gke": {
                "name": "gke",
                "location": "us-central1",
                "network": "${google_compute_network.vpc.id}",
                "subnetwork": "${google_compute_subnetwork.nodes.id}",
                "initial_node_count": 1,
                "remove_default_node_pool": True,
                "deletion_protection": protected,
                "workload_identity_config": [{"workload_pool": "ml.svc.id.goog"}],
                "timeouts": [{"create": "45m"}],
            }
        },
        "google_container_node_pool": {
            "train": {
                "name": "train",
                "cluster": "${google_container_cluster.gke.id}",
                "node_count": 2,
                "node_config": [
                    {
                        "machine_type": "g2-standard-12",
                        "guest_accelerator": [{"type": accelerator, "count": 1}],
                        "labels": {"team": "ml"},
                    }
                ],
                **pool,
            }
        },
        "google_storage_bucket": {"data": {"name": "ml-data", "location": "us-central1"}},
    }


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


def test_aliases_keep_their_settings(root):
    names = ["alpha", "beta", "gamma", "delta"]
    root.write(
        {
            "google_pubsub_topic": {
                f"{name}{i}": {"name": f"{name}{i}", "provider": f"google.{name}"}
                for name in names
                for i in range(4)
            }
        },
        provider=[{"alias": name, "project": f"project-{name}"} for name in names],
    )
    root.apply()
    owners = {
        path.stem.rpartition("%2F")[2][:-1]: path.stem
        for path in (root.cloud / "google_pubsub_topic").iterdir()
    }
    assert owners.keys() == set(names)
    for path in (root.cloud / "google_pubsub_topic").iterdir():
        item = json.loads(path.read_text())
        assert item["attributes"]["project"] == f"project-{item['attributes']['name'][:-1]}"
    assert root.changes() == {}


def test_environments_on_one_server_keep_their_settings(tmp_path, standin):
    def live(name):
        root = Root(tmp_path / name, standin, tmp_path / "cloud")
        topics = {f"t{i}": {"name": f"topic{i}"} for i in range(10)}
        root.write({"google_pubsub_topic": topics}, provider=SETTINGS | {"project": name})
        root.apply()
        return root.changes()

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(live, ["ml-dev", "ml-prod"])) == [{}, {}]
    items = [json.loads(p.read_text()) for p in (tmp_path / "cloud" / "google_pubsub_topic").iterdir()]
    assert sorted(i["id"] for i in items) == sorted(
        f"projects/{name}/topics/topic{i}" for name in ("ml-dev", "ml-prod") for i in range(10)
    )


def project_root(*services, resources=None, **project):
    body = {"project_id": "ml", "name": "ML", "deletion_policy": "DELETE", "org_id": "1", **project}
    apis = {name: {"service": f"{name}.googleapis.com", "disable_on_destroy": True} for name in services}
    late = [f"google_project_service.{name}" for name in services] + ["google_project.env"]
    resources = copy.deepcopy(resources or {})
    for items in resources.values():
        for item in items.values():
            item["depends_on"] = late + item.get("depends_on", [])
    for api in apis.values():
        api |= {"project": "${google_project.env.project_id}"}
    return {"google_project": {"env": body}, "google_project_service": apis, **resources}


NETWORK = {"google_compute_network": {"vpc": {"name": "vpc", "auto_create_subnetworks": False}}}


def test_project_and_its_api(root):
    root.write(project_root(resources={"google_compute_network": {"vpc": {"name": "vpc"}}}))
    (refusal,) = root.refused()
    number = project_number("ml")
    assert f"Error 403: Compute Engine API has not been used in project {number} before" in refusal.summary
    assert refusal.address == "google_compute_network.vpc"
    assert root.state("google_project.env")["number"] == number

    root.write(project_root("compute", resources={"google_compute_network": {"vpc": {"name": "vpc"}}}))
    assert root.apply().keys() == {"google_compute_network.vpc", "google_project_service.compute"}

    root.apply(destroy=True)
    assert list(root.cloud.glob("google_*/*.json")) == []


def test_a_deleted_project_keeps_its_id_for_thirty_days(tmp_path, monkeypatch):
    cloud = tmp_path / "cloud"

    def on(day, name, action):
        monkeypatch.setenv("GROUNDPLAN_OFFLINE_NOW", f"{day}T12:00:00Z")
        with Standin(cloud, types=TYPES) as standin:
            root = Root(tmp_path / name, standin, cloud)
            root.write(project_root())
            return action(root)

    def make_and_delete(root):
        root.apply()
        root.apply(destroy=True)

    on("2026-01-01", "first", make_and_delete)
    (refusal,) = on("2026-01-30", "early", Root.refused)
    assert "Error 409" in refusal.summary and "until 2026-01-31" in refusal.detail
    assert on("2026-02-01", "late", Root.apply) == {"google_project.env": "create"}


def test_a_deleted_project_takes_everything_along(root):
    root.write(project_root("compute", resources=NETWORK))
    root.apply()
    (root.path / "terraform.tfstate").unlink()
    root.write(project_root(), **{"import": [{"to": "google_project.env", "id": "ml"}]})
    root.apply()
    root.apply(destroy=True)
    assert list(root.cloud.glob("google_*/*.json")) == []


def test_protected_project(root):
    root.write(project_root(deletion_policy="PREVENT"))
    root.apply()
    (refusal,) = root.refused(destroy=True)
    assert refusal.summary == "Cannot destroy project as deletion_policy is set to PREVENT."
    root.write(project_root(deletion_policy="ABANDON"))
    root.apply()
    root.apply(destroy=True)
    assert root.object("google_project")[1]["id"] == "projects/ml"


def test_what_exists_cannot_be_created_again(tmp_path, standin):
    grant = {"project": "ml", "role": "roles/viewer", "member": "group:a@example.com"}
    both = {"google_pubsub_topic": {"t": {"name": "t"}}, "google_project_iam_member": {"m": grant}}
    for name in ("one", "two"):
        root = Root(tmp_path / name, standin, tmp_path / "cloud")
        root.write(both)
        if name == "one":
            root.apply()
    (refusal,) = root.refused()
    assert "Error 409: Requested entity 'projects/ml/topics/t' already exists" in refusal.summary
    assert root.terraform.state_list() == ["google_project_iam_member.m"]  # a grant may exist already


def grant(member):
    return {"google_project_iam_member": {"m": {"project": "ml", "role": "roles/viewer", "member": member}}}


def cluster(**body):
    return {"google_container_cluster": {"c": {"name": "c", "location": "us-central1", **body}}}


POOL = {"name": "p", "cluster": "gone", "location": "us-central1"}
LINK = "https://www.googleapis.com/compute/v1/projects/ml/global/networks/gone"
SUBNETWORK = {"name": "s", "network": LINK, "ip_cidr_range": "10.0.0.0/24"}


@pytest.mark.parametrize(
    ("resources", "code", "what"),
    [
        (
            grant("serviceAccount:gone@ml.iam.gserviceaccount.com"),
            400,
            "gone@ml.iam.gserviceaccount.com does not",
        ),
        (
            grant("serviceAccount:ml.svc.id.goog[ns/ksa]"),
            400,
            "Identity Pool does not exist (ml.svc.id.goog)",
        ),
        (cluster(subnetwork="gone"), 404, "'projects/ml/regions/us-central1/subnetworks/gone' was not found"),
        ({"google_container_node_pool": {"p": POOL}}, 404, "us-central1/clusters/gone' was not found"),
        ({"google_compute_subnetwork": {"s": SUBNETWORK}}, 404, "'projects/ml/global/networks/gone' was not"),
    ],
    ids=["service account", "workload pool", "subnetwork", "cluster", "network"],
)
def test_named_things_must_exist(root, resources, code, what):
    root.write(project_root("container", "compute", resources=resources))
    (found,) = root.refused()
    assert f"Error {code}" in found.summary and what in found.summary


def test_a_network_in_use_cannot_be_deleted(root):
    root.write(cluster_root(protected=False))
    root.apply()
    del_network = cluster_root(protected=False)
    del_network["google_compute_network"] = {}
    del_network["google_compute_subnetwork"]["nodes"]["network"] = "projects/ml/global/networks/ml"
    del_network["google_container_cluster"]["gke"]["network"] = "projects/ml/global/networks/ml"
    root.write(del_network)
    (refusal,) = root.refused()
    assert "already being used by 'projects/ml/regions/us-central1/subnetworks/nodes'" in refusal.summary


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


def test_state_of_the_real_provider_is_refused(root):
    root.write(NETWORK)
    root.apply()
    path = root.path / "terraform.tfstate"
    state = json.loads(path.read_text())
    state["resources"][0]["instances"][0].pop("private")
    state["serial"] += 1
    path.write_text(json.dumps(state))
    with pytest.raises(RunError, match="was not written offline"):
        root.changes()


def test_only_the_named_types_are_served(tmp_path):
    cloud = tmp_path / "cloud"
    with Standin(cloud, types={"google_compute_network"}) as standin:
        root = Root(tmp_path / "root", standin, cloud)
        root.write(NETWORK)
        root.apply()
        served = json.loads(root.terraform.providers_schema())["provider_schemas"]
        (provider,) = served.values()
        assert provider["resource_schemas"].keys() == {"google_compute_network"}


def test_the_server_dies_with_its_session_and_says_why_it_does_not_start(tmp_path):
    with Standin(tmp_path / "cloud") as standin:
        assert standin.alive
        assert os.getsid(standin.pid) != os.getsid(0)  # Ctrl-C in the terminal does not reach it
        pid = standin.pid
    assert not standin.alive
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="did not start") as caught, Standin(tmp_path / "file" / "cloud"):
        pass
    assert "NotADirectoryError" in caught.value.detail
