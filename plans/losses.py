"""What a plan loses for good: data, running work, names that cannot be used again."""

from __future__ import annotations

from groundplan.plans.model import Change
from groundplan.plans.values import Attributes
from groundplan.plans.words import counted

#: Resource type → what is lost with it.
PRECIOUS = {
    "google_access_context_manager_service_perimeter": "its projects are no longer inside a perimeter",
    "google_artifact_registry_repository": "its packages and images are deleted",
    "google_bigquery_dataset": "its tables are deleted",
    "google_bigquery_table": "its data are deleted",
    "google_compute_disk": "its data are deleted",
    "google_compute_region_disk": "its data are deleted",
    "google_container_cluster": "everything that runs in it stops",
    "google_container_node_pool": "its nodes are drained and deleted",
    "google_filestore_instance": "its data are deleted",
    "google_folder": "everything in it is out of reach",
    "google_kms_crypto_key": "what it encrypts can no longer be read",
    "google_kms_key_ring": "Cloud KMS keeps it for ever, without Terraform, and its name stays taken",
    "google_lustre_instance": "its data are deleted",
    "google_project": "everything in it is shut down, and its id stays taken",
    "google_secret_manager_secret": "its versions are deleted",
    "google_storage_bucket": "its objects are deleted",
}


def loses(change: Change) -> str:
    """What is lost by a deletion or replacement; empty where the object stays, or can be made again."""
    if not change.deletes or change.before["deletion_policy"].raw == "ABANDON":
        return ""
    if change.type == "google_storage_bucket" and change.before["force_destroy"].raw is not True:
        return "it must be empty, else Cloud Storage refuses"
    return PRECIOUS.get(change.type, "")


def drained(change: Change) -> str:
    """The nodes that a pool loses when it is deleted or replaced: ``16 nodes``, ``up to 8 nodes``.

    Empty where the plan does not say. GKE counts in each zone unless the bounds are totals (provider docs,
    google_container_node_pool: node_count, autoscaling).
    """
    held = change.before
    fixed, total = _number(held, "node_count"), _number(held, "autoscaling.total_max_node_count")
    each = _number(held, "autoscaling.max_node_count")
    zones = max(1, len(held.each("node_locations")))
    if total:
        return f"up to {counted(total, 'node')}"
    if each:
        return f"up to {counted(each * zones, 'node')}"
    return counted(fixed * zones, "node") if fixed else ""


def _number(held: Attributes, path: str) -> int:
    value = held[path]
    return value.raw if value.is_known and isinstance(value.raw, int) else 0
