"""The machine identities of an environment, each with exactly the roles it needs.

Nodes run as a service account of their own, never as the default one, with the one role that GKE's docs
give for it ("Use least privilege service accounts"). It gets no role on any bucket: every pod of a node
could use it.

Workloads are Kubernetes service accounts. Google Cloud knows them by a principal made of the project's
number, the project's workload identity pool, the namespace and the name (GKE docs, "Workload Identity
Federation for GKE: principal identifiers"), so no Google service account stands between. The pool exists
only after the first cluster of the project, so every grant depends on the clusters.

All grants are additive members; what others were granted stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import account_id, cloud_key, kubernetes_account
from groundplan.facts.roles import roles, short
from groundplan.modules.graph import Graph, Reference, Resource, Text, text
from groundplan.modules.names import stack_name
from groundplan.modules.provisioned import node_pools
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Cluster, Environment, Workload

BUCKET = "buckets/"


@dataclass(frozen=True, slots=True)
class NodeAccount:
    """The service account of a cluster's nodes, and the grants that must exist before a node starts."""

    account: Resource
    grants: tuple[Resource, ...]


def workload_pool(env: Environment) -> str:
    """The workload identity pool that GKE makes for the project."""
    return f"{env.project_id}.svc.id.goog"


def add_node_account(
    graph: Graph, env: Environment, key: str, cluster: Cluster, services: Services
) -> NodeAccount:
    """Add the service account of one cluster's nodes.

    Nodes that stream container images call the API for it in the name of their project.
    """
    streaming = any(pool.preload for pool in node_pools(cluster).values())
    account = graph.add(
        "google_service_account",
        stack_name((key, cluster), "nodes"),
        account_id=account_id(env, cloud_key(key, cluster), "nodes"),
        display_name=f"Nodes of cluster {key}",
        depends_on=services.needs("iam"),
    )
    grants = [
        graph.add(
            "google_project_iam_member",
            stack_name((key, cluster), "nodes", short(role)),
            project=env.project_id,
            role=role,
            member=account["member"],
            depends_on=services.needs("cloudresourcemanager"),
        )
        for role in (*roles().node, *(roles().image_streaming if streaming else ()))
    ]
    return NodeAccount(account, tuple(grants))


def add_workloads(
    graph: Graph,
    env: Environment,
    buckets: Mapping[str, Resource],
    clusters: Sequence[Resource],
    project_number: str | Reference,
) -> None:
    """Grant each workload its roles, each on the single bucket that it is for."""
    for key, workload in env.workloads.items():
        with graph.at("workloads", key):
            member = principal(env, key, workload, project_number)
            for bucket, role in bucket_roles(workload).items():
                graph.add(
                    "google_storage_bucket_iam_member",
                    stack_name((key, workload), (bucket, env.storage.buckets[bucket])),
                    bucket=buckets[bucket]["name"],
                    role=role,
                    member=member,
                    depends_on=clusters,
                )


def bucket_roles(workload: Workload) -> dict[str, str]:
    """Bucket key → role. Who may write may also read, so there is one role for each bucket."""
    known = roles().bucket
    found = dict.fromkeys(workload.reads, known["read"]) | dict.fromkeys(workload.writes, known["write"])
    return {path.removeprefix(BUCKET): role for path, role in found.items() if path.startswith(BUCKET)}


def principal(env: Environment, key: str, workload: Workload, project_number: str | Reference) -> str | Text:
    """The IAM principal of a workload's Kubernetes service account."""
    before = "principal://iam.googleapis.com/projects/"
    after = (
        f"/locations/global/workloadIdentityPools/{workload_pool(env)}"
        f"/subject/ns/{workload.namespace}/sa/{kubernetes_account(key, workload)}"
    )
    if isinstance(project_number, str):
        return f"{before}{project_number}{after}"
    return text(before, project_number, after)
