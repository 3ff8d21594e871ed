"""From Terraform's words to the blueprint's: what a resource is called, which key an attribute follows from.

The tables know what groundplan's own modules make; anything else keeps Terraform's words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from groundplan.plans import formats, perimeters
from groundplan.plans.differences import differences
from groundplan.plans.model import Change
from groundplan.plans.values import Value

NOUNS = {
    "google_access_context_manager_access_level": "access level",
    "google_access_context_manager_access_policy": "access policy",
    "google_access_context_manager_service_perimeter": "perimeter",
    "google_access_context_manager_service_perimeter_dry_run_resource": "perimeter membership",
    "google_access_context_manager_service_perimeter_resource": "perimeter membership",
    "google_artifact_registry_repository": "repository",
    "google_bigquery_dataset": "dataset",
    "google_bigquery_table": "table",
    "google_billing_budget": "budget",
    "google_binary_authorization_policy": "image policy",
    "google_compute_address": "address",
    "google_compute_disk": "disk",
    "google_compute_firewall": "firewall rule",
    "google_compute_global_address": "address",
    "google_compute_global_forwarding_rule": "endpoint",
    "google_compute_network": "network",
    "google_compute_region_disk": "disk",
    "google_compute_resource_policy": "placement policy",
    "google_compute_route": "route",
    "google_compute_router": "router",
    "google_compute_router_nat": "NAT",
    "google_compute_shared_vpc_service_project": "Shared VPC attachment",
    "google_compute_subnetwork": "subnet",
    "google_container_cluster": "cluster",
    "google_container_node_pool": "node pool",
    "google_dns_managed_zone": "DNS zone",
    "google_dns_record_set": "DNS record",
    "google_essential_contacts_contact": "contact",
    "google_filestore_instance": "Filestore instance",
    "google_folder": "folder",
    "google_iam_workload_identity_pool": "federation pool",
    "google_iam_workload_identity_pool_provider": "federation provider",
    "google_kms_crypto_key": "key",
    "google_kms_key_ring": "key ring",
    "google_logging_project_bucket_config": "log bucket",
    "google_logging_project_sink": "log sink",
    "google_lustre_instance": "Lustre instance",
    "google_org_policy_custom_constraint": "constraint",
    "google_org_policy_policy": "organization policy",
    "google_privileged_access_manager_entitlement": "emergency access",
    "google_project": "project",
    "google_project_default_service_accounts": "default accounts setting",
    "google_project_iam_audit_config": "audit config",
    "google_project_iam_custom_role": "custom role",
    "google_project_service": "API",
    "google_project_service_identity": "service agent",
    "google_pubsub_topic": "topic",
    "google_resource_manager_lien": "lien",
    "google_secret_manager_secret": "secret",
    "google_secret_manager_secret_version": "secret version",
    "google_service_account": "service account",
    "google_storage_bucket": "bucket",
    "google_storage_managed_folder": "managed folder",
    "google_tags_tag_binding": "tag",
    "google_tags_tag_key": "tag key",
    "google_tags_tag_value": "tag value",
}


@dataclass(frozen=True, slots=True)
class Word:
    """How an attribute is spoken of.

    Attributes:
        key: the blueprint's key, or plain words where the value follows from another key (``gpu type`` mostly
            follows from ``machine``).
        show: the value as the blueprint writes it.
        whole: the attribute is a block that makes sense only as a whole.
    """

    key: str
    show: formats.Show = str
    whole: bool = False


_COMMON = {
    "deletion_policy": Word("protect", formats.protect),
    "deletion_protection": Word("protect", formats.protect),
    "labels": Word("labels"),
    "location": Word("location", formats.location),
    "resource_labels": Word("labels"),
    "terraform_labels": Word("labels"),
}
_GPU = "node_config.guest_accelerator"
_WORDS = {
    "google_container_cluster": {
        "control_plane_endpoints_config": Word("endpoint"),
        "database_encryption.key_name": Word("encryption key", formats.last_part),
        "database_encryption.state": Word("encryption", formats.lower),
        "ip_allocation_policy": Word("ranges"),
        "location": Word("region"),
        "maintenance_policy.disruption_budget.minor_version_disruption_interval": Word(
            "maintenance.disruption.minor", formats.seconds
        ),
        "maintenance_policy.disruption_budget.patch_version_disruption_interval": Word(
            "maintenance.disruption.patch", formats.seconds
        ),
        "maintenance_policy.maintenance_exclusion": Word(
            "maintenance.exclusions", formats.exclusions, whole=True
        ),
        "maintenance_policy.recurring_maintenance_window": Word(
            "maintenance.window", formats.window, whole=True
        ),
        "maintenance_policy.recurring_window": Word("maintenance.window", formats.window, whole=True),
        "master_authorized_networks_config.cidr_blocks": Word(
            "endpoint.authorized_networks", formats.fields("cidr_block"), whole=True
        ),
        "min_master_version": Word("min_version"),
        "network": Word("network", formats.last_part),
        "node_locations": Word("zones"),
        "private_cluster_config": Word("endpoint"),
        "release_channel.channel": Word("release_channel", formats.lower),
        "subnetwork": Word("subnet", formats.last_part),
    },
    "google_container_node_pool": {
        "autoscaling.max_node_count": Word("nodes.max in each zone"),
        "autoscaling.min_node_count": Word("nodes.min in each zone"),
        "autoscaling.total_max_node_count": Word("nodes.max"),
        "autoscaling.total_min_node_count": Word("nodes.min"),
        "cluster": Word("cluster", formats.last_part),
        "initial_node_count": Word("nodes at the start"),
        "location": Word("region"),
        "network_config.accelerator_network_profile": Word("networking"),
        "network_config.additional_node_network_configs": Word(
            "networking", formats.fields("network"), whole=True
        ),
        "node_config.boot_disk.disk_type": Word("boot_disk.type"),
        "node_config.boot_disk.size_gb": Word("boot_disk.size", formats.gib),
        "node_config.confidential_nodes": Word("confidential"),
        "node_config.disk_size_gb": Word("boot_disk.size", formats.gib),
        "node_config.disk_type": Word("boot_disk.type"),
        "node_config.ephemeral_storage_local_ssd_config": Word("local_ssd"),
        "node_config.flex_start": Word("capacity", formats.flag("flex-start", "not flex-start")),
        f"{_GPU}.count": Word("gpu count"),
        f"{_GPU}.gpu_driver_installation_config.gpu_driver_version": Word("gpu.driver", formats.lower),
        f"{_GPU}.gpu_partition_size": Word("gpu.partition"),
        f"{_GPU}.gpu_sharing_config": Word("gpu.sharing"),
        f"{_GPU}.type": Word("gpu type"),
        "node_config.host_maintenance_policy": Word("host_maintenance", formats.lower),
        "node_config.labels": Word("node_labels"),
        "node_config.local_nvme_ssd_block_config": Word("local_ssd"),
        "node_config.machine_type": Word("machine"),
        "node_config.max_run_duration": Word("max_run_duration", formats.seconds),
        "node_config.resource_labels": Word("labels"),
        "node_config.reservation_affinity.consume_reservation_type": Word("capacity", formats.lower),
        "node_config.reservation_affinity.values": Word("capacity.reservation"),
        "node_config.secondary_boot_disks": Word("preload", formats.fields("disk_image"), whole=True),
        "node_config.service_account": Word("node identity"),
        "node_config.spot": Word("capacity", formats.flag("spot", "on-demand")),
        "node_config.taint": Word("node_taints", formats.taints, whole=True),
        "node_count": Word("nodes"),
        "node_locations": Word("zones"),
        "placement_policy.policy_name": Word("placement"),
        "placement_policy.tpu_topology": Word("topology"),
        "placement_policy.type": Word("placement", formats.lower),
        "queued_provisioning.enabled": Word("capacity", formats.flag("queued", "not queued")),
    },
    "google_storage_bucket": {
        "encryption.default_kms_key_name": Word("encryption key", formats.last_part),
        "hierarchical_namespace.enabled": Word("hierarchical"),
        "soft_delete_policy.retention_duration_seconds": Word("soft_delete", formats.seconds),
        "versioning.enabled": Word("versioning"),
    },
    "google_compute_disk": {
        "provisioned_throughput": Word("throughput", formats.mib_per_second),
        "size": Word("size", formats.gib),
        "zone": Word("zones"),
    },
    "google_access_context_manager_access_level": {
        "basic.combining_function": Word("conditions", formats.combined),
        "basic.conditions": Word("conditions", formats.conditions, whole=True),
    },
    "google_compute_subnetwork": {
        "ip_cidr_range": Word("ranges.nodes"),
        "secondary_ip_range": Word(
            "ranges.pods, ranges.services", formats.fields("range_name", "ip_cidr_range"), whole=True
        ),
    },
}


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that changes about a resource, in the blueprint's words.

    Attributes:
        key: the blueprint's key, or Terraform's path where it follows from none.
        attribute: the provider's path.
        text: ``before → after``.
        forces_replacement: it makes Terraform replace the resource.
    """

    key: str
    attribute: str
    text: str
    forces_replacement: bool = False


def noun(type: str) -> str:
    """What such a resource is called: ``node pool``; Terraform's own word where there is no other."""
    if type in NOUNS:
        return NOUNS[type]
    return type.removeprefix("google_").replace("_", " ")


def topics(change: Change) -> list[Topic]:
    """What a change changes, one topic for each key of the blueprint, in the order of the attributes."""
    if change.type == perimeters.PERIMETER and (said := perimeters.said(change)):
        return [Topic(one.key, one.attribute, one.text) for one in said]
    found: dict[tuple[str, str], Topic] = {}
    for difference in differences(change):
        attribute, word = _word(change.type, difference.attribute)
        before, after = difference.before, difference.after
        if word and word.whole:
            before, after = change.before[attribute], change.after[attribute]
        key = word.key if word else difference.path
        if word and difference.key:
            key = f"{key} {difference.key}"
        text = between(before, after, word.show if word else str)
        topic = Topic(key, difference.attribute, text, difference.forces_replacement)
        if topic.forces_replacement or (key, text) not in found:
            found[key, text] = topic
    return list(found.values())


def replacing(change: Change) -> str:
    """Why a resource is replaced, in the blueprint's words and the provider's."""
    forcing = dict.fromkeys(_both_words(change.type, path) for path in change.replace_paths)
    if forcing:
        return f"{' and '.join(forcing)} {'forces' if len(forcing) == 1 else 'force'} it"
    return {
        "replace_because_tainted": "it is marked as damaged (tainted)",
        "replace_by_request": "it was asked for (-replace)",
        "replace_by_triggers": "replace_triggered_by asks for it",
    }.get(change.reason, "Terraform does not say why")


def between(before: Value, after: Value, show: formats.Show = str) -> str:
    """``before → after``; of lists what is added and what is removed."""
    new = _shown(after, show)
    if before.is_absent:
        return new
    old = _shown(before, show)
    if isinstance(before.raw, list) and isinstance(after.raw, list) and ", " in old + new:
        olds, news = old.split(", "), new.split(", ")
        changes = [f"+{item}" for item in news if item not in olds]
        changes += [f"-{item}" for item in olds if item not in news]
        return ", ".join(changes) or "another order"
    _, bracket, unit = new.rpartition(" (")
    return f"{old.removesuffix(bracket + unit) if bracket else old} → {new}"


def _shown(value: Value, show: formats.Show) -> str:
    if not value.is_known or value.sensitive or _has_unknown(value.raw):
        return str(value)
    return show(value)


def _has_unknown(raw: object) -> bool:
    if isinstance(raw, dict):
        return any(map(_has_unknown, raw.values()))
    return any(map(_has_unknown, raw)) if isinstance(raw, list) else isinstance(raw, Value)


def _word(type: str, attribute: str) -> tuple[str, Word | None]:
    """The longest part of an attribute's path that there is a word for, and the word."""
    table = _COMMON | _WORDS.get(type, {})
    path = attribute
    while path:
        if path in table:
            return path, table[path]
        path = path.rpartition(".")[0]
    return attribute, None


def _both_words(type: str, attribute: str) -> str:
    """The blueprint's word for an attribute with the provider's path, where they differ."""
    word = _word(type, attribute)[1]
    return f"{word.key} ({attribute})" if word and word.key != attribute else attribute


def label(key: str) -> str:
    """A key as the name of a line: ``maintenance.window`` → ``maintenance window``."""
    return key.replace(".", " ").replace("_", " ")


def counted(number: int, what: str) -> str:
    """``1 subnet``, ``3 subnets``, ``2 policies``, ``2 addresses``."""
    if number == 1:
        return f"1 {what}"
    if what.endswith("y") and what[-2] not in "aeiou":
        return f"{number} {what[:-1]}ies"
    return f"{number} {what}{'es' if what.endswith('s') else 's'}"


def first(texts: Iterable[str], most: int, separator: str = "; ") -> str:
    """The first few of many, joined, and how many more there are."""
    items = list(texts)
    rest = len(items) - most
    return separator.join(items[:most]) + (f"{separator}and {rest} more" if rest > 0 else "")
