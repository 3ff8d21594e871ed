"""An environment's own network: one VPC, a subnet for each cluster, and only the ways out that are asked for.

Nothing connects it to another environment: no peering, no shared subnet. Incoming traffic is refused by the
VPC's implied rule; one explicit rule lets the nodes and pods of a cluster talk to each other.

Nodes have no external addresses. They reach Google's APIs through Private Google Access, which needs a
route to the default internet gateway (VPC docs, "Private Google Access: requirements"). The route that a
new VPC would come with is removed and an own one made, so that it can be narrowed later without replacing
the network. It lets nothing reach the internet as long as nodes have neither addresses nor Cloud NAT.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import cloud_key, cloud_name
from groundplan.modules.graph import Graph, Resource
from groundplan.modules.names import stack_name
from groundplan.modules.provisioned import clusters
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.lock import ClusterRanges
    from groundplan.blueprints.model import Cluster, Environment

PODS = "pods"  #: name of the secondary range
SERVICES = "services"  #: name of the secondary range


@dataclass(frozen=True, slots=True)
class Network:
    """The VPC, and the ways out that nodes need before they start."""

    vpc: Resource
    ways_out: tuple[Resource, ...]


@dataclass(frozen=True, slots=True)
class Subnet:
    """A cluster's subnet, its ranges, and the rule that lets its nodes and pods talk."""

    subnetwork: Resource
    ranges: ClusterRanges
    internal: Resource


def add_network(graph: Graph, env: Environment, services: Services) -> Network:
    """Add the VPC with its default route, and Cloud NAT where the clusters are if the blueprint wants it."""
    regions = sorted({env.cluster_region(cluster) for cluster in clusters(env).values()})
    with graph.at("network"):
        vpc = graph.add(
            "google_compute_network",
            "main",
            name=cloud_name(env, "vpc"),
            auto_create_subnetworks=False,
            routing_mode="GLOBAL",
            delete_default_routes_on_create=True,
            depends_on=services.needs("compute"),
        )
        route = graph.add(
            "google_compute_route",
            "default",
            name=cloud_name(env, "default"),
            network=vpc["name"],
            dest_range="0.0.0.0/0",
            next_hop_gateway="default-internet-gateway",
        )
        nats = [_nat(graph, env, vpc, region) for region in regions] if env.network.nat else []
    return Network(vpc, (route, *nats))


def add_subnet(
    graph: Graph, env: Environment, key: str, cluster: Cluster, network: Network, ranges: ClusterRanges
) -> Subnet:
    """Add the subnet of one cluster with its secondary ranges, and its internal firewall rule.

    The rule names nodes and pods as sources and as destinations, so clusters do not reach each other.
    """
    name = cloud_key(key, cluster)
    subnetwork = graph.add(
        "google_compute_subnetwork",
        stack_name((key, cluster)),
        name=cloud_name(env, name),
        region=env.cluster_region(cluster),
        network=network.vpc["id"],
        ip_cidr_range=str(ranges.nodes),
        secondary_ip_range=[
            {"range_name": PODS, "ip_cidr_range": str(ranges.pods)},
            {"range_name": SERVICES, "ip_cidr_range": str(ranges.services)},
        ],
        private_ip_google_access=True,
        stack_type="IPV4_ONLY",
        log_config={
            "aggregation_interval": "INTERVAL_10_MIN",
            "flow_sampling": 0.5,
            "metadata": "INCLUDE_ALL_METADATA",
        },
    )
    own = sorted((str(ranges.nodes), str(ranges.pods)))
    internal = graph.add(
        "google_compute_firewall",
        stack_name((key, cluster), "internal"),
        name=cloud_name(env, name, "internal"),
        network=network.vpc["name"],
        direction="INGRESS",
        source_ranges=own,
        destination_ranges=own,
        allow=[{"protocol": protocol} for protocol in ("icmp", "tcp", "udp")],
    )
    return Subnet(subnetwork, ranges, internal)


def _nat(graph: Graph, env: Environment, vpc: Resource, region: str) -> Resource:
    router = graph.add(
        "google_compute_router",
        stack_name("nat", region),
        name=cloud_name(env, "nat", region),
        region=region,
        network=vpc["name"],
    )
    return graph.add(
        "google_compute_router_nat",
        stack_name("nat", region),
        name=cloud_name(env, "nat", region),
        region=region,
        router=router["name"],
        nat_ip_allocate_option="AUTO_ONLY",
        source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
        log_config={"enable": True, "filter": "ERRORS_ONLY"},
    )
