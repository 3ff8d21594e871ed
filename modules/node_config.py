"""What a node is: its machine, disks, accelerators, taints, and the settings that harden it.

Server-side defaults that would come back as a replacement are written out: the driver of GPUs, the taint
that keeps other pods off them, the Local SSDs that a machine type always has, and the reservation that is
not consumed. The taint of TPUs is not: GKE gives it to every TPU node itself (GKE docs, "About TPUs in GKE").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.gke_pools import FROM_ZERO, GkePool
from groundplan.blueprints.gpu_networks import networking
from groundplan.blueprints.machines import machine_of
from groundplan.modules.compute_classes import LABEL
from groundplan.modules.identity import NodeAccount

if TYPE_CHECKING:
    from groundplan.blueprints.model import BootDisk, NodePool

#: Keeps pods that ask for no GPU off the node. GKE adds it itself only if another pool exists at that moment,
#: so it is always written (GKE docs, "Run GPUs in GKE Standard node pools").
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}

#: Keeps pods that cannot be interrupted off Spot nodes. GKE labels them so, but adds no taint of its own
#: (GKE docs, "Spot VMs: use taints and tolerations").
SPOT_TAINT = {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}

#: Lets GKE's own driver hand network interfaces to pods (GKE docs, "Allocate network resources by using GKE
#: managed DRANET"). Bare-metal nodes want the second one too (the guide for A4X Max).
DRANET_LABEL = {"cloud.google.com/gke-networking-dra-driver": "true"}
METAL_LABEL = {"cloud.google.com/gke-dpv2-unified-cni": "cni-migration"}

#: Huge pages of 2 MiB, without which RDMA does not work on bare-metal machines (the guide for A4X Max).
METAL_HUGE_PAGES = 4096

RESERVATION_KEY = "compute.googleapis.com/reservation-name"

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
        "boot_disk_kms_key": account.disks.key,
        "metadata": {"disable-legacy-endpoints": "true"},
        "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
    }


def node_config(
    pool: NodePool,
    part: GkePool,
    account: NodeAccount,
    labels: Mapping[str, str],
    *,
    project: str,
    compute_class: str | None,
) -> dict[str, Any]:
    """The block ``node_config`` of a GKE node pool.

    Args:
        pool: the pool of the blueprint.
        part: the GKE pool that it becomes here.
        account: what its nodes run as.
        labels: Google Cloud labels. The provider's default labels do not reach nodes.
        project: the project of the nodes.
        compute_class: the compute class that the pool serves.
    """
    metal = is_metal(pool)
    return {
        **base_node_config(account),
        **({"shielded_instance_config": None} if metal else {"gvnic": {"enabled": True}}),
        "machine_type": pool.machine,
        "disk_type": boot_disk_type(pool),
        "disk_size_gb": pool.boot_disk.size_gib,
        "secondary_boot_disks": _preloaded(pool) or None,
        "gcfs_config": {"enabled": True} if pool.preload else None,
        "kubelet_config": {"insecure_kubelet_readonly_port_enabled": "FALSE"},
        "linux_node_config": {"hugepages_config": {"hugepage_size_2m": METAL_HUGE_PAGES}} if metal else None,
        "labels": _labels(pool, compute_class) or None,
        "resource_labels": dict(labels) or None,
        "taint": _taints(pool, compute_class) or None,
        "spot": True if pool.capacity.kind == "spot" else None,
        # Queued provisioning obtains flex-start machines, for all nodes of a request at once.
        "flex_start": True if pool.capacity.kind in FROM_ZERO else None,
        "max_run_duration": f"{pool.max_run_seconds}s" if pool.max_run_seconds is not None else None,
        "reservation_affinity": reservation_affinity(pool, part, project),
        "guest_accelerator": _guest_accelerator(pool),
        "confidential_nodes": _confidential(pool),
        **_local_ssd(pool),
        "host_maintenance_policy": _host_maintenance(pool),
    }


def gpus(pool: NodePool) -> tuple[str, int] | None:
    """Type and number of the GPUs of each machine; the machine decides where it fixes them."""
    known = machine_of(pool)
    if known is not None and known.gpu is not None:
        return known.gpu.type, known.gpu.count
    return (pool.gpu.type, pool.gpu.count or 1) if pool.gpu.type else None


def has_gpu(pool: NodePool) -> bool:
    """Whether the pool's machines have GPUs."""
    return gpus(pool) is not None


def is_accelerated(pool: NodePool) -> bool:
    """Whether the pool's machines have GPUs or TPUs: GKE taints such nodes, and such machines are scarce."""
    known = machine_of(pool)
    return has_gpu(pool) or (known is not None and known.is_tpu)


def is_metal(pool: NodePool) -> bool:
    """Whether the pool's machines are bare metal, which have neither Shielded VM settings nor gVNIC."""
    known = machine_of(pool)
    return known is not None and known.bare_metal


def boot_disk_type(pool: NodePool) -> str:
    """The type of the boot disk: as written, else the usual one or what the machine boots from instead."""
    disk: BootDisk = pool.boot_disk
    known = machine_of(pool)
    allowed = (known.boot_disks if known is not None else None) or (disk.type,)
    if "type" in disk.model_fields_set or disk.type in allowed:
        return disk.type
    return HYPERDISK if HYPERDISK in allowed else allowed[0]


def reservation_affinity(pool: NodePool, part: GkePool, project: str) -> dict[str, Any]:
    """Which reservation the nodes consume. Where none is named, none is consumed by accident.

    A block is named by its whole path, in the own project too: GKE has refused the short form that its
    guides show (Cluster Toolkit, pull request 5043). The path of a sub-block is that of GKE's autoscaler.
    """
    reservation = pool.capacity.reservation
    if reservation is None:
        any_one = pool.capacity.kind == "any-reservation"
        return {"consume_reservation_type": "ANY_RESERVATION" if any_one else "NO_RESERVATION"}
    path = reservation.name
    if reservation.project or part.block:
        path = f"projects/{reservation.project or project}/reservations/{path}"
    if part.block:
        path += f"/reservationBlocks/{part.block}"
    if part.sub_block:
        path += f"/reservationSubBlocks/{part.sub_block}"
    return {"consume_reservation_type": "SPECIFIC_RESERVATION", "key": RESERVATION_KEY, "values": [path]}


def _labels(pool: NodePool, compute_class: str | None) -> dict[str, str]:
    own = {LABEL: compute_class} if compute_class else {}
    if networking(pool) == "dranet":
        own |= DRANET_LABEL | (METAL_LABEL if is_metal(pool) else {})
    return {**pool.node_labels, **own}


def _taints(pool: NodePool, compute_class: str | None) -> list[dict[str, str]]:
    """The taints that a pool needs, each once, and then those of the blueprint.

    The taint of a compute class keeps everybody else off already. One for Spot beside it would also keep off
    the pods of the class, which should not need to know which of its pools they land on.
    """
    own = [GPU_TAINT] if has_gpu(pool) else []
    if compute_class:
        own.append({"key": LABEL, "value": compute_class, "effect": "NO_SCHEDULE"})
    elif pool.capacity.kind == "spot":
        own.append(SPOT_TAINT)
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
    sharing = pool.gpu.sharing
    return {
        "type": found[0],
        "count": found[1],
        "gpu_driver_installation_config": {"gpu_driver_version": DRIVERS[pool.gpu.driver]},
        "gpu_partition_size": pool.gpu.partition,
        "gpu_sharing_config": {
            "gpu_sharing_strategy": sharing.strategy.upper().replace("-", "_"),
            "max_shared_clients_per_gpu": sharing.clients,
        }
        if sharing
        else None,
    }


def _preloaded(pool: NodePool) -> list[dict[str, str]]:
    """The disks that container images are read from; image streaming must be on for them."""
    return [{"disk_image": image, "mode": "CONTAINER_IMAGE_CACHE"} for image in pool.preload]


def _local_ssd(pool: NodePool) -> dict[str, Any]:
    """One of the two blocks for Local SSDs, or none.

    A machine type with a fixed number always gets them, so their number is written even if nobody asked.
    """
    known = machine_of(pool)
    facts = known.local_ssd if known is not None else None
    fixed = facts.fixed if facts is not None else None
    if fixed is None and pool.local_ssd.mode == "none":
        return {}
    least = facts.allowed[0] if facts is not None and facts.allowed else 1
    count = {"local_ssd_count": fixed or pool.local_ssd.count or least}
    if pool.local_ssd.mode == "block":
        return {"local_nvme_ssd_block_config": count}
    return {"ephemeral_storage_local_ssd_config": count}


def _confidential(pool: NodePool) -> dict[str, Any] | None:
    """Encrypted memory, of the kind that the machine has; where nobody knows the kind, GKE chooses."""
    if not pool.confidential:
        return None
    known = machine_of(pool)
    kinds = (known.confidential if known is not None else None) or (None,)
    return {"enabled": True, "confidential_instance_type": kinds[0]}


def _host_maintenance(pool: NodePool) -> dict[str, str] | None:
    if pool.host_maintenance is None:
        return None
    return {"maintenance_interval": pool.host_maintenance.upper().replace("-", "_")}
