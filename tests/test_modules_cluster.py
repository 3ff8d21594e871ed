from ipaddress import ip_network

import pytest
from blueprint_factory import L4, SYSTEM, blueprint, dev, lock, only, platform, stack

from groundplan.stacks.catalog import stacks

CLUSTER = "google_container_cluster"


def cluster(**changes):
    """The attributes of the only cluster, with ``changes`` to what the blueprint says of it."""
    return only(dev(clusters={"main": changes}), CLUSTER).attributes


def test_every_hardened_setting_is_written():
    made = cluster()
    assert made["private_cluster_config"] == {"enable_private_nodes": True, "enable_private_endpoint": True}
    assert made["networking_mode"] == "VPC_NATIVE"
    assert made["datapath_provider"] == "ADVANCED_DATAPATH"
    assert made["enable_shielded_nodes"] and made["enable_intranode_visibility"]
    assert made["workload_identity_config"] == {"workload_pool": "llm-ml-dev.svc.id.goog"}
    assert made["binary_authorization"] == {"evaluation_mode": "PROJECT_SINGLETON_POLICY_ENFORCE"}
    assert made["security_posture_config"]["mode"] == "BASIC"
    assert made["anonymous_authentication_config"] == {"mode": "LIMITED"}
    assert set(made["rbac_binding_config"].values()) == {False}
    assert made["master_auth"] == {"client_certificate_config": {"issue_client_certificate": False}}
    assert made["release_channel"] == {"channel": "REGULAR"}
    assert made["cost_management_config"] == {"enabled": True}
    assert made["dns_config"] == {"cluster_dns": "CLOUD_DNS", "cluster_dns_scope": "CLUSTER_SCOPE"}
    assert made["node_pool_defaults"] == {
        "node_config_defaults": {"insecure_kubelet_readonly_port_enabled": "FALSE"}
    }
    assert {"SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER"} <= set(made["logging_config"]["enable_components"])
    assert made["monitoring_config"]["managed_prometheus"]["enabled"] is True
    assert made["cluster_autoscaling"] == {"enabled": False}
    assert made["notification_config"]["pubsub"]["topic"].resource.name == "main_events"
    assert made["location"] == "us-central1"
    assert made["node_locations"] == ["us-central1-a", "us-central1-b"]


def test_u03_the_default_pool_has_the_node_account_and_never_replaces_the_cluster():
    graph = dev()
    made = only(graph, CLUSTER)
    account = graph["google_service_account.main_nodes"]
    assert made.attributes["node_config"]["service_account"] == account["email"]
    assert made.attributes["remove_default_node_pool"] is True
    assert made.attributes["initial_node_count"] == 1
    assert {"node_config", "initial_node_count"} <= set(made.lifecycle.ignore_changes)
    assert account in graph.references(made)
    assert (
        graph["google_project_iam_member.main_nodes_container-defaultNodeServiceAccount"] in made.depends_on
    )


@pytest.mark.parametrize("endpoint", [{}, {"external": True}, {"kind": "private"}])
def test_u14_no_block_or_subnet_is_fixed_for_the_private_endpoint(endpoint):
    made = cluster(endpoint=endpoint)["private_cluster_config"]
    assert not {"master_ipv4_cidr_block", "private_endpoint_subnetwork"} & set(made)


def test_u15_authorized_networks_stay_for_a_private_endpoint_even_if_there_are_none():
    block = {"gcp_public_cidrs_access_enabled": False, "private_endpoint_enforcement_enabled": True}
    assert cluster(endpoint={"kind": "private"})["master_authorized_networks_config"] == block
    networks = ["10.2.0.0/16", "10.1.0.0/16", "10.2.0.0/16"]
    made = cluster(endpoint={"kind": "private", "authorized_networks": networks})
    assert [b["cidr_block"] for b in made["master_authorized_networks_config"]["cidr_blocks"]] == [
        "10.1.0.0/16",
        "10.2.0.0/16",
    ]
    assert made["control_plane_endpoints_config"]["ip_endpoints_config"] == {"enabled": True}


def test_u15_authorized_networks_would_switch_the_address_on_again_beside_a_dns_name():
    made = cluster(endpoint={"kind": "dns", "external": True})
    assert "master_authorized_networks_config" not in made
    ways = made["control_plane_endpoints_config"]
    assert ways["ip_endpoints_config"] == {"enabled": False}
    assert ways["dns_endpoint_config"]["allow_external_traffic"] is True
    assert ways["dns_endpoint_config"]["enable_k8s_tokens_via_dns"] is False


def test_u16_dataplane_v2_comes_without_a_network_policy_block():
    made = cluster()
    assert made["datapath_provider"] == "ADVANCED_DATAPATH"
    assert "network_policy" not in made
    assert "network_policy_config" not in made["addons_config"]


def test_u34_only_a_protected_environment_refuses_to_lose_its_cluster():
    made = platform()
    for name, protected in {"ml-dev": False, "ml-staging": True, "ml-prod": True}.items():
        gke = only(stack(made, name).graph, CLUSTER)
        assert gke.attributes["deletion_protection"] is protected
        assert gke.lifecycle.prevent_destroy is protected


def test_gpu_metrics_come_with_gpus():
    def metrics(pools):
        made = blueprint({"ml-dev": {"clusters": {"main": {"node_pools": pools}}}})
        return only(stack(made).graph, CLUSTER).attributes["monitoring_config"]["enable_components"]

    assert "DCGM" in metrics({"system": SYSTEM, "l4": L4})
    assert "DCGM" not in metrics({"system": SYSTEM})


def test_drivers_for_buckets_come_with_workloads_that_use_them():
    def fuse(**changes):
        return only(dev(**changes), CLUSTER).attributes["addons_config"]["gcs_fuse_csi_driver_config"]

    assert fuse() == {"enabled": True}
    idle = {"reads": [], "writes": []}
    assert fuse(workloads={"trainer": idle, "server": idle}) == {"enabled": False}


@pytest.mark.parametrize(
    ("word", "channel"),
    [("rapid", "RAPID"), ("regular", "REGULAR"), ("extended", "EXTENDED"), ("none", "UNSPECIFIED")],
)
def test_channels_and_versions(word, channel):
    made = cluster(release_channel=word, min_version="1.34")
    assert made["release_channel"] == {"channel": channel}
    assert made["min_master_version"] == "1.34"


def test_pods_with_public_addresses_keep_them_on_the_way_out():
    made = platform({"ml-dev": {}}, foundation=False)
    assert "default_snat_status" not in only(stack(made).graph, CLUSTER).attributes
    graph = stacks(made, lock(made, pods=ip_network("25.0.0.0/14")))[0].graph
    assert only(graph, CLUSTER).attributes["default_snat_status"] == {"disabled": True}


def test_a_cluster_may_have_another_region_name_and_generation():
    made = cluster(region="europe-west4", zones=["europe-west4-b", "a"], name="trainers", generation=2)
    assert made["location"] == "europe-west4"
    assert made["node_locations"] == ["europe-west4-a", "europe-west4-b"]
    assert made["name"] == "trainers-g2"
    assert cluster(generation=2)["name"] == "llm-main-g2"


def test_a_renamed_cluster_keeps_its_name_and_is_moved_with_everything_in_it():
    before = dev()
    made = blueprint(
        {
            "ml-dev": {
                "clusters": {
                    "gpus": {
                        "renamed_from": "main",
                        "zones": ["a", "b"],
                        "node_pools": {"system": SYSTEM, "l4": {**L4, "renamed_from": "gpu"}},
                    }
                }
            }
        }
    )
    after = stack(made).graph
    gke = only(after, CLUSTER)
    assert gke.address == "google_container_cluster.gpus"
    assert gke.attributes["name"] == only(before, CLUSTER).attributes["name"] == "llm-main"
    assert after.moves["google_container_cluster.main"] == gke.address
    assert after.moves["google_container_node_pool.main_gpu"] == "google_container_node_pool.gpus_l4"
    assert after.moves["google_container_node_pool.main_system"] == "google_container_node_pool.gpus_system"
    assert after["google_container_node_pool.gpus_l4"].attributes["name"] == "gpu"
    assert after["google_service_account.gpus_nodes"].attributes["account_id"] == "llm-main-nodes"
    of_cluster = {r.address for r in before if r.origin[:2] == ("clusters", "main")}
    assert of_cluster - {"google_container_node_pool.main_l4"} <= set(after.moves)
