"""What a pipeline needs for one environment: a place for its state, and identities that plan and apply.

Both identities live in the seed project, outside of what they manage. The planning one reads; the applying
one changes what groundplan makes, in one project. Neither is owner or editor of anything, and neither holds
a role on another environment's project, state or access policy. The applying identity may grant roles, but
by condition only those that nodes and workloads need, so it cannot make itself anything (IAM docs, "Set
limits on granting roles").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from groundplan.blueprints.naming import account_id, terraform_name
from groundplan.facts.roles import PROJECT_IAM_ADMIN, only_grants, roles, short
from groundplan.modules.graph import GcsState, Graph, Lifecycle, Reference, Resource
from groundplan.modules.identity import grantable
from groundplan.modules.project import Project

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment

MONTH = 30 * 86400  #: seconds

Task = Literal["plan", "apply"]
TASKS: tuple[Task, ...] = ("plan", "apply")


@dataclass(frozen=True, slots=True)
class StatePlace:
    """Where one state is: a bucket of its own, or a managed folder in a bucket for several."""

    bucket: Reference
    folder: Reference | None = None


def add_state_bucket(
    graph: Graph, stack: str, state: GcsState, region: str, seed: Project, *, protect: bool
) -> StatePlace:
    """Add a bucket for one stack's state: versioned, never public, never emptied by Terraform."""
    bucket = graph.add(
        "google_storage_bucket",
        terraform_name("state", stack),
        name=state.bucket,
        project=seed.id,
        location=region.upper(),
        storage_class="STANDARD",
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        versioning={"enabled": True},
        soft_delete_policy={"retention_duration_seconds": MONTH},
        force_destroy=False,
        lifecycle=Lifecycle(prevent_destroy=protect),
        depends_on=seed.services.needs("storage"),
    )
    return StatePlace(bucket["name"])


def add_state_folder(graph: Graph, stack: str, state: GcsState, seed: Project) -> StatePlace:
    """Add a managed folder, which has an IAM policy of its own, to an existing bucket for all states."""
    folder = graph.add(
        "google_storage_managed_folder",
        terraform_name("state", stack),
        bucket=state.bucket,
        name=f"{state.prefix}/",
        force_destroy=False,
        depends_on=seed.services.needs("storage"),
    )
    return StatePlace(folder["bucket"], folder["name"])


def add_automation(
    graph: Graph,
    env: Environment,
    project: Project,
    place: StatePlace | None,
    policy: Resource | None,
    seed: Project,
) -> dict[Task, Resource]:
    """Add the identities that plan and apply one environment; task → service account.

    Each gets its roles on the environment's project, state and access policy, and nowhere else.
    """
    accounts: dict[Task, Resource] = {}
    for task in TASKS:
        account = graph.add(
            "google_service_account",
            terraform_name(env.name, task),
            project=seed.id,
            account_id=account_id(env, env.name, task),
            display_name=f"{task.capitalize()} {env.name}",
            depends_on=seed.services.needs("iam"),
        )
        for role in roles().plan if task == "plan" else roles().apply:
            graph.add(
                "google_project_iam_member",
                terraform_name(env.name, task, short(role)),
                project=project.id,
                role=role,
                member=account["member"],
                condition=_condition(env) if role == PROJECT_IAM_ADMIN else None,
                depends_on=project.services.needs("cloudresourcemanager"),
            )
        if place is not None:
            _open(graph, place, terraform_name(env.name, task), roles().state[task], account["member"])
        if policy is not None:
            graph.add(
                "google_access_context_manager_access_policy_iam_member",
                terraform_name(env.name, task),
                name=policy["name"],
                role=roles().access_policy[task],
                member=account["member"],
            )
        accounts[task] = account
    return accounts


def _condition(env: Environment) -> dict[str, str]:
    return {"title": "only-roles-of-nodes-and-workloads", "expression": only_grants(grantable(env))}


def _open(graph: Graph, place: StatePlace, name: str, role: str, member: Reference) -> None:
    """Let an identity use one state."""
    kind = "google_storage_managed_folder_iam_member" if place.folder else "google_storage_bucket_iam_member"
    graph.add(kind, name, bucket=place.bucket, managed_folder=place.folder, role=role, member=member)
