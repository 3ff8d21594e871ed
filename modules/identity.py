"""The machine identities of an environment, each with exactly the roles it needs, on the single things.

Nodes run as a service account of their own, never as the default one, with the one role that GKE's docs
give for it ("Use least privilege service accounts"). It gets no role on any bucket: every pod of a node
could use it.

Workloads are Kubernetes service accounts. Google Cloud knows them by a principal made of the project's
number, the project's workload identity pool, the namespace and the name (GKE docs, "Workload Identity
Federation for GKE: principal identifiers"), so no Google service account stands between. The pool exists
only after the first cluster of the project, so every grant depends on the clusters.

A bucket that is mounted through Cloud Storage FUSE needs other permissions than one that is read through the
API: the bucket itself, and the folders of a hierarchical namespace. No predefined role has them without more,
so the project gets two roles of its own.

All grants are additive members; what others were granted stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from groundplan.blueprints.naming import account_id, cloud_key, kubernetes_account
from groundplan.facts.roles import JOB_USER, roles, short
from groundplan.modules.graph import Graph, Reference, Resource, Text, text
from groundplan.modules.keys import GOOGLES_KEYS, Encryption
from groundplan.modules.names import stack_name
from groundplan.modules.provisioned import node_pools
from groundplan.modules.services import Services
from groundplan.modules.targets import GRANTS, Targets

if TYPE_CHECKING:
    from groundplan.blueprints.model import Cluster, Environment, Workload

BUCKET = "buckets/"

Task = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class NodeAccount:
    """The service account of a cluster's nodes, and the grants that must exist before a node starts.

    Their boot disks are encrypted with ``disks``.
    """

    account: Resource
    grants: tuple[Resource, ...]
    disks: Encryption = GOOGLES_KEYS


def workload_pool(env: Environment) -> str:
    """The workload identity pool that GKE makes for the project."""
    return f"{env.project_id}.svc.id.goog"


def add_node_account(
    graph: Graph,
    env: Environment,
    key: str,
    cluster: Cluster,
    services: Services,
    disks: Encryption = GOOGLES_KEYS,
) -> NodeAccount:
    """Add the service account of one cluster's nodes, whose boot disks are encrypted with ``disks``.

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
    return NodeAccount(account, (*grants, *disks.grants), disks)


def add_workloads(
    graph: Graph,
    env: Environment,
    targets: Targets,
    clusters: Sequence[Resource],
    project_number: str | Reference,
) -> None:
    """Grant each workload its roles, on the single things that it is for and on the project."""
    custom = _add_mount_roles(graph, env)
    for key, workload in env.workloads.items():
        with graph.at("workloads", key):
            member = principal(env, key, workload, project_number)
            for path, task in tasks(workload).items():
                kind, _, name = path.partition("/")
                if kind not in GRANTS:
                    continue  # disks and file systems: whoever runs in the cluster may mount them
                target = targets[kind][name]
                for number, role in enumerate(roles().things[kind][task]):
                    mounted = custom[task]["name"] if path in workload.mounts else None
                    graph.add(
                        GRANTS[kind],
                        stack_name((key, workload), (name, target.item), *([short(role)] if number else [])),
                        role=mounted or role,
                        member=member,
                        depends_on=clusters,
                        **target.attributes,
                    )
            for role in project_roles(workload):
                graph.add(
                    "google_project_iam_member",
                    stack_name("workload", (key, workload), short(role)),
                    project=env.project_id,
                    role=role,
                    member=member,
                    depends_on=clusters,
                )


def tasks(workload: Workload) -> dict[str, Task]:
    """Reference → what the workload does with it. Who may write may also read."""
    reads: dict[str, Task] = dict.fromkeys(workload.reads, "read")
    return reads | dict.fromkeys(workload.writes, "write")


def project_roles(workload: Workload) -> list[str]:
    """The roles of a workload on the project: those that are written, and leave to run its queries."""
    queries = any(path.startswith("bigquery/") for path in tasks(workload))
    return sorted({*workload.roles, *([JOB_USER] if queries else [])})


def grantable(env: Environment) -> tuple[str, ...]:
    """The roles that the environment's own stack grants on its project, to nodes and workloads; sorted."""
    asked = {role for workload in env.workloads.values() for role in project_roles(workload)}
    return tuple(sorted({*roles().grantable, *asked}))


def _add_mount_roles(graph: Graph, env: Environment) -> dict[Task, Resource]:
    """Add the project's own roles for buckets that are mounted, those that are used."""
    used = {
        task
        for workload in env.workloads.values()
        for path, task in tasks(workload).items()
        if path in workload.mounts and path.startswith(BUCKET)
    }
    made: dict[Task, Resource] = {}
    for task in sorted(used):
        made[task] = graph.add(
            "google_project_iam_custom_role",
            f"mounted-{task}",
            role_id=f"groundplanMounted{task.capitalize()}",
            title=f"{task.capitalize()} mounted buckets",
            description="Buckets that are mounted through Cloud Storage FUSE.",
            permissions=sorted(_mount_permissions(task)),
            stage="GA",
        )
    return made


def _mount_permissions(task: Task) -> Iterator[str]:
    known = roles().mounted
    yield from known["read"]
    if task == "write":
        yield from known["write"]


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
