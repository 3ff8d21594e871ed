import pytest
from blueprint_factory import L4, SYSTEM, blueprint, platform, stack

from groundplan.modules.provisioned import provisioned

POOL = "google_container_node_pool"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
SPOT_TAINT = {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}


def pools(made, *, zones=("a", "b"), env="ml-dev", **changes):
    """Key → resource, of a cluster with these pools."""
    spec = {"clusters": {"main": {"zones": list(zones), "node_pools": made}}, **changes}
    graph = stack(blueprint({env: spec}), env).graph
    return {resource.name.removeprefix("main_"): resource for resource in graph.of_type(POOL)}


def pool(**spec):
    return pools({"x": {**L4, **spec}})["x"]


def config(**spec):
    return pool(**spec).attributes["node_config"]


def test_what_every_pool_has():
    for made in pools({"system": SYSTEM, "l4": L4}).values():
        settings = made.attributes["node_config"]
        assert settings["service_account"].resource.name == "main_nodes"
        assert settings["workload_metadata_config"] == {"mode": "GKE_METADATA"}
        assert settings["metadata"] == {"disable-legacy-endpoints": "true"}
        assert settings["shielded_instance_config"] == {
            "enable_secure_boot": True,
            "enable_integrity_monitoring": True,
        }
        assert settings["kubelet_config"] == {"insecure_kubelet_readonly_port_enabled": "FALSE"}
        assert settings["gvnic"] == {"enabled": True}
        assert settings["reservation_affinity"] == {"consume_reservation_type": "NO_RESERVATION"}
        assert settings["resource_labels"]["environment"] == "ml-dev"
        assert made.attributes["management"] == {"auto_repair": True, "auto_upgrade": True}
        assert made.lifecycle.create_before_destroy is False


@pytest.mark.parametrize(
    ("gpu", "driver"),
    [({}, "DEFAULT"), ({"driver": "latest"}, "LATEST"), ({"driver": "none"}, "INSTALLATION_DISABLED")],
)
def test_u06_the_driver_of_gpus_is_always_written(gpu, driver):
    assert config(gpu=gpu)["guest_accelerator"] == {
        "type": "nvidia-l4",
        "count": 1,
        "gpu_driver_installation_config": {"gpu_driver_version": driver},
    }


def test_u08_gpu_pools_have_exactly_one_gpu_taint_and_others_none():
    own = {"key": "dedicated", "value": "train", "effect": "NoExecute"}
    again = {"key": "nvidia.com/gpu", "value": "present"}
    made = pools(
        {
            "system": {**SYSTEM, "node_taints": [own]},
            "plain": SYSTEM,
            "l4": {**L4, "capacity": "on-demand", "node_taints": [again, own]},
        }
    )
    mine = {**own, "effect": "NO_EXECUTE"}
    assert made["l4"].attributes["node_config"]["taint"] == [GPU_TAINT, mine]
    assert made["system"].attributes["node_config"]["taint"] == [mine]
    assert "taint" not in made["plain"].attributes["node_config"]


def test_u08_pools_without_gpus_come_first_whatever_the_order_in_the_file():
    made = pools({"a-gpu": L4, "b-cpu": SYSTEM, "c-gpu": L4, "d-cpu": SYSTEM})
    for name, resource in made.items():
        needed = {made["b-cpu"], made["d-cpu"]} if name.endswith("gpu") else set()
        assert needed == set(resource.depends_on)


def test_spot_pools_say_so_and_keep_others_off():
    assert config()["spot"] is True
    assert config()["taint"] == [GPU_TAINT, SPOT_TAINT]
    cpu = pools({"cpu": {**SYSTEM, "capacity": "spot"}})["cpu"]
    assert cpu.attributes["node_config"]["taint"] == [SPOT_TAINT]
    assert "spot" not in config(capacity="on-demand")


@pytest.mark.parametrize(
    ("machine", "mode", "count", "block"),
    [
        ("a3-highgpu-8g", "none", None, ("ephemeral_storage_local_ssd_config", 16)),
        ("a3-highgpu-8g", "ephemeral", None, ("ephemeral_storage_local_ssd_config", 16)),
        ("a3-highgpu-8g", "block", None, ("local_nvme_ssd_block_config", 16)),
        ("a2-ultragpu-2g", "none", None, ("ephemeral_storage_local_ssd_config", 2)),
        ("n2-standard-8", "block", 2, ("local_nvme_ssd_block_config", 2)),
        ("g2-standard-12", "ephemeral", None, ("ephemeral_storage_local_ssd_config", 1)),
        ("n2-standard-8", "none", None, None),
    ],
)
def test_u09_local_ssds_that_a_machine_always_has_are_written(machine, mode, count, block):
    made = config(machine=machine, local_ssd={"mode": mode, **({"count": count} if count else {})})
    blocks = {"ephemeral_storage_local_ssd_config", "local_nvme_ssd_block_config"} & set(made)
    assert blocks == ({block[0]} if block else set())
    if block:
        assert made[block[0]] == {"local_ssd_count": block[1]}


@pytest.mark.parametrize(
    ("nodes", "zones", "size"),
    [
        (4, ["a", "b"], {"node_count": 2}),
        (4, ["a"], {"node_count": 4}),
        (0, ["a"], {"node_count": 0}),
        (5, ["a", "b"], {"autoscaling": (5, 5), "initial_node_count": 2}),
        (1, ["a", "b"], {"autoscaling": (1, 1), "initial_node_count": 0}),
        (4, [], {"autoscaling": (4, 4), "initial_node_count": 1}),
        ({"min": 0, "max": 4}, ["a"], {"autoscaling": (0, 4), "initial_node_count": 0}),
        ({"min": 1, "max": 3}, [], {"autoscaling": (1, 3), "initial_node_count": 1}),
        ({"min": 1, "max": 2}, [], {"autoscaling": (1, 2), "initial_node_count": 0}),
        ({"min": 4, "max": 4}, ["a", "b"], {"autoscaling": (4, 4), "initial_node_count": 2}),
    ],
)
def test_u10_nodes_are_the_total_and_a_fixed_number_never_meets_bounds(nodes, zones, size):
    made = pools({"x": {**L4, "nodes": nodes}}, zones=zones)["x"]
    found = {
        key: made.attributes[key]
        for key in ("node_count", "autoscaling", "initial_node_count")
        if key in made.attributes
    }
    if "autoscaling" in size:
        least, most = size["autoscaling"]
        size = {
            **size,
            "autoscaling": {
                "total_min_node_count": least,
                "total_max_node_count": most,
                "location_policy": "ANY",
            },
        }
    assert found == size
    assert "initial_node_count" in made.lifecycle.ignore_changes


def test_zones_of_a_pool_win_over_those_of_the_cluster():
    made = pools({"x": {**L4, "nodes": 4, "zones": ["us-central1-c"]}})["x"].attributes
    assert made["node_locations"] == ["us-central1-c"]
    assert made["node_count"] == 4
    assert "node_locations" not in pools({"x": L4})["x"].attributes


def test_u13_nodes_are_private_in_every_pool():
    for made in pools({"system": SYSTEM, "l4": L4}).values():
        assert made.attributes["network_config"] == {"enable_private_nodes": True}


def test_u20_scarce_machines_get_time_and_any_zone():
    made = pools({"system": SYSTEM, "l4": L4})
    assert made["l4"].attributes["timeouts"]["create"] == "2h"
    assert made["l4"].attributes["autoscaling"]["location_policy"] == "ANY"
    assert made["system"].attributes["autoscaling"]["location_policy"] == "BALANCED"
    assert made["l4"].attributes["upgrade_settings"] == {
        "strategy": "SURGE",
        "max_surge": 0,
        "max_unavailable": 1,
    }
    assert made["system"].attributes["upgrade_settings"]["max_surge"] == 1


def test_u25_gpus_come_from_the_machine_or_from_the_blueprint():
    def gpus(**spec):
        made = config(**spec).get("guest_accelerator")
        return made and (made["type"], made["count"])

    assert gpus(machine="g2-standard-24") == ("nvidia-l4", 2)
    assert gpus(machine="a2-highgpu-4g") == ("nvidia-tesla-a100", 4)
    assert gpus(machine="n1-standard-8", gpu={"type": "nvidia-tesla-t4", "count": 2}) == (
        "nvidia-tesla-t4",
        2,
    )
    assert gpus(machine="n1-standard-8") is None


def test_u34_only_a_protected_environment_refuses_to_lose_its_pools():
    for env, protected in {"ml-dev": False, "ml-prod": True}.items():
        for made in pools({"system": SYSTEM, "l4": L4}, env=env).values():
            assert made.lifecycle.prevent_destroy is protected
    unprotected = pools({"system": SYSTEM}, env="ml-prod", protect=False)
    assert unprotected["system"].lifecycle.prevent_destroy is False


def test_the_boot_disk_is_one_that_the_machine_boots_from():
    assert config()["disk_type"] == "pd-balanced"
    assert config(machine="a3-ultragpu-8g")["disk_type"] == "hyperdisk-balanced"
    written = config(machine="a3-ultragpu-8g", boot_disk={"type": "hyperdisk-balanced", "size": "200GiB"})
    assert (written["disk_type"], written["disk_size_gb"]) == ("hyperdisk-balanced", 200)


def test_only_pools_with_host_maintenance_need_google_beta():
    made = pool(host_maintenance="as-needed")
    assert made.provider == "google-beta"
    assert made.attributes["node_config"]["host_maintenance_policy"] == {"maintenance_interval": "AS_NEEDED"}
    assert pool().provider == "google"


def test_labels_of_kubernetes_and_of_google_cloud_are_different_things():
    made = config(node_labels={"example.com/Role": "Train"})
    assert made["labels"] == {"example.com/Role": "Train"}
    assert "example.com/Role" not in made["resource_labels"]


def test_pools_have_fixed_names_with_a_generation():
    assert pool().attributes["name"] == "x"
    assert pool(generation=2).attributes["name"] == "x-g2"
    assert pool(name="other", max_pods_per_node=32).attributes["max_pods_per_node"] == 32
    renamed = pools({"train": {**L4, "renamed_from": "old"}})["train"]
    assert renamed.attributes["name"] == "old"


@pytest.mark.parametrize(
    "spec",
    [
        {"networking": "tcpx"},
        {"machine": "a3-megagpu-8g", "networking": "rdma"},
        {"machine": "a4x-maxgpu-4g-metal", "networking": "rdma"},
        {"machine": "a3-ultragpu-8g", "networking": "auto", "zones": ["a", "b"]},
    ],
)
def test_pools_that_need_what_is_not_made_yet_are_left_out_whole(spec):
    made = blueprint(
        {"ml-dev": {"clusters": {"main": {"node_pools": {"system": SYSTEM, "x": {**L4, **spec}}}}}}
    )
    cluster = made.environments["ml-dev"].clusters["main"]
    assert not provisioned(cluster, cluster.node_pools["x"])
    assert [resource.name for resource in stack(made).graph.of_type(POOL)] == ["main_system"]


def test_pools_stand_where_the_blueprint_names_them():
    made = stack(platform({"ml-dev": {}}, foundation=False)).graph
    assert made[f"{POOL}.main_l4"].origin == ("clusters", "main", "node_pools", "l4")
