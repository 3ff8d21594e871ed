"""An environment's own network: one VPC, a subnet for each cluster, and only the ways out that are asked for.

Nothing connects it to another environment: no peering, no shared subnet. Incoming traffic is refused by the
VPC's implied rule; one explicit rule lets the nodes and pods of a cluster talk to each other. Outgoing
traffic is refused by a rule of the lowest precedence, which overrules the VPC's implied permission, with
these exceptions: nodes and pods of the network, among which the private addresses of control planes are;
Google's APIs; and the internet where the blueprint wants Cloud NAT.

The default route that a new VPC would come with is removed. There are routes to Google's APIs only
(``modules.routes``), and one to everywhere with NAT.

A network that somebody else owns is used as it is: subnets, routes, firewall rules and DNS are theirs. What
GKE needs to work in it is in ``modules.shared_vpc``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import cloud_key, cloud_name
from groundplan.modules.dns import add_zones
from groundplan.modules.graph import Graph, Reference, Resource
from groundplan.modules.names import stack_name
from groundplan.modules.provisioned import clusters
from groundplan.modules.routes import add_default_route, add_google_apis
from groundplan.modules.services import Services
from groundplan.modules.shared_vpc import existing_subnet

if TYPE_CHECKING:
    from ipaddress import IPv4Network

    from groundplan.blueprints.lock import ClusterRanges, EnvironmentLock
    from groundplan.blueprints.model import Cluster, Environment

PODS = "pods"  #: name of the secondary range
SERVICES = "services"  #: name of the secondary range

#: Above the implied rule (65535), so that everything may overrule it.
DENY_PRIORITY = 65530
ALLOW_PRIORITY = 65430


@dataclass(frozen=True, slots=True)
class Network:
    """The VPC, and the ways out that nodes need before they start."""

    id: Reference | str
    ways_out: tuple[Resource, ...]
    vpc: Resource | None = None  #: None for somebody else's


@dataclass(frozen=True, slots=True)
class Subnet:
    """A cluster's subnet and secondary ranges, and the rules that let its nodes and pods talk."""

    id: Reference | str
    pods: str
    services: str
    pod_range: IPv4Network | None  #: None if nobody here knows it
    rules: tuple[Resource, ...] = ()


def add_network(
    graph: Graph,
    env: Environment,
    services: Services,
    *,
    used: Iterable[str],
    kept: EnvironmentLock,
    attached: Sequence[Resource] = (),
) -> Network:
    """Add the VPC with its ways out, and Cloud NAT where the clusters are if the blueprint wants it.

    Args:
        graph: where to.
        env: the environment.
        services: the enabled APIs.
        used: the APIs that it uses, by full name.
        kept: its address ranges.
        attached: what lets it use somebody else's network, where this stack makes it.
    """
    if env.network.existing:
        shared = env.network.existing
        return Network(f"projects/{shared.host_project}/global/networks/{shared.network}", tuple(attached))
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
        apis = add_google_apis(graph, env, vpc, kept.owned(env.name), services)
        ways = [
            *apis.ways,
            *add_zones(graph, env, vpc, apis, used, services),
            _deny_egress(graph, env, vpc),
            _egress(graph, env, vpc, "google-apis", apis.ranges, ports=("443",)),
            *(_internet(graph, env, vpc) if env.network.nat else ()),
        ]
    return Network(vpc["id"], tuple(ways), vpc)


def add_subnet(
    graph: Graph, env: Environment, key: str, cluster: Cluster, network: Network, ranges: ClusterRanges
) -> Subnet:
    """Add the subnet of one cluster with its secondary ranges and internal firewall rules, or name theirs.

    The rule for incoming traffic names nodes and pods as sources and as destinations, so clusters do not
    reach each other.
    """
    if network.vpc is None:
        subnet = existing_subnet(env, key, cluster)
        return Subnet(subnet.id, subnet.pods, subnet.services, cluster.ranges.pods)
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
    rules = [
        graph.add(
            "google_compute_firewall",
            stack_name((key, cluster), "internal"),
            name=cloud_name(env, name, "internal"),
            network=network.vpc["name"],
            direction="INGRESS",
            source_ranges=own,
            destination_ranges=own,
            allow=[{"protocol": protocol} for protocol in ("icmp", "tcp", "udp")],
        ),
        graph.add(
            "google_compute_firewall",
            stack_name((key, cluster), "internal-egress"),
            name=cloud_name(env, name, "internal-egress"),
            network=network.vpc["name"],
            direction="EGRESS",
            priority=ALLOW_PRIORITY,
            destination_ranges=own,
            allow=[{"protocol": "all"}],
        ),
    ]
    return Subnet(subnetwork["id"], PODS, SERVICES, ranges.pods, tuple(rules))


def _deny_egress(graph: Graph, env: Environment, vpc: Resource) -> Resource:
    return graph.add(
        "google_compute_firewall",
        "deny-egress",
        name=cloud_name(env, "deny-egress"),
        network=vpc["name"],
        direction="EGRESS",
        priority=DENY_PRIORITY,
        destination_ranges=["0.0.0.0/0"],
        deny=[{"protocol": "all"}],
        log_config={"metadata": "INCLUDE_ALL_METADATA"},
    )


def _egress(
    graph: Graph,
    env: Environment,
    vpc: Resource,
    name: str,
    ranges: Iterable[str],
    *,
    ports: Sequence[str] = (),
) -> Resource:
    """Let traffic out to some ranges: TCP to some ports, or all of it."""
    allowed = {"protocol": "tcp", "ports": list(ports)} if ports else {"protocol": "all"}
    return graph.add(
        "google_compute_firewall",
        name,
        name=cloud_name(env, name),
        network=vpc["name"],
        direction="EGRESS",
        priority=ALLOW_PRIORITY,
        destination_ranges=sorted(ranges),
        allow=[allowed],
    )


def _internet(graph: Graph, env: Environment, vpc: Resource) -> list[Resource]:
    """The way to the internet: a route, Cloud NAT in each region, and leave to go there."""
    regions = sorted({env.cluster_region(cluster) for cluster in clusters(env).values()})
    return [
        add_default_route(graph, env, vpc),
        _egress(graph, env, vpc, "internet", ["0.0.0.0/0"]),
        *(_nat(graph, env, vpc, region) for region in regions),
    ]


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
