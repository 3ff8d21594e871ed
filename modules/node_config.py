"""What a node is: its machine, disks, accelerators, taints, and the settings that harden it.

Server-side defaults that would come back as a replacement are written out: the driver of GPUs, the taint
that keeps other pods off them, the Local SSDs that a machine type always has, and the reservation that is
not consumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groundplan.facts.accelerators import machine
from groundplan.modules.identity import NodeAccount

if TYPE_CHECKING:
    from groundplan.blueprints.model import BootDisk, NodePool

#: Keeps pods that ask for no GPU off the node. GKE adds it itself only if another pool exists at that moment,
#: so it is always written (GKE docs, "Run GPUs in GKE Standard node pools").
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}

#: Keeps pods that cannot be interrupted off Spot nodes. GKE labels them so, but adds no taint of its own
#: (GKE docs, "Spot VMs: use taints and tolerations").
SPOT_TAINT = {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}

HYPERDISK = "hyperdisk-balanced"

DRIVERS = {"default": "DEFAULT", "latest": "LATEST", "none": "INSTALLATION_DISABLED"}

EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}


def base_node_config(account: NodeAccount) -> dict[str, Any]:
    """What every node has. Access scopes are the legacy way to limit an account: IAM limits this one."""
    return {
        "service_account": account.account["email"],
        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "image_type": "COS_CONTAINERD",
        "metadata": {"disable-legacy-endpoints": "true"},
        "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
    }


def node_config(pool: NodePool, account: NodeAccount, labels: Mapping[str, str]) -> dict[str, Any]:
    """The block ``node_config`` of a pool.

    Args:
        pool: the pool; on demand or Spot.
        account: what its nodes run as.
        labels: Google Cloud labels. The provider's default labels do not reach nodes.
    """
    return {
        **base_node_config(account),
        "machine_type": pool.machine,
        "disk_type": boot_disk_type(pool),
        "disk_size_gb": pool.boot_disk.size_gib,
        "gvnic": {"enabled": True},
        "kubelet_config": {"insecure_kubelet_readonly_port_enabled": "FALSE"},
        "labels": pool.node_labels or None,
        "resource_labels": dict(labels) or None,
        "taint": _taints(pool) or None,
        "spot": True if pool.capacity.kind == "spot" else None,
        "reservation_affinity": {"consume_reservation_type": "NO_RESERVATION"},
        "guest_accelerator": _guest_accelerator(pool),
        **_local_ssd(pool),
        "host_maintenance_policy": _host_maintenance(pool),
    }


def gpus(pool: NodePool) -> tuple[str, int] | None:
    """Type and number of the GPUs of each machine; the machine decides where it fixes them."""
    known = machine(pool.machine)
    if known is not None and known.gpu is not None:
        return known.gpu.type, known.gpu.count
    return (pool.gpu.type, pool.gpu.count or 1) if pool.gpu.type else None


def has_gpu(pool: NodePool) -> bool:
    """Whether the pool's machines have GPUs."""
    return gpus(pool) is not None


def boot_disk_type(pool: NodePool) -> str:
    """The type of the boot disk: as written, else the usual one or what the machine boots from instead."""
    disk: BootDisk = pool.boot_disk
    known = machine(pool.machine)
    allowed = (known.boot_disks if known is not None else None) or (disk.type,)
    if "type" in disk.model_fields_set or disk.type in allowed:
        return disk.type
    return HYPERDISK if HYPERDISK in allowed else allowed[0]


def _taints(pool: NodePool) -> list[dict[str, str]]:
    own = [GPU_TAINT] if has_gpu(pool) else []
    own += [SPOT_TAINT] if pool.capacity.kind == "spot" else []
    taken = {taint["key"] for taint in own}
    return own + [
        {"key": taint.key, "value": taint.value, "effect": EFFECTS[taint.effect]}
        for taint in pool.node_taints
        if taint.key not in taken
    ]


def _guest_accelerator(pool: NodePool) -> dict[str, Any] | None:
    found = gpus(pool)
    if found is None:
        return None
    return {
        "type": found[0],
        "count": found[1],
        "gpu_driver_installation_config": {"gpu_driver_version": DRIVERS[pool.gpu.driver]},
    }


def _local_ssd(pool: NodePool) -> dict[str, Any]:
    """One of the two blocks for Local SSDs, or none.

    A machine type with a fixed number always gets them, so their number is written even if nobody asked.
    """
    known = machine(pool.machine)
    facts = known.local_ssd if known is not None else None
    fixed = facts.fixed if facts is not None else None
    if fixed is None and pool.local_ssd.mode == "none":
        return {}
    least = facts.allowed[0] if facts is not None and facts.allowed else 1
    count = {"local_ssd_count": fixed or pool.local_ssd.count or least}
    if pool.local_ssd.mode == "block":
        return {"local_nvme_ssd_block_config": count}
    return {"ephemeral_storage_local_ssd_config": count}


def _host_maintenance(pool: NodePool) -> dict[str, str] | None:
    if pool.host_maintenance is None:
        return None
    return {"maintenance_interval": pool.host_maintenance.upper().replace("-", "_")}
