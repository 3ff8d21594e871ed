"""People and workloads: who may be named, and which roles may be given away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from groundplan.blueprints.model import Environment
from groundplan.blueprints.rules.base import (
    LANGUAGE,
    BlueprintView,
    EnvironmentView,
    Problem,
    blueprint_rule,
    environment_rule,
)
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import listed, quoted
from groundplan.facts.roles import roles

IAM = "Google Cloud docs, IAM: principal identifiers, basic roles"
PAM = "Google Cloud docs, IAM: create entitlements in Privileged Access Manager"
LIMITS = "Google Cloud docs, IAM: set limits on granting roles (at most ten roles in one condition)"

PERSONAS = ("operators", "ml_engineers", "data_scientists", "auditors")
PUBLIC = ("allUsers", "allAuthenticatedUsers")
BASIC = ("roles/owner", "roles/editor", "roles/viewer")
#: Who has one of these can get every other role: by granting it, or by acting as somebody who has it.
ESCALATING = (
    "roles/iam.securityAdmin",
    "roles/iam.serviceAccountKeyAdmin",
    "roles/iam.serviceAccountTokenCreator",
    "roles/iam.serviceAccountUser",
    "roles/iam.workloadIdentityUser",
    "roles/resourcemanager.projectIamAdmin",
)
MOST = 10  #: roles in one condition
#: What the stack of an environment grants on its project besides: to nodes, and to who runs queries.
ALREADY = len(roles().grantable) + 1
_MACHINE = re.compile(
    r"serviceAccount:[^@]+@(?P<account>[a-z0-9.:-]+)\.iam\.gserviceaccount\.com"
    r"|serviceAccount:(?P<old>[a-z0-9.:-]+)\.svc\.id\.goog\["
    r"|serviceAccount:(?P<engine>[a-z0-9:-]+)@appspot\.gserviceaccount\.com"
    r"|principal(Set)?://\S*/workloadIdentityPools/(?P<pool>[a-z0-9.:-]+)\.svc\.id\.goog/"
)
_PERSON = re.compile(r"(user|group|domain):([^@\s]+@)?(?P<domain>[^@\s]+)")


@environment_rule("AC001", "nothing is open to everybody", source=IAM)
def public(view: EnvironmentView) -> Iterator[Problem]:
    """`allAuthenticatedUsers` is everybody who has any Google account, not everybody of an organization."""
    for path, principal in principals(view.environment):
        if principal in PUBLIC:
            hint = "Name a group: group:NAME@DOMAIN."
            yield Problem(
                path, f"`{principal}` is everybody on the internet", hint, at_key=path[-1] == principal
            )


@environment_rule("AC002", "basic roles are not given away", source=IAM)
def basic(view: EnvironmentView) -> Iterator[Problem]:
    """Owner, Editor and Viewer reach every service of the project, its data and secrets among them."""
    for path, role in given_roles(view.environment):
        if role in BASIC:
            yield Problem(
                path, f"`{role}` reaches everything in the project", "Name the roles that are needed."
            )


@blueprint_rule("AC003", "machine identities stay in their environment", source=LANGUAGE)
def machines_apart(view: BlueprintView) -> Iterator[Problem]:
    """What an identity has in one environment it takes to the other, and no crossing declares that way."""
    owners = {env.project_id: name for name, env in view.blueprint.environments.items()}
    for name, environment in view.blueprint.environments.items():
        for path, principal in principals(environment):
            other = owners.get(machine_project(principal) or "", name)
            if other != name:
                yield Problem(
                    ("environments", name, *path),
                    f"{quoted(principal)} is an identity of `{other}`",
                    f"Give `{name}` an identity of its own, or declare what crosses under `crossings`.",
                    at_key=path[-1] == principal,
                )


@blueprint_rule("AC004", "people come from known domains", source=IAM, severity="warning")
def outsiders(view: BlueprintView) -> Iterator[Problem]:
    """A misspelt domain gives rights to strangers.

    The domain that most people here have counts as known, and those under `external.domains`.
    """
    named = [
        (("environments", name, *path), principal, match["domain"].lower())
        for name, environment in view.blueprint.environments.items()
        for path, principal in principals(environment)
        if (match := _PERSON.fullmatch(principal))
    ]
    counted = Counter(domain for *_, domain in named)
    home = {min(counted, key=lambda domain: (-counted[domain], domain))} if counted else set()
    known = home | {domain.lower() for domain in view.blueprint.external.domains}
    for path, principal, domain in named:
        if domain not in known:
            yield Problem(
                path,
                f"{quoted(principal)} is of another domain than most: {domain}",
                f"If that is meant, add {domain} to `external: {{domains: […]}}`.",
                at_key=path[-1] == principal,
            )


@environment_rule(
    "AC005",
    "people get no role that leads to every other one",
    source=IAM,
    severity="warning",
    basis="unwise",
)
def escalation(view: EnvironmentView) -> Iterator[Problem]:
    """Who may grant roles, or act as any service account, has every role, and nothing here shows it."""
    for principal, granted in view.environment.access.grants.items():
        for index, role in enumerate(granted):
            if role in ESCALATING:
                yield Problem(
                    ("access", "grants", principal, index),
                    f"`{role}` leads to every other role",
                    "Grant the role that is needed in the end.",
                )


@environment_rule("AC006", "workloads administer nothing", source=LANGUAGE, basis="unwise")
def workload_roles(view: EnvironmentView) -> Iterator[Problem]:
    """Whoever can run a pod as a workload has its roles: the project is as safe as the least safe image."""
    for name, workload in view.environment.workloads.items():
        for index, role in enumerate(workload.roles):
            if role.lower().endswith("admin") or role in ESCALATING:
                yield Problem(
                    ("workloads", name, "roles", index),
                    f"`{role}` administers",
                    "Use `reads` and `writes`, or a role that only uses something.",
                )


@environment_rule("AC007", "an environment's stack grants few roles on its project", source=LIMITS)
def few_roles(view: EnvironmentView) -> Iterator[Problem]:
    """Its pipeline may grant, by condition, the roles of nodes and workloads only; a condition takes ten."""
    asked: dict[str, Path] = {}
    for name, workload in view.environment.workloads.items():
        for index, role in enumerate(workload.roles):
            asked.setdefault(role, ("workloads", name, "roles", index))
    for path in list(asked.values())[MOST - ALREADY :]:
        yield Problem(
            path,
            f"workloads have {len(asked)} different roles on the project; {MOST - ALREADY} are possible",
            "Use `reads` and `writes`, which grant on the single thing, or fewer roles.",
        )


@environment_rule("AC009", "emergency access names who asks, who approves, and what for", source=PAM)
def whole_emergency(view: EnvironmentView) -> Iterator[Problem]:
    """An entitlement without anybody who may ask, or approve, or without a role, is refused."""
    emergency = view.environment.access.break_glass
    for field in ("members", "approvers", "roles") if emergency else ():
        if not getattr(emergency, field):
            yield Problem(("access", "break_glass", field), f"`{field}` is empty", "Name one at least.")


@environment_rule("AC008", "who approves an emergency is not who asks", source=LANGUAGE, severity="warning")
def own_approval(view: EnvironmentView) -> Iterator[Problem]:
    """An approval by the one who asks stops nobody."""
    emergency = view.environment.access.break_glass
    for index, approver in enumerate(emergency.approvers if emergency else ()):
        if emergency and set(emergency.members) <= {approver}:
            yield Problem(
                ("access", "break_glass", "approvers", index),
                f"{quoted(approver)} approves what it asks for",
                f"Name somebody else than {listed(list(emergency.members), 'and')}.",
            )


def principals(environment: Environment) -> Iterator[tuple[Path, str]]:
    """Every principal that the environment gives rights to, with its path."""
    access = environment.access
    for persona in PERSONAS:
        for index, principal in enumerate(getattr(access, persona)):
            yield ("access", persona, index), principal
    for principal in access.grants:
        yield ("access", "grants", principal), principal
    if access.break_glass:
        for field in ("members", "approvers"):
            for index, principal in enumerate(getattr(access.break_glass, field)):
                yield ("access", "break_glass", field, index), principal


def given_roles(environment: Environment) -> Iterator[tuple[Path, str]]:
    """Every role that is written, with its path."""
    access = environment.access
    for principal, granted in access.grants.items():
        for index, role in enumerate(granted):
            yield ("access", "grants", principal, index), role
    for index, role in enumerate(access.break_glass.roles if access.break_glass else ()):
        yield ("access", "break_glass", "roles", index), role
    for name, workload in environment.workloads.items():
        for index, role in enumerate(workload.roles):
            yield ("workloads", name, "roles", index), role


def machine_project(principal: str) -> str | None:
    """The project that a machine's principal belongs to; None for people and for what only a number tells."""
    match = _MACHINE.match(principal)
    return next(filter(None, match.groupdict().values()), None) if match else None
