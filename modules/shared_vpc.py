"""What GKE needs to work in a network of another project, a Shared VPC.

The environment's project is attached to the host project, and three grants are made there before the first
cluster (GKE docs, "Setting up clusters with Shared VPC"): GKE's service agent may use the host's network
for clusters and, on the subnets, place nodes in them; so may the agent of Google APIs, which makes the
instance groups. Without them creating a cluster fails without saying why.

Only an administrator may grant roles in the host project, so the foundation makes this; a blueprint without
one makes it with the environment. Either way it goes after the clusters when they are destroyed. Agents
exist only once their API was enabled and they were asked for.

The network's owner provides a subnet for each cluster, in its region, called as groundplan would call it or
as the blueprint says; and, since GKE may not change firewall rules there, the rules that GKE's guide lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import cloud_key, cloud_name, terraform_name
from groundplan.modules.graph import Graph, Reference, Resource, Text, text
from groundplan.modules.names import stack_name
from groundplan.modules.provisioned import clusters
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Cluster, Environment

GKE = "container.googleapis.com"
HOST_AGENT = "roles/container.hostServiceAgentUser"
NETWORK_USER = "roles/compute.networkUser"


@dataclass(frozen=True, slots=True)
class ExistingSubnet:
    """A cluster's subnet in somebody else's network."""

    id: str
    pods: str
    services: str


def is_shared(env: Environment) -> bool:
    """Whether the environment uses a network of another project."""
    shared = env.network.existing
    return shared is not None and shared.host_project != env.project_id


def existing_subnet(env: Environment, key: str, cluster: Cluster) -> ExistingSubnet:
    """The subnet of a cluster: as the blueprint says, else called as if groundplan had made it."""
    from groundplan.blueprints.model.environment import ExistingSubnet as Written

    shared = env.network.existing
    assert shared is not None, "only asked of environments in somebody else's network"
    written = shared.subnets.get(key) or Written()
    name = written.name or cloud_name(env, cloud_key(key, cluster))
    where = f"projects/{shared.host_project}/regions/{env.cluster_region(cluster)}"
    return ExistingSubnet(f"{where}/subnetworks/{name}", written.pods, written.services)


def add_shared_vpc(
    graph: Graph,
    env: Environment,
    services: Services,
    *,
    project: str | Reference,
    number: str | Reference,
    prefix: tuple[str, ...] = (),
) -> tuple[Resource, ...]:
    """Attach the project to the host of its network, and grant there what GKE needs; what clusters wait for.

    Args:
        graph: where to.
        env: the environment.
        services: the enabled APIs of its project.
        project: its project.
        number: the project's number.
        prefix: what resource names begin with, in a stack with several environments.
    """
    shared = env.network.existing
    if shared is None or not is_shared(env):
        return ()
    host = shared.host_project
    attachment = graph.add(
        "google_compute_shared_vpc_service_project",
        terraform_name(*prefix, "network"),
        host_project=host,
        service_project=project,
        depends_on=services.needs("compute"),
    )
    gke = graph.add(
        "google_project_service_identity",
        terraform_name(*prefix, "gke"),
        provider="google-beta",
        project=project,
        service=GKE,
        depends_on=[_container(graph, services, project, prefix)],
    )
    agent = graph.add(
        "google_project_iam_member",
        terraform_name(*prefix, "host-agent"),
        project=host,
        role=HOST_AGENT,
        member=gke["member"],
        depends_on=[attachment, *services.needs("cloudresourcemanager")],
    )
    members: dict[str, Reference | Text] = {
        "gke": gke["member"],
        "google-apis": text("serviceAccount:", number, "@cloudservices.gserviceaccount.com"),
    }
    users = [
        graph.add(
            "google_compute_subnetwork_iam_member",
            stack_name(*prefix, (key, cluster), "network-user", name),
            project=host,
            region=env.cluster_region(cluster),
            subnetwork=existing_subnet(env, key, cluster).id,
            role=NETWORK_USER,
            member=member,
            depends_on=[attachment],
        )
        for key, cluster in sorted(clusters(env).items())
        for name, member in members.items()
    ]
    return (attachment, agent, *users)


def _container(
    graph: Graph, services: Services, project: str | Reference, prefix: tuple[str, ...]
) -> Resource:
    """GKE's API, which its agent comes with. The foundation leaves APIs to environments, all but this one."""
    if GKE in services.enabled:
        return services.enabled[GKE]
    return graph.add(
        "google_project_service",
        terraform_name(*prefix, "container"),
        project=project,
        service=GKE,
        disable_on_destroy=False,
        disable_dependent_services=False,
        depends_on=services.needs("serviceusage", "cloudresourcemanager"),
    )
