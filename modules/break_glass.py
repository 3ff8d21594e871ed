"""Emergency access: rights that nobody has, until one asks with a reason and another approves.

An entitlement of Privileged Access Manager on the environment's project says who may ask for which roles, for
how long at most, and who must approve. Nobody approves what they asked for themselves, an answer is due
within a day, and the roles go away by themselves (IAM docs, "Privileged Access Manager overview", "Approve or
deny grants"). Both who asks and who approves give a reason, which the audit logs keep.

The service's agent changes the project's IAM policy when a grant starts and ends. There is one agent for the
organization, whatever the entitlement is on, and it must be let into the project before an entitlement can be
made (IAM docs, "Privileged Access Manager permissions and setup"). Its role on this one project is granted
where the blueprint says which organization that is; otherwise somebody sets the service up above the project.

The foundation holds the entitlement, so that no pipeline of an environment can let somebody in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.naming import terraform_name
from groundplan.modules.graph import Graph, Reference, Resource, text
from groundplan.modules.people import normalised
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment

ENTITLEMENT = "break-glass"  #: its name in the project
#: The smallest role with what the agent needs: it reads and sets the IAM policy of a project.
AGENT_ROLE = "roles/privilegedaccessmanager.projectServiceAgent"


def add_break_glass(
    graph: Graph,
    env: Environment,
    project: str | Reference,
    organization: str | None,
    services: Services,
    caller: Services,
) -> None:
    """Add the emergency access of one environment, if it has one.

    Args:
        graph: the foundation's, or the environment's where there is no foundation.
        env: the environment.
        project: its project.
        organization: number of the organization that the project is in, where the blueprint says so.
        services: the APIs of that project.
        caller: the APIs of the project that calls count against.
    """
    emergency = env.access.break_glass
    if emergency is None:
        return
    needs = [*services.needs("privilegedaccessmanager"), *caller.needs("privilegedaccessmanager")]
    with graph.at("access", "break_glass"):
        agent = _let_agent_in(graph, env, project, organization, needs) if organization else []
        graph.add(
            "google_privileged_access_manager_entitlement",
            env.name,
            parent=text("projects/", project),
            location="global",
            entitlement_id=ENTITLEMENT,
            max_request_duration=f"{emergency.max_seconds}s",
            eligible_users=[{"principals": sorted({normalised(one) for one in emergency.members})}],
            privileged_access={
                "gcp_iam_access": {
                    "resource": text("//cloudresourcemanager.googleapis.com/projects/", project),
                    "resource_type": "cloudresourcemanager.googleapis.com/Project",
                    "role_bindings": [{"role": role} for role in sorted(set(emergency.roles))],
                }
            },
            requester_justification_config={"unstructured": {}},
            approval_workflow={
                "manual_approvals": {
                    "require_approver_justification": True,
                    "steps": [
                        {
                            "approvals_needed": 1,
                            "approvers": {
                                "principals": sorted({normalised(one) for one in emergency.approvers})
                            },
                        }
                    ],
                }
            },
            depends_on=[*needs, *agent],
        )


def _let_agent_in(
    graph: Graph, env: Environment, project: str | Reference, organization: str, needs: list[Resource]
) -> list[Resource]:
    member = f"serviceAccount:service-org-{organization}@gcp-sa-pam.iam.gserviceaccount.com"
    return [
        graph.add(
            "google_project_iam_member",
            terraform_name(env.name, "break-glass-agent"),
            project=project,
            role=AGENT_ROLE,
            member=member,
            depends_on=needs,
        )
    ]
