"""The stack of one environment."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from groundplan.facts.services import Group, api, needed
from groundplan.modules.bigquery import add_datasets
from groundplan.modules.binary_authorization import add_image_policy
from groundplan.modules.buckets import add_buckets, bucket_targets
from groundplan.modules.cluster import Gke, add_cluster
from groundplan.modules.crossings import add_crossing
from groundplan.modules.gpu_networks import add_gpu_networks
from groundplan.modules.graph import Graph, Reference, Resource, Stack
from groundplan.modules.identity import add_node_account, add_workloads
from groundplan.modules.keys import add_keys
from groundplan.modules.names import labels
from groundplan.modules.network import Network, add_network, add_subnet
from groundplan.modules.node_pool import add_node_pools
from groundplan.modules.people import open_to_people
from groundplan.modules.perimeter import add_perimeter, project_numbers
from groundplan.modules.provisioned import clusters, node_pools
from groundplan.modules.registry import add_repositories, let_nodes_pull
from groundplan.modules.secrets import add_secrets
from groundplan.modules.services import Services, add_services
from groundplan.modules.shared_vpc import add_shared_vpc, is_shared
from groundplan.modules.targets import Targets
from groundplan.stacks.oversight import add_oversight, oversight_apis
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
    used = apis(env) | ({*needed(*oversight_apis(env))} if not blueprint.foundation else set())
    services = add_services(graph, used)
    number = partial(project_number, graph, env, lock, services)
    keys = add_keys(graph, env, number, services)
    buckets = add_buckets(graph, env, keys, services)
    targets = {
        "bigquery": add_datasets(graph, env, keys, services),
        "buckets": bucket_targets(env, buckets),
        "registry": add_repositories(graph, env, keys, services),
        "secrets": add_secrets(graph, env, keys, services),
    }
    open_to_people(graph, env, targets)
    add_image_policy(graph, blueprint, env, services)
    kept = lock.environment(env.name)
    made: list[Gke] = []
    network: Network | None = None
    if clusters(env):
        attached = attach(graph, blueprint, env, lock, services)
        network = add_network(graph, env, services, used=used, kept=kept, attached=attached)
        for key, cluster in clusters(env).items():
            with graph.at("clusters", key):
                disks = keys.use("disks", env.cluster_region(cluster))
                account = add_node_account(graph, env, key, cluster, services, disks)
                subnet = add_subnet(graph, env, key, cluster, network, kept.ranges[key])
                ranges = kept.gpu_networks.get(key, {})
                fabrics = add_gpu_networks(graph, env, key, cluster, ranges, services)
                gke = add_cluster(graph, env, key, cluster, network, subnet, account, keys, services)
                add_node_pools(graph, env, gke, fabrics, services)
                made.append(gke)
    let_nodes_pull(graph, targets["registry"], [(gke.key, gke.cluster, gke.account) for gke in made])
    if made and env.workloads:
        add_workloads(graph, env, targets, [gke.resource for gke in made], number())
    open_crossings(graph, blueprint, env, lock, targets, services)
    if not blueprint.foundation:
        add_oversight(graph, blueprint, env, env.project_id, number, services, services)
    surround(graph, blueprint, env, lock, services, network)
    add_outputs(graph, buckets, made)
    return frame(blueprint, env.name, graph)


def apis(env: Environment) -> set[str]:
    """The APIs that follow from what is used, and those that the blueprint names."""
    groups: list[Group] = ["base"]
    groups += ["network", "cluster"] if clusters(env) else []
    groups += ["endpoint"] if clusters(env) and env.network.google_apis == "psc" else []
    groups += ["perimeter"] if env.perimeter.mode != "none" else []
    pools = [pool for cluster in clusters(env).values() for pool in node_pools(cluster).values()]
    groups += ["image_streaming"] if any(pool.preload for pool in pools) else []
    groups += ["buckets"] if env.storage.buckets else []
    groups += ["bigquery"] if env.storage.bigquery else []
    groups += ["registry"] if env.registry else []
    groups += ["secrets"] if env.secrets else []
    groups += ["cmek"] if env.encryption.mode == "cmek" else []
    return {*needed(*groups), *(api(name) for name in env.apis)}


def project_number(graph: Graph, env: Environment, lock: Lock, services: Services) -> str | Reference:
    """The number that principals are made of: from the lock file, so that plans know it, else looked up."""
    return lock.environment(env.name).project_number or look_up(graph, "this", env.project_id, services)


def look_up(graph: Graph, name: str, project: str, services: Services) -> Reference:
    """The number of a project, which whoever applies must be allowed to see; looked up once."""
    address = f"data.google_project.{name}"
    if address not in graph:
        needs = services.needs("cloudresourcemanager")
        graph.data("google_project", name, project_id=project, depends_on=needs)
    return graph[address]["number"]


def attach(
    graph: Graph, blueprint: Blueprint, env: Environment, lock: Lock, services: Services
) -> tuple[Resource, ...]:
    """What lets the project use another project's network, where no foundation has made it before."""
    if blueprint.foundation or not is_shared(env):
        return ()
    number = project_number(graph, env, lock, services)
    with graph.at("network"):
        return add_shared_vpc(graph, env, services, project=env.project_id, number=number)


def open_crossings(
    graph: Graph, blueprint: Blueprint, env: Environment, lock: Lock, targets: Targets, services: Services
) -> None:
    """Let those in who may read something of this environment."""
    from groundplan.blueprints.renames import remembered

    for key, crossing in sorted(blueprint.crossings.items()):
        if crossing.from_ == env.name:
            kept = lock.environment(crossing.to)
            reader = remembered(blueprint, blueprint.environments[crossing.to], kept.renamed)
            with graph.at("crossings", key):
                number = kept.project_number or look_up(graph, reader.project_id, reader.project_id, services)
                add_crossing(graph, key, crossing, targets, reader, number)


def surround(
    graph: Graph,
    blueprint: Blueprint,
    env: Environment,
    lock: Lock,
    services: Services,
    network: Network | None,
) -> None:
    """The perimeter around all of it, which comes last and goes first."""
    if env.perimeter.mode == "none":
        return
    known = {
        other.project_id: number
        for name, other in blueprint.environments.items()
        if (number := lock.environment(name).project_number)
    }
    add_perimeter(
        graph,
        env,
        policy=env.perimeter.access_policy or lock.environment(env.name).access_policy,
        number=project_numbers(
            env.project_id,
            project_number(graph, env, lock, services),
            known,
            lambda project: look_up(graph, project, project, services),
        ),
        used=services.enabled,
        seed=blueprint.foundation.project if blueprint.foundation else None,
        depends_on=[
            *services.needs("accesscontextmanager"),
            *graph.of_type("google_service_account"),
            *(network.ways_out if network else ()),
        ],
    )


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
