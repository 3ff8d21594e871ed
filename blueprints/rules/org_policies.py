"""Organization policies: what they may say, and what of the blueprint they would refuse.

A policy refuses at apply, in the words of the service that it stops, after the plan was approved. Both sides
stand in one blueprint, so they are compared before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from groundplan.blueprints.model import Environment, OrgPolicy
from groundplan.blueprints.org_policies import effective, written_at
from groundplan.blueprints.rules.base import LANGUAGE, EnvironmentView, Problem, environment_rule
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import did_you_mean, listed
from groundplan.facts.accelerators import machine
from groundplan.facts.org_policies import covers, org_policies
from groundplan.facts.services import Group, api, needed

CONSTRAINTS = "Google Cloud docs, Organization Policy, Organization policy constraints"


class Clash(NamedTuple):
    """A place of the blueprint, what it asks for, what to write instead, and whether its key is shown."""

    place: Path
    message: str
    hint: str
    at_key: bool = False


@environment_rule("OP001", "the value of a constraint is of its kind", source=CONSTRAINTS)
def kinds(view: EnvironmentView) -> Iterator[Problem]:
    """Some constraints are enforced or not, others list values; Google Cloud refuses one for the other."""
    for name, policy in view.environment.org_policies.override.items():
        known = org_policies().constraints.get(name)
        boolean = policy.kind in ("enforced", "off")
        if known and policy.kind != "unset" and boolean != (known.kind == "boolean"):
            lists = "`allow-all`, `deny-all`, `{allow: [VALUE]}` or `{deny: [VALUE]}`"
            hint = f"Write {'`true` or `false`' if known.kind == 'boolean' else lists}."
            place = ("org_policies", "override", name)
            yield Problem(place, f"`{name}` is a {known.kind} constraint", hint)


@environment_rule("OP002", "a constraint is one that is known", source=CONSTRAINTS, severity="warning")
def known_constraints(view: EnvironmentView) -> Iterator[Problem]:
    """Google Cloud refuses a constraint that does not exist; it has more of them than groundplan knows."""
    for name in view.environment.org_policies.override:
        own = name.startswith("custom.") and name not in org_policies().custom
        if name not in org_policies().constraints and not own:
            hint = did_you_mean(name, org_policies().constraints) or "It is written as it is."
            place = ("org_policies", "override", name)
            yield Problem(place, f"groundplan does not know the constraint `{name}`", hint, at_key=True)


@environment_rule("OP003", "organization policies allow what the blueprint asks for", source=CONSTRAINTS)
def conflicts(view: EnvironmentView) -> Iterator[Problem]:
    """A policy wins over every role. What it refuses fails at apply, after the plan was approved."""
    for name, policy in effective(view.environment).items():
        for conflict in CONFLICTS:
            if name in conflict.constraints:
                for place, message, hint, at_key in conflict.clashes(view, policy):
                    policy_at = ("the policy", written_at(view.environment, name))
                    advice = f"{hint} Or override `{name}` under `org_policies`."
                    message = f"{message}; `{name}` refuses that"
                    yield Problem(place, message, advice, related=(policy_at,), at_key=at_key)


@environment_rule("OP004", "organization policies have an organization above them", source=CONSTRAINTS)
def above(view: EnvironmentView) -> Iterator[Problem]:
    """Projects without an organization have no organization policies; ours are made in the organization."""
    env, organization = view.environment, view.blueprint.organization
    policies = effective(env)
    if not policies or organization or view.blueprint.foundation is None:
        return
    place = ("org_policies",)
    hint = 'Write `organization: "NUMBER"` at the top, or `preset: none`.'
    if not (env.folder or env.project.existing):
        yield Problem(place, "organization policies need an organization", hint, at_key=True)
    for name in sorted(set(policies) & set(org_policies().custom)):
        message = f"`{name}` is made in the organization, which the blueprint does not name"
        yield Problem(written_at(env, name), message, f"{hint} Or override it: `{name}: unset`.")


@environment_rule("OP005", "organization policies have a foundation", source=LANGUAGE, severity="warning")
def without_foundation(view: EnvironmentView) -> Iterator[Problem]:
    """The foundation sets them, so that nobody inside the environment can. Without one they are not set."""
    if effective(view.environment) and view.blueprint.foundation is None:
        hint = "Write `foundation: {project: ID}` at the top."
        yield Problem(("org_policies",), "nothing sets the organization policies", hint, at_key=True)


def _flexible(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    for path, _, pool in view.pools():
        if policy.kind == "enforced" and pool.capacity.kind in ("flex-start", "queued"):
            message = f"`{pool.capacity.kind}` needs node auto-repair to be off"
            yield Clash((*path, "capacity"), message, "Obtain the machines in another way.")


def _bare_metal(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    for path, _, pool in view.pools():
        known = machine(pool.machine)
        if policy.kind == "enforced" and known is not None and known.bare_metal:
            message = f"{pool.machine} is bare metal, which is no Shielded VM"
            yield Clash((*path, "machine"), message, "Use another machine.")


def _services(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    for place, thing, names in _used(view.environment):
        refused = sorted(name for name in names if not _allows(policy, name))
        if refused:
            refusals = listed(refused, "and")
            yield Clash(place, f"{thing} {refusals}", f"Allow {refusals}.", at_key=place[0] != "apis")


def _unencrypted(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    used = {name for _, _, names in _used(view.environment) for name in names}
    refused = sorted(name for name in used if not _allows(policy, name))
    if view.environment.encryption.mode == "google" and refused:
        message = f"Google holds the keys of {listed(refused, 'and')}"
        yield Clash(("encryption", "mode"), message, "Write `encryption: {mode: cmek}`.")


def _secrets(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    if policy.kind == "enforced" and view.environment.encryption.mode == "google" and _made(view.environment):
        message = "Google holds the keys of Kubernetes secrets"
        yield Clash(("encryption", "mode"), message, "Write `encryption: {mode: cmek}`.")


def _locations(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    env = view.environment
    places: list[tuple[Path, str]] = [(("region",), env.region)]
    places += [
        (("clusters", key, "region"), cluster.region)
        for key, cluster in env.clusters.items()
        if cluster.region
    ]
    for kind, items in (("buckets", env.storage.buckets), ("bigquery", env.storage.bigquery)):
        for key, item in items.items():
            if item.location and not item.existing:
                places.append((("storage", kind, key, "location"), item.location))
    for place, location in places:
        allowed = [covers(value, location) for value in policy.allow]
        denied = [covers(value, location) for value in policy.deny]
        outside = bool(allowed) and set(allowed) == {False}
        if policy.kind == "deny-all" or outside or True in denied:
            yield Clash(place, f"{location} is not one of the locations", "Use an allowed location.")


def _nat(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    if policy.kind == "deny-all" and view.environment.network.nat:
        yield Clash(("network", "nat"), "nodes reach the internet through Cloud NAT", "Write `nat: false`.")


def _images(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    for path, _, pool in view.pools():
        for index, image in enumerate(pool.preload):
            project = "/".join(image.split("/")[:2])
            if image.startswith("projects/") and not _allows(policy, project):
                yield Clash((*path, "preload", index), f"the image is from {project}", f"Allow {project}.")


def _keys(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    env, role = view.environment, "roles/iam.serviceAccountKeyAdmin"
    places = [(("access", "grants", principal), granted) for principal, granted in env.access.grants.items()]
    places += [(("workloads", key, "roles"), workload.roles) for key, workload in env.workloads.items()]
    for path, granted in places:
        if policy.kind == "enforced" and role in granted:
            place = (*path, granted.index(role))
            yield Clash(place, f"{role} is for making keys", "Remove it: no key is needed.")


def _accounts(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    for key in _made(view.environment) if policy.kind == "enforced" else ():
        message = "the nodes of a cluster get a service account"
        yield Clash(("clusters", key), message, "Allow to make it.", at_key=True)


def _groups(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    for key in _made(view.environment) if policy.kind == "enforced" else ():
        message = "the cluster has no security group of the organization"
        yield Clash(("clusters", key), message, "Grant roles to people instead.", at_key=True)


def _hosts(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    existing = view.environment.network.existing
    project = f"projects/{existing.host_project}" if existing else ""
    if project and not _allows(policy, project):
        place = ("network", "existing", "host_project")
        yield Clash(place, f"the network is that of {project}", f"Allow {project}.")


def _key_projects(view: EnvironmentView, policy: OrgPolicy) -> Iterator[Clash]:
    for region, key in view.environment.encryption.keys.items():
        project = "/".join(key.split("/")[:2])
        if not _allows(policy, project):
            yield Clash(("encryption", "keys", region), f"the key is from {project}", f"Allow {project}.")


@dataclass(frozen=True)
class Conflict:
    """What a policy for one of these constraints may refuse in a blueprint."""

    constraints: tuple[str, ...]
    clashes: Callable[[EnvironmentView, OrgPolicy], Iterator[Clash]]


CONFLICTS = (
    Conflict(("custom.gkeNodeAutoRepair",), _flexible),
    Conflict(("compute.requireShieldedVm", "container.managed.enableShieldedNodes"), _bare_metal),
    Conflict(("gcp.restrictServiceUsage",), _services),
    Conflict(("gcp.restrictNonCmekServices",), _unencrypted),
    Conflict(("container.managed.enableSecretsEncryption",), _secrets),
    Conflict(("gcp.resourceLocations",), _locations),
    Conflict(("compute.restrictCloudNATUsage",), _nat),
    Conflict(("compute.trustedImageProjects",), _images),
    Conflict(("iam.disableServiceAccountKeyCreation",), _keys),
    Conflict(("iam.disableServiceAccountCreation",), _accounts),
    Conflict(("container.managed.enableGoogleGroupsRBAC",), _groups),
    Conflict(("compute.restrictSharedVpcHostProjects",), _hosts),
    Conflict(("gcp.restrictCmekCryptoKeyProjects",), _key_projects),
)


def _made(env: Environment) -> list[str]:
    return [key for key, cluster in env.clusters.items() if not cluster.existing]


def _used(env: Environment) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
    """Where APIs come from: the place, what it does with them, their names."""
    groups: list[tuple[object, Path, Group]] = [
        (env.clusters, ("clusters",), "cluster"),
        (env.clusters, ("clusters",), "network"),
        (env.storage.buckets, ("storage", "buckets"), "buckets"),
        (env.storage.bigquery, ("storage", "bigquery"), "bigquery"),
        (env.registry, ("registry",), "registry"),
        (env.secrets, ("secrets",), "secrets"),
        (env.encryption.mode == "cmek", ("encryption",), "cmek"),
    ]
    found: dict[Path, set[str]] = {}
    for used, place, group in groups:
        if used:
            found.setdefault(place, set()).update(needed(group))
    for place, names in found.items():
        yield place, f"`{place[-1]}` needs", tuple(names)
    for index, name in enumerate(env.apis):
        yield ("apis", index), "it enables", (api(name),)


def _allows(policy: OrgPolicy, value: str) -> bool:
    """Whether a list policy allows a value; if it names folders or groups, nobody knows, and it does."""
    if policy.kind in ("allow-all", "deny-all"):
        return policy.kind == "allow-all"
    plain = {one.removeprefix("is:").removeprefix("under:") for one in policy.allow}
    if plain and value not in plain and not any(_is_group(one) for one in policy.allow):
        return False
    return value not in {one.removeprefix("is:").removeprefix("under:") for one in policy.deny}


def _is_group(value: str) -> bool:
    return value.startswith(("in:", "under:folders/", "under:organizations/"))
