"""How pipelines become the identities that plan and apply: Workload Identity Federation, and never a key.

The seed project has one pool, with a provider for each CI system that a repository of the blueprint lives on.
GitHub and GitLab sign tokens for everybody's repositories with one issuer, so a provider always has a
condition: it takes tokens of the blueprint's repositories only (Google Cloud docs, "Configure Workload
Identity Federation with deployment pipelines").

A token says more than it has to match, and each identity is bound to what it is for:

* The planning identity, which only reads, to the repository: any branch, so that pull requests can be
  planned.
* The applying one to repository, branch and CI environment at once. The CI environment is called like the
  environment of the blueprint, so what GitHub or GitLab protect there (reviewers, branches) stands before an
  apply, and a job of one environment cannot become the identity of another.

The three are one attribute, because a grant names one. None of the parts can hold what separates them:
neither a repository nor a git ref has a colon (git docs, git-check-ref-format).

The id of a deleted pool stays reserved for thirty days, so its name has a generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import shorten, suffixed, terraform_name
from groundplan.modules.automation import Task
from groundplan.modules.graph import Graph, Resource, text
from groundplan.modules.project import Project

if TYPE_CHECKING:
    from groundplan.blueprints.model import Automation, Blueprint, Environment

POOL_LIMIT = 32  #: IAM: ids of workload identity pools have 4 to 32 characters
ROLE = "roles/iam.workloadIdentityUser"


@dataclass(frozen=True, slots=True)
class System:
    """What the tokens of a CI system say.

    Attributes:
        title: how people call it.
        issuer: who signs them.
        repository: the claim that names the repository.
        ref: a CEL expression for the git ref.
        branch: what ``ref`` is for a branch, before its name.
    """

    title: str
    issuer: str
    repository: str
    ref: str
    branch: str


#: Sources: GitHub docs, "OpenID Connect reference"; GitLab docs, "OpenID Connect (OIDC) authentication using
#: ID tokens". GitLab's ref has no ``refs/heads/`` before it and says beside it whether it is a branch.
SYSTEMS = {
    "github": System(
        "GitHub",
        "https://token.actions.githubusercontent.com",
        "assertion.repository",
        "assertion.ref",
        "refs/heads/",
    ),
    "gitlab": System(
        "GitLab",
        "https://gitlab.com",
        "assertion.project_path",
        "assertion.ref_type + ':' + assertion.ref",
        "branch:",
    ),
}


@dataclass(frozen=True, slots=True)
class Federation:
    """The pool, and its providers by CI system."""

    pool: Resource
    providers: Mapping[str, Resource]


def repository(automation: Automation) -> tuple[str, str]:
    """The CI system of a repository, and its path there: ``("github", "example/ml-platform")``."""
    if automation.github:
        return "github", automation.github
    return "gitlab", str(automation.gitlab)


def add_federation(graph: Graph, blueprint: Blueprint, seed: Project) -> Federation | None:
    """Add the pool, and a provider for each CI system in use; None if no environment has a repository."""
    used: dict[str, set[str]] = {}
    for env in blueprint.environments.values():
        if env.automation:
            system, path = repository(env.automation)
            used.setdefault(system, set()).add(path)
    if not used or blueprint.foundation is None:
        return None
    pool = graph.add(
        "google_iam_workload_identity_pool",
        "ci",
        project=seed.id,
        workload_identity_pool_id=shorten(
            suffixed(f"ci-{blueprint.name}", blueprint.foundation.generation), POOL_LIMIT
        ),
        display_name="Pipelines",
        description=f"Pipelines that plan and apply {blueprint.name}",
        depends_on=seed.services.needs("iam"),
    )
    return Federation(
        pool, {name: _add_provider(graph, pool, name, used[name], seed) for name in sorted(used)}
    )


def admit(graph: Graph, env: Environment, accounts: Mapping[Task, Resource], federation: Federation) -> None:
    """Let the pipelines of an environment's repository become its identities.

    The role is granted on the two service accounts only: on a project it would open every account in it.
    """
    if env.automation is None:
        return
    system, path = repository(env.automation)
    ref = f"{SYSTEMS[system].branch}{env.automation.branch}"
    admitted: dict[Task, str] = {
        "plan": f"attribute.repository/{path}",
        "apply": f"attribute.deployment/{path}:{ref}:{env.name}",
    }
    for task, account in accounts.items():
        graph.add(
            "google_service_account_iam_member",
            terraform_name(env.name, task, "pipeline"),
            service_account_id=account["name"],
            role=ROLE,
            member=text("principalSet://iam.googleapis.com/", federation.pool["name"], f"/{admitted[task]}"),
            depends_on=[federation.providers[system]],
        )


def _add_provider(graph: Graph, pool: Resource, name: str, repositories: set[str], seed: Project) -> Resource:
    system = SYSTEMS[name]
    environment = "(has(assertion.environment) ? assertion.environment : '')"
    listed = ", ".join(f"'{path}'" for path in sorted(repositories))
    return graph.add(
        "google_iam_workload_identity_pool_provider",
        name,
        project=seed.id,
        workload_identity_pool_id=pool["workload_identity_pool_id"],
        workload_identity_pool_provider_id=name,
        display_name=system.title,
        attribute_mapping={
            "google.subject": "assertion.sub",
            "attribute.repository": system.repository,
            "attribute.deployment": f"{system.repository} + ':' + {system.ref} + ':' + {environment}",
        },
        attribute_condition=f"{system.repository} in [{listed}]",
        oidc={"issuer_uri": system.issuer},
        depends_on=seed.services.needs("sts", "iamcredentials"),
    )
