"""The networks of GPUs: VPCs and subnets beside the node's own, one network interface of a node for each.

Sources: Google Cloud docs, "Maximize GPU network bandwidth in GKE Standard mode clusters" (GPUDirect-TCPX
and -TCPXO: a VPC with one subnet for each interface, MTU 8244), "Create a custom AI-optimized GKE cluster"
(RDMA: one VPC for the second gVNIC; one VPC from the zone's RoCE profile, MTU 8896, with a subnet for each
RDMA interface). A network of the profile takes no firewall rules. The others let their own nodes talk, and
nobody else: they have no route to the internet, and the traffic between GPUs is too much for flow logs.

Pods reach the interfaces through Kubernetes objects that name VPC and subnet; ``engines.kubernetes`` writes
them from the same names. GKE wants no secondary range for interfaces that a pod takes whole (GKE docs,
"About multi-network support for Pods", networks of type Device).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from groundplan.blueprints.addresses import cut
from groundplan.blueprints.gpu_networks import GpuNetworks, gpu_networks
from groundplan.blueprints.naming import cloud_key, cloud_name
from groundplan.modules.graph import Graph, Resource
from groundplan.modules.names import stack_name
from groundplan.modules.provisioned import node_pools
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from ipaddress import IPv4Network

    from groundplan.blueprints.model import Cluster, Environment

RDMA = "rdma"  #: what the VPC for RDMA is called; its subnets are ``rdma-0`` and so on, as in Google's guides


@dataclass(frozen=True, slots=True)
class Interface:
    """A further network interface of a node, and what its network is called in the cloud.

    Attributes:
        part: which one: ``1``, ``gvnic-1``, ``rdma-0``.
        network: which VPC: the same, or ``rdma``.
        name: name of the Kubernetes objects for it.
        vpc: name of the VPC.
        subnet: name of the subnet.
        mode: how a pod takes it.
    """

    part: str
    network: str
    name: str
    vpc: str
    subnet: str
    mode: Literal["NetDevice", "RDMA"]


@dataclass(frozen=True, slots=True)
class Fabric:
    """GPU networks that have been added: VPC and subnet of each interface, and their firewall rules."""

    interfaces: tuple[tuple[Resource, Resource], ...]
    rules: tuple[Resource, ...]


def made(cluster: Cluster) -> dict[str, GpuNetworks]:
    """The GPU networks of a cluster's pools, by key."""
    return gpu_networks(cluster, node_pools(cluster).values())


def interfaces(env: Environment, key: str, cluster: Cluster, networks: GpuNetworks) -> list[Interface]:
    """The further interfaces of a node, in the order in which it gets them: gVNICs first."""
    direct = networks.direct
    rdma = direct.rdma_subnets > 0
    plain = [f"gvnic-{number}" if rdma else str(number) for number in range(1, direct.extra_networks + 1)]
    parts = [(part, part) for part in plain] + [(f"{RDMA}-{n}", RDMA) for n in range(direct.rdma_subnets)]

    def name(part: str) -> str:
        return cloud_name(env, cloud_key(key, cluster), networks.key, part)

    return [
        Interface(
            part,
            network,
            f"{networks.key}-{part}",
            name(network),
            name(part),
            "RDMA" if network == RDMA else "NetDevice",
        )
        for part, network in parts
    ]


def add_gpu_networks(
    graph: Graph,
    env: Environment,
    key: str,
    cluster: Cluster,
    ranges: Mapping[str, IPv4Network],
    services: Services,
) -> dict[str, Fabric]:
    """Add the GPU networks of one cluster; by key.

    Args:
        graph: where to.
        env: the environment.
        key: the cluster's key.
        cluster: the cluster.
        ranges: the address range of each network, from the lock file.
        services: the APIs.
    """
    return {
        name: _fabric(graph, env, key, cluster, networks, ranges[name], services)
        for name, networks in made(cluster).items()
    }


def _fabric(
    graph: Graph,
    env: Environment,
    key: str,
    cluster: Cluster,
    networks: GpuNetworks,
    range_: IPv4Network,
    services: Services,
) -> Fabric:
    vpcs: dict[str, Resource] = {}
    pairs: list[tuple[Resource, Resource]] = []
    rules: list[Resource] = []
    found = interfaces(env, key, cluster, networks)
    for interface, cidr in zip(found, cut(range_, networks.subnets), strict=True):
        where = stack_name((key, cluster), networks.key, interface.part)
        if interface.network not in vpcs:
            vpcs[interface.network] = _vpc(graph, env, key, cluster, networks, interface, services)
        vpc = vpcs[interface.network]
        subnetwork = graph.add(
            "google_compute_subnetwork",
            where,
            name=interface.subnet,
            region=env.cluster_region(cluster),
            network=vpc["id"],
            ip_cidr_range=str(cidr),
            stack_type="IPV4_ONLY",
        )
        pairs.append((vpc, subnetwork))
        if interface.mode == "NetDevice":
            rules.append(
                graph.add(
                    "google_compute_firewall",
                    where,
                    name=interface.subnet,
                    network=vpc["name"],
                    direction="INGRESS",
                    source_ranges=[str(cidr)],
                    destination_ranges=[str(cidr)],
                    allow=[{"protocol": protocol} for protocol in ("icmp", "tcp", "udp")],
                )
            )
    return Fabric(tuple(pairs), tuple(rules))


def _vpc(
    graph: Graph,
    env: Environment,
    key: str,
    cluster: Cluster,
    networks: GpuNetworks,
    interface: Interface,
    services: Services,
) -> Resource:
    direct = networks.direct
    zone = f"{env.cluster_region(cluster)}-{networks.zone}"
    profile = f"{zone}-{direct.network_profile}" if interface.network == RDMA else None
    return graph.add(
        "google_compute_network",
        stack_name((key, cluster), networks.key, interface.network),
        name=interface.vpc,
        auto_create_subnetworks=False,
        routing_mode="REGIONAL",
        mtu=direct.mtu,
        network_profile=f"projects/{env.project_id}/global/networkProfiles/{profile}" if profile else None,
        # The profile's networks have none; taking it away from the others keeps GPU traffic inside.
        delete_default_routes_on_create=None if profile else True,
        depends_on=services.needs("compute"),
    )
