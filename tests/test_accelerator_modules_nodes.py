"""What the nodes of accelerator pools are: GPUs, disks, taints, images, and the settings of odd machines."""

import pytest
from accelerator_factory import POOL, gke_pool, graph


def nodes(**spec):
    return gke_pool(**{"nodes": {"min": 0, "max": 2}, **spec})["node_config"]


def test_gpus_are_shared_or_partitioned_as_written():
    assert nodes(machine="g2-standard-8", gpu={"sharing": {"strategy": "time-sharing", "clients": 4}})[
        "guest_accelerator"
    ]["gpu_sharing_config"] == {"gpu_sharing_strategy": "TIME_SHARING", "max_shared_clients_per_gpu": 4}
    mps = nodes(machine="g2-standard-8", gpu={"sharing": {"strategy": "mps", "clients": 48}})
    assert mps["guest_accelerator"]["gpu_sharing_config"]["gpu_sharing_strategy"] == "MPS"
    assert nodes(machine="a2-highgpu-1g", gpu={"partition": "1g.5gb"})["guest_accelerator"] == {
        "type": "nvidia-tesla-a100",
        "count": 1,
        "gpu_driver_installation_config": {"gpu_driver_version": "DEFAULT"},
        "gpu_partition_size": "1g.5gb",
    }


@pytest.mark.parametrize(
    ("machine", "gpu", "wanted"),
    [
        ("n1-standard-8", {"type": "nvidia-tesla-t4", "count": 2}, ("nvidia-tesla-t4", 2)),
        ("a3-megagpu-8g", {}, ("nvidia-h100-mega-80gb", 8)),
        ("a3-ultragpu-8g", {}, ("nvidia-h200-141gb", 8)),
        ("a4-highgpu-8g", {}, ("nvidia-b200", 8)),
        ("a4x-highgpu-4g", {}, ("nvidia-gb200", 4)),
        ("g4-standard-384", {}, ("nvidia-rtx-pro-6000", 8)),
        ("ct6e-standard-4t", {}, None),
    ],
)
def test_u25_gpus_are_those_of_the_machine(machine, gpu, wanted):
    made = nodes(machine=machine, gpu=gpu).get("guest_accelerator")
    assert (made and (made["type"], made["count"])) == wanted


@pytest.mark.parametrize(
    ("machine", "count"),
    [
        ("a3-megagpu-8g", 16),
        ("a3-ultragpu-8g", 32),
        ("a3-ultragpu-8g-nolssd", None),
        ("a4x-highgpu-4g", 4),
        ("ct5p-hightpu-4t", None),
    ],
)
def test_u09_local_ssds_of_accelerators(machine, count):
    made = nodes(machine=machine).get("ephemeral_storage_local_ssd_config")
    assert made == (count and {"local_ssd_count": count})


def test_u09_local_ssds_whose_number_nobody_knows_are_left_to_gke():
    pool = graph({"x": {"machine": "c3-standard-8-lssd", "nodes": 1}})[f"{POOL}.main_x"]
    assert not [key for key in pool.attributes["node_config"] if "ssd" in key]
    assert pool.lifecycle.ignore_changes == (
        "initial_node_count",
        "node_config[0].ephemeral_storage_local_ssd_config",
        "node_config[0].local_nvme_ssd_block_config",
    )


@pytest.mark.parametrize(
    ("machine", "disk"),
    [
        ("a2-highgpu-1g", "pd-balanced"),
        ("a3-megagpu-8g", "pd-balanced"),
        ("a3-ultragpu-8g", "hyperdisk-balanced"),
        ("a4-highgpu-8g", "hyperdisk-balanced"),
        ("g4-standard-48", "hyperdisk-balanced"),
        ("n4-standard-8", "hyperdisk-balanced"),
        ("c4-standard-8", "hyperdisk-balanced"),
        ("ct5p-hightpu-4t", "pd-balanced"),
        ("ct6e-standard-4t", "hyperdisk-balanced"),
        ("tpu7x-standard-4t", "hyperdisk-balanced"),
    ],
)
def test_u24_each_family_boots_from_what_it_takes(machine, disk):
    assert nodes(machine=machine)["disk_type"] == disk


def test_u08_tpus_have_no_taint_of_ours_and_are_no_place_for_system_pods():
    assert "taint" not in nodes(machine="ct6e-standard-4t")
    assert nodes(machine="ct6e-standard-4t", capacity="spot")["taint"] == [
        {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}
    ]


def test_preloaded_images_come_with_what_streams_them():
    images = ["projects/llm-images/global/images/trainer", "global/images/server"]
    made = graph({"x": {"machine": "g2-standard-8", "nodes": 1, "preload": images}})
    config = made[f"{POOL}.main_x"].attributes["node_config"]
    assert config["gcfs_config"] == {"enabled": True}
    assert config["secondary_boot_disks"] == [
        {"disk_image": image, "mode": "CONTAINER_IMAGE_CACHE"} for image in images
    ]
    roles = {r.attributes["role"] for r in made.of_type("google_project_iam_member")}
    assert roles == {"roles/container.defaultNodeServiceAccount", "roles/serviceusage.serviceUsageConsumer"}
    assert "google_project_service.containerfilesystem" in made
    plain = graph({"x": {"machine": "g2-standard-8", "nodes": 1}})
    assert "google_project_service.containerfilesystem" not in plain
    assert len(plain.of_type("google_project_iam_member")) == 1


def test_confidential_nodes_are_of_the_kind_that_the_machine_has():
    tdx = nodes(machine="a3-highgpu-1g", capacity="spot", confidential=True)
    assert tdx["confidential_nodes"] == {"enabled": True, "confidential_instance_type": "TDX"}
    assert nodes(machine="n2d-standard-8", confidential=True)["confidential_nodes"] == {"enabled": True}
    assert "confidential_nodes" not in nodes(machine="n2d-standard-8")


def test_host_maintenance_and_pods_per_node():
    made = graph(
        {
            "x": {
                "machine": "a3-ultragpu-8g",
                "nodes": 1,
                "host_maintenance": "periodic",
                "max_pods_per_node": 32,
            }
        }
    )[f"{POOL}.main_x"]
    assert made.provider == "google-beta"
    assert made.attributes["node_config"]["host_maintenance_policy"] == {"maintenance_interval": "PERIODIC"}
    assert made.attributes["max_pods_per_node"] == 32


def test_bare_metal_has_neither_shielded_vms_nor_gvnic():
    metal = {"machine": "a4x-maxgpu-4g-metal", "nodes": 18, "capacity": {"reservation": "gb300"}}
    made = graph({"x": {**metal, "networking": "auto"}})
    config = made[f"{POOL}.main_x"].attributes["node_config"]
    assert not {"shielded_instance_config", "gvnic"} & set(config)
    assert config["linux_node_config"] == {"hugepages_config": {"hugepage_size_2m": 4096}}
    cluster = made["google_container_cluster.main"].attributes
    assert cluster["enable_shielded_nodes"] is False
    virtual = graph({"x": {"machine": "a3-highgpu-8g", "nodes": 1}})
    assert virtual["google_container_cluster.main"].attributes["enable_shielded_nodes"] is True
    config = virtual[f"{POOL}.main_x"].attributes["node_config"]
    assert config["shielded_instance_config"]["enable_secure_boot"] is True
