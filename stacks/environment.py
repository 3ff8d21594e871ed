"""The stack of one environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.facts.services import Group, api, needed
from groundplan.modules.buckets import add_buckets
from groundplan.modules.cluster import Gke, add_cluster
from groundplan.modules.gpu_networks import add_gpu_networks
from groundplan.modules.graph import Graph, Reference, Resource, Stack
from groundplan.modules.identity import add_node_account, add_workloads
from groundplan.modules.names import labels
from groundplan.modules.network import add_network, add_subnet
from groundplan.modules.node_pool import add_node_pools
from groundplan.modules.provisioned import clusters, node_pools
from groundplan.modules.services import Services, add_services
from groundplan.stacks.state import frame

if TYPE_CHECKING:
    from groundplan.blueprints.lock import Lock
    from groundplan.blueprints.model import Blueprint, Environment


def environment(blueprint: Blueprint, env: Environment, lock: Lock) -> Stack:
    """Everything inside one environment's project, and nothing of any other environment.

    Args:
        blueprint: whose platform it is.
        env: the environment.
        lock: its address ranges, and the project's number where an apply has learned it.
    """
    graph = Graph(project=env.project_id, region=env.region, labels=labels(env))
    services = add_services(graph, apis(env))
    buckets = add_buckets(graph, env, services)
    kept = lock.environment(env.name)
    made: list[Gke] = []
    if clusters(env):
        network = add_network(graph, env, services)
        for key, cluster in clusters(env).items():
            with graph.at("clusters", key):
                account = add_node_account(graph, env, key, cluster, services)
                subnet = add_subnet(graph, env, key, cluster, network, kept.ranges[key])
                ranges = kept.gpu_networks.get(key, {})
                fabrics = add_gpu_networks(graph, env, key, cluster, ranges, services)
                gke = add_cluster(graph, env, key, cluster, network, subnet, account, services)
                add_node_pools(graph, env, gke, fabrics, services)
                made.append(gke)
    if made and env.workloads:
        number = project_number(graph, env, lock, services)
        add_workloads(graph, env, buckets, [gke.resource for gke in made], number)
    add_outputs(graph, buckets, made)
    return frame(blueprint, env.name, graph)


def apis(env: Environment) -> set[str]:
    """The APIs that follow from what is used, and those that the blueprint names."""
    groups: list[Group] = ["base"]
    groups += ["network", "cluster"] if clusters(env) else []
    pools = [pool for cluster in clusters(env).values() for pool in node_pools(cluster).values()]
    groups += ["image_streaming"] if any(pool.preload for pool in pools) else []
    groups += ["buckets"] if env.storage.buckets else []
    return {*needed(*groups), *(api(name) for name in env.apis)}


def project_number(graph: Graph, env: Environment, lock: Lock, services: Services) -> str | Reference:
    """The number that principals are made of: from the lock file, so that plans know it, else looked up."""
    known = lock.environment(env.name).project_number
    if known is not None:
        return known
    project = graph.data(
        "google_project", "this", project_id=env.project_id, depends_on=services.needs("cloudresourcemanager")
    )
    return project["number"]


def add_outputs(graph: Graph, buckets: dict[str, Resource], made: list[Gke]) -> None:
    """What people and pipelines ask for afterwards."""
    found = {
        gke.key: {
            "name": gke.resource["name"],
            "location": gke.region,
            "endpoint": gke.resource["control_plane_endpoints_config[0].dns_endpoint_config[0].endpoint"],
            "node_service_account": gke.account.account["email"],
        }
        for gke in made
    }
    graph.output(
        "clusters", found, "Cluster → name, location, DNS name of its control plane, account of its nodes"
    )
    graph.output(
        "buckets", {key: bucket["name"] for key, bucket in buckets.items()}, "Bucket → name in the cloud"
    )
