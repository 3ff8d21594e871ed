"""A Terraform root on a running stand-in, and resources to write into it."""

import copy
import json
import os

import pytest

from groundplan.engines.terraform import environment
from groundplan.engines.terraform.engine import choose_offline
from groundplan.engines.terraform.events import ResourceEvent
from groundplan.engines.terraform.runner import RunError, Terraform

ENGINE = choose_offline()


SETTINGS = {"project": "ml", "region": "us-central1", "zone": "us-central1-a"}


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


NETWORK = {"google_compute_network": {"vpc": {"name": "vpc", "auto_create_subnetworks": False}}}


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
