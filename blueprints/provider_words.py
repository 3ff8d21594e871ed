"""What people who know Terraform, gcloud or other tools write first, and what it is called here.

Some of it is not the blueprint's to say: groundplan decides it, and the hint says how.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping


def _each(*pairs: tuple[str, str]) -> Mapping[str, str]:
    """Every word of ``words`` with its hint."""
    return {word: hint for words, hint in pairs for word in words.split()}


#: Words in a node pool → what to do instead.
_IN_POOLS = _each(
    ("spot preemptible", "Write `capacity: spot`."),
    ("flex_start enable_flex_start flex", "Write `capacity: flex-start`."),
    ("queued_provisioning enable_queued_provisioning queued", "Write `capacity: queued`."),
    (
        "reservation reservation_affinity specific_reservations consume_reservation_type",
        "Write `capacity: {reservation: NAME}`. Left out, no reservation is consumed.",
    ),
    ("machine_type instance_type", "Write `machine`."),
    (
        "node_count static_node_count initial_node_count autoscaling min_nodes max_nodes min_node_count "
        "max_node_count total_min_node_count total_max_node_count",
        "Write `nodes: 4`, or `nodes: {min: 0, max: 4}`.",
    ),
    ("node_locations locations zone", "Write `zones: [a]`."),
    ("location_policy", "groundplan decides it: machines in any zone where they are scarce, else balanced."),
    (
        "guest_accelerator accelerator accelerators gpus",
        "Write `gpu: {type: …, count: …}`, or nothing where the machine comes with its GPUs.",
    ),
    ("gpu_driver gpu_driver_version", "Write `gpu: {driver: latest}`."),
    ("placement_policy compact_placement", "Write `placement: compact`."),
    ("tpu_topology", "Write `topology`."),
    ("num_slices", "Write `slices`."),
    (
        "auto_repair auto_upgrade management",
        "groundplan decides it: flex-start and queued pools are never repaired, all others are; "
        "in a release channel GKE upgrades every pool.",
    ),
    (
        "upgrade_settings max_surge max_unavailable strategy",
        "groundplan decides it: upgrades add a node first, or take one away first where none can be added.",
    ),
    (
        "service_account service_account_email oauth_scopes",
        "Nodes run as an account of their cluster with the least rights; `workloads` have their own.",
    ),
    ("enable_private_nodes private_nodes public_nodes", "Nodes never have public addresses."),
    (
        "disk_type disk_size_gb boot_disk_type boot_disk_size",
        "Write `boot_disk: {type: hyperdisk-balanced, size: 200GiB}`.",
    ),
    (
        "local_ssd_count local_nvme_ssd_block_config ephemeral_storage_local_ssd_config",
        "Write `local_ssd: {mode: ephemeral}`, or `{mode: block}`.",
    ),
    ("host_maintenance_interval host_maintenance_policy", "Write `host_maintenance: periodic`."),
    (
        "additional_networks additional_node_network_configs",
        "Write `networking: auto`: the machine says how many networks it needs.",
    ),
    (
        "labels",
        "Write `node_labels` for labels of Kubernetes; `labels` of an environment are Google Cloud's.",
    ),
    ("taints", "Write `node_taints`."),
    ("image_type", "Nodes run Container-Optimized OS."),
    ("max_run_time", "Write `max_run_duration: 3d`."),
)

#: Words in a cluster → what to do instead.
_IN_CLUSTERS = _each(
    ("location zone", "Write `region`, and `zones: [a, b]`."),
    ("min_master_version cluster_version version", "Write `min_version`."),
    ("node_locations", "Write `zones: [a, b]`."),
    (
        "master_authorized_networks authorized_networks",
        "Write `endpoint: {kind: private, authorized_networks: […]}`.",
    ),
    (
        "private_cluster_config enable_private_nodes enable_private_endpoint",
        "Neither nodes nor the control plane have public addresses. Write `endpoint` for how it is reached.",
    ),
    ("network_policy datapath_provider", "Every cluster has Dataplane V2, which enforces network policies."),
    ("maintenance_policy", "Write `maintenance`."),
    ("deletion_protection", "Write `protect` in the environment."),
)


def instead(word: str, known: Collection[str]) -> str:
    """What to write instead of a word of other tools; empty if nothing is known.

    Args:
        word: the unknown key.
        known: the keys that may stand in its place, which say where that is.
    """
    if "machine" in known and "capacity" in known:
        return _IN_POOLS.get(word, "")
    return _IN_CLUSTERS.get(word, "") if "node_pools" in known else ""
