"""A private, hardened GKE cluster: regional, nodes without external addresses, no public control plane.

Values follow Google's hardening guide ("Harden your cluster's security"), the CIS GKE benchmark and the
provider's documentation; the comments name the rules that are not obvious. Attributes that would force a
replacement later (network, ranges, Dataplane V2, shape of the endpoint) are right from the start.

Three things are left out although lists of hardened settings name them. Dataplane V2 enforces network
policies itself and refuses a ``network_policy`` block, true or false. GKE ended its own vulnerability
scanning of workloads (GKE docs, posture management deprecation). Node auto-provisioning stays off: it would
make accelerator nodes that no blueprint names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.naming import cloud_key, cloud_name, cluster_name
from groundplan.modules import gpu_networks
from groundplan.modules.graph import Graph, Lifecycle, Resource
from groundplan.modules.identity import BUCKET, NodeAccount, workload_pool
from groundplan.modules.keys import Encryption, Keys
from groundplan.modules.maintenance import maintenance_policy
from groundplan.modules.names import stack_name, zone_names
from groundplan.modules.network import Network, Subnet
from groundplan.modules.node_config import base_node_config, has_gpu, is_metal
from groundplan.modules.provisioned import node_pools
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Cluster, Endpoint, Environment

#: The provider's own default; making a cluster takes ten minutes, a repair in between much longer.
TIMEOUTS = {"create": "90m", "update": "90m", "delete": "90m"}

LOGS = ("APISERVER", "CONTROLLER_MANAGER", "SCHEDULER", "SYSTEM_COMPONENTS", "WORKLOADS")

METRICS = (
    "APISERVER", "CADVISOR", "CONTROLLER_MANAGER", "DAEMONSET", "DEPLOYMENT", "HPA", "JOBSET", "KUBELET",
    "POD", "SCHEDULER", "STATEFULSET", "STORAGE", "SYSTEM_COMPONENTS",
)  # fmt: skip
GPU_METRICS = "DCGM"

EVENTS = ("SECURITY_BULLETIN_EVENT", "UPGRADE_AVAILABLE_EVENT", "UPGRADE_EVENT", "UPGRADE_INFO_EVENT")


@dataclass(frozen=True, slots=True)
class Gke:
    """A cluster that has been added, what the blueprint says of it, and the account that its nodes run as."""

    key: str
    cluster: Cluster
    resource: Resource
    account: NodeAccount
    region: str
    zones: tuple[str, ...]  #: full names; empty where GKE chooses them


def add_cluster(
    graph: Graph,
    env: Environment,
    key: str,
    cluster: Cluster,
    network: Network,
    subnet: Subnet,
    account: NodeAccount,
    keys: Keys,
    services: Services,
) -> Gke:
    """Add one cluster without node pools, and the topic for its notifications."""
    region = env.cluster_region(cluster)
    zones = zone_names(region, cluster.zones)
    secrets = keys.use("clusters", region)
    resource = graph.add(
        "google_container_cluster",
        stack_name((key, cluster)),
        name=cluster_name(env, cloud_key(key, cluster), cluster),
        location=region,
        node_locations=zones or None,
        deletion_protection=env.protect,
        # GKE cannot make a cluster without a pool. This one exists for minutes, but it needs an account that
        # is allowed to start nodes, and its settings must not come back as a replacement on every plan.
        remove_default_node_pool=True,
        initial_node_count=1,
        node_config=base_node_config(account),
        lifecycle=Lifecycle(
            prevent_destroy=env.protect, ignore_changes=("initial_node_count", "node_config")
        ),
        # The network, which cannot change later.
        network=network.id,
        subnetwork=subnet.id,
        networking_mode="VPC_NATIVE",
        ip_allocation_policy={
            "cluster_secondary_range_name": subnet.pods,
            "services_secondary_range_name": subnet.services,
            "stack_type": "IPV4",
        },
        datapath_provider="ADVANCED_DATAPATH",
        # Nodes may have more networks than one only if the cluster was made so.
        enable_multi_networking=True if gpu_networks.made(cluster) else None,
        enable_intranode_visibility=True,
        # Pods with addresses that belong to somebody else on the internet must keep them on the way out.
        default_snat_status={"disabled": True} if subnet.pod_range and subnet.pod_range.is_global else None,
        dns_config={"cluster_dns": "CLOUD_DNS", "cluster_dns_scope": "CLUSTER_SCOPE"},
        gateway_api_config={"channel": "CHANNEL_STANDARD"},
        **_endpoint(cluster.endpoint),
        # Versions, and when they change.
        release_channel={
            "channel": "UNSPECIFIED" if cluster.release_channel == "none" else cluster.release_channel.upper()
        },
        min_master_version=cluster.min_version,
        maintenance_policy=maintenance_policy(cluster.maintenance),
        notification_config={
            "pubsub": _notifications(graph, env, key, cluster, keys.use("topics", region), services)
        },
        # Who may do what.
        # Bare-metal nodes cannot join a cluster of Shielded nodes only (GKE's guide for A4X Max). The VMs of
        # such a cluster keep their own secure boot.
        enable_shielded_nodes=not any(is_metal(pool) for pool in node_pools(cluster).values()),
        # Kubernetes secrets, encrypted once more in the cluster's database.
        database_encryption={"state": "ENCRYPTED", "key_name": secrets.key} if secrets.key else None,
        workload_identity_config={"workload_pool": workload_pool(env)},
        binary_authorization={"evaluation_mode": "PROJECT_SINGLETON_POLICY_ENFORCE"},
        security_posture_config={"mode": "BASIC", "vulnerability_mode": "VULNERABILITY_DISABLED"},
        anonymous_authentication_config={"mode": "LIMITED"},
        rbac_binding_config={
            "enable_insecure_binding_system_authenticated": False,
            "enable_insecure_binding_system_unauthenticated": False,
        },
        master_auth={"client_certificate_config": {"issue_client_certificate": False}},
        node_pool_defaults={"node_config_defaults": {"insecure_kubelet_readonly_port_enabled": "FALSE"}},
        cluster_autoscaling={"enabled": False},
        # What runs in it, and what it tells.
        addons_config=_addons(env),
        cost_management_config={"enabled": True},
        logging_config={"enable_components": list(LOGS)},
        monitoring_config=_monitoring(cluster),
        timeouts=TIMEOUTS,
        depends_on=[
            *services.needs("container", "logging", "monitoring"),
            *services.needs("binaryauthorization", "containersecurity", "dns", "iamcredentials"),
            *account.grants,
            *secrets.grants,
            *network.ways_out,
            *subnet.rules,
        ],
    )
    return Gke(key, cluster, resource, account, region, tuple(zones))


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    """The ways to the control plane: a DNS name guarded by IAM, or an address in the VPC, never a public one.

    Neither a CIDR block nor a subnet is given for the private endpoint: GKE takes an address of the cluster's
    subnet, and both attributes would replace the cluster when they change. The block of authorised networks
    belongs to the private endpoint and stays there when it is empty; beside a DNS name it would switch the
    address on again.
    """
    private = endpoint.kind == "private"
    authorized = [
        {"cidr_block": str(network), "display_name": f"authorized-{network.network_address}"}
        for network in sorted(set(endpoint.authorized_networks))
    ]
    return {
        "private_cluster_config": {"enable_private_nodes": True, "enable_private_endpoint": True},
        "control_plane_endpoints_config": {
            "dns_endpoint_config": {
                "allow_external_traffic": endpoint.external and not private,
                "enable_k8s_certs_via_dns": False,
                "enable_k8s_tokens_via_dns": False,
            },
            "ip_endpoints_config": {"enabled": private},
        },
        "master_authorized_networks_config": {
            "gcp_public_cidrs_access_enabled": False,
            "private_endpoint_enforcement_enabled": True,
            "cidr_blocks": authorized or None,
        }
        if private
        else None,
    }


def _notifications(
    graph: Graph, env: Environment, key: str, cluster: Cluster, encryption: Encryption, services: Services
) -> dict[str, Any]:
    """GKE publishes upgrades and security bulletins; its service agent may do so in its own project."""
    topic = graph.add(
        "google_pubsub_topic",
        stack_name((key, cluster), "events"),
        name=cloud_name(env, cloud_key(key, cluster), "events"),
        message_retention_duration="604800s",
        kms_key_name=encryption.key,
        depends_on=[*services.needs("pubsub"), *encryption.grants],
    )
    return {"enabled": True, "topic": topic["id"], "filter": {"event_type": list(EVENTS)}}


def _addons(env: Environment) -> dict[str, Any]:
    uses_buckets = any(
        path.startswith(BUCKET)
        for workload in env.workloads.values()
        for path in workload.reads + workload.writes
    )
    return {
        "dns_cache_config": {"enabled": True},
        "gce_persistent_disk_csi_driver_config": {"enabled": True},
        "gcs_fuse_csi_driver_config": {"enabled": uses_buckets},
        "http_load_balancing": {"disabled": False},
    }


def _monitoring(cluster: Cluster) -> dict[str, Any]:
    gpus = any(has_gpu(pool) for pool in node_pools(cluster).values())
    return {
        "enable_components": sorted([*METRICS, GPU_METRICS] if gpus else METRICS),
        "managed_prometheus": {"enabled": True, "auto_monitoring_config": {"scope": "ALL"}},
        "advanced_datapath_observability_config": {"enable_metrics": True, "enable_relay": False},
    }
