"""Do two environments meet? A proof over the graphs of all stacks, read like an inventory.

The closed world: everything that groundplan makes or names is in the graphs. Two environments are apart if

- nothing that one of them has is **mentioned** by the other: its project, its buckets, its service accounts,
  its networks (an attribute that holds the name of a thing is the only way to reach it);
- nothing of the **outside** is used by both: a bucket, key, network, perimeter, access policy or state that
  somebody else owns and that two environments name;
- no **principal** holds rights in both: machine principals never; people only what the table of personas
  gives them, and beyond it nothing that changes things in two environments;
- nobody can **act as** a machine principal of an environment and hold rights in another.

``external``, ``crossings``, emergency access and the pipelines of ``automation`` are the only doors; they are
listed, not hidden. What people granted by hand in the cloud is not in the graphs, so it is not in the proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from groundplan.modules.graph import GcsState, Reference, Resource, Stack, Text
from groundplan.modules.perimeter import PERIMETER, UNKNOWN_POLICY
from groundplan.stacks.access import Grant, access, shown
from groundplan.stacks.state import FOUNDATION

if TYPE_CHECKING:
    from groundplan.blueprints.lock import Lock
    from groundplan.blueprints.model import Blueprint

#: Who has one of these on a service account has everything that the account has (Google Cloud docs, IAM:
#: service account impersonation).
ACTING = (
    "roles/iam.serviceAccountTokenCreator",
    "roles/iam.serviceAccountUser",
    "roles/iam.serviceAccountOpenIdTokenCreator",
    "roles/iam.workloadIdentityUser",
    "roles/iam.serviceAccountKeyAdmin",
)
PUBLIC = ("allUsers", "allAuthenticatedUsers")
CROSSINGS = "crossings"
#: What names both ends of a crossing besides its grant: a perimeter that it passes, and the look-up for it.
PASSED = (PERIMETER, "google_project")
PEOPLE = ("user:", "group:", "domain:")
#: The last word of a role that only looks. ``browser`` and the reviewers look, too.
LOOKING = re.compile(r"viewer$|reader$|browser$|reviewer$|^accessor$", re.IGNORECASE)

#: Attributes that name a thing of the outside: attribute → what it is called.
OUTSIDE = {
    "boot_disk_kms_key": "key",
    "default_kms_key_name": "key",
    "kms_key_name": "key",
    "key_name": "key",
    "crypto_key_id": "key",
    "bucket": "bucket",
    "network": "network",
    "subnetwork": "subnet",
    "peer_network": "network",
    "perimeter_name": "perimeter",
    "parent": "access policy",
    "secret_id": "secret",
    "dataset_id": "dataset",
}
#: Types whose ``parent`` is an access policy; elsewhere a parent is a folder, an organization or a project.
_POLICY = "accessPolicies/"
#: Things of Google's or of nobody: every environment names them.
_COMMON = re.compile(r"default-internet-gateway|projects/(gke|cos|debian|ubuntu)[-\w]*/")


@dataclass(frozen=True, slots=True, order=True)
class Meeting:
    """Two environments meet.

    Attributes:
        environments: the two, sorted.
        kind: mention, share, principal, acting, public or state.
        chain: how, from one to the other; each step is a sentence's part.
        stack: the stack with the resource that makes it so.
        address: that resource; empty where it is no resource (the state).
        origin: path of the blueprint key that asks for it.
    """

    environments: tuple[str, str]
    kind: str
    chain: tuple[str, ...]
    stack: str
    address: str = ""
    origin: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{' and '.join(self.environments)} meet: {' → '.join(self.chain)}"


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one environment has, by kind: names in the cloud, sorted."""

    project: str
    perimeter: str
    things: Mapping[str, tuple[str, ...]]
    machines: tuple[str, ...]
    people: tuple[str, ...]
    outside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Isolation:
    """The answer: what each environment has, where two meet, and which doors are declared."""

    environments: Mapping[str, Holdings]
    meetings: tuple[Meeting, ...]
    doors: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """No two environments meet."""
        return not self.meetings

    def as_json(self) -> dict[str, Any]:
        """The documented shape of ``groundplan isolation --json``."""
        return {
            "isolated": self.holds,
            "environments": {
                name: {
                    "project": one.project,
                    "perimeter": one.perimeter,
                    "things": {kind: list(names) for kind, names in one.things.items()},
                    "machines": list(one.machines),
                    "people": list(one.people),
                    "outside": list(one.outside),
                }
                for name, one in self.environments.items()
            },
            "meetings": [
                {
                    "environments": list(one.environments),
                    "kind": one.kind,
                    "chain": list(one.chain),
                    "stack": one.stack,
                    "address": one.address or None,
                }
                for one in self.meetings
            ],
            "doors": list(self.doors),
        }


#: Types that are listed as an environment's things, and the attribute that names them.
THINGS = {
    "google_artifact_registry_repository": ("repositories", "repository_id"),
    "google_bigquery_dataset": ("datasets", "dataset_id"),
    "google_compute_network": ("networks", "name"),
    "google_compute_subnetwork": ("subnets", "name"),
    "google_container_cluster": ("clusters", "name"),
    "google_container_node_pool": ("node pools", "name"),
    "google_kms_crypto_key": ("keys", "name"),
    "google_secret_manager_secret": ("secrets", "secret_id"),
    "google_storage_bucket": ("buckets", "name"),
}


@dataclass(slots=True)
class _World:
    """All stacks at once, and who owns what."""

    blueprint: Blueprint
    stacks: Sequence[Stack]
    lock: Lock
    grants: list[Grant] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)  #: identifying text → environment

    def __post_init__(self) -> None:
        self.grants = [grant for stack in self.stacks for grant in access(stack)]
        for name, env in self.blueprint.environments.items():
            self.owners[env.project_id] = name
            number = self.lock.environment(name).project_number
            if number:
                self.owners[number] = name
        for stack in self.environments:
            for resource in stack.graph.of_type("google_storage_bucket"):
                self.owners[str(shown(stack.graph, resource.attributes["name"]))] = stack.name
        for stack in self.stacks:
            for account in stack.graph.of_type("google_service_account"):
                owner = _environment_of(stack, account)
                if owner:
                    project = str(
                        shown(stack.graph, account.attributes.get("project", stack.graph.project or ""))
                    )
                    email = f"{account.attributes['account_id']}@{project}.iam.gserviceaccount.com"
                    self.owners[email] = owner

    @property
    def environments(self) -> list[Stack]:
        """The stacks of environments."""
        return [stack for stack in self.stacks if stack.name != FOUNDATION]

    def owner(self, text: str) -> str | None:
        """The environment that a name belongs to: the longest identifying text in it decides.

        A text counts only as a whole word, so that ``llm-ml-dev`` is not found in ``llm-ml-dev2``.
        """
        hits = [known for known in self.owners if known in text and _is_word(known, text)]
        return self.owners[max(hits, key=len)] if hits else None


def isolation(blueprint: Blueprint, stacks: Sequence[Stack], lock: Lock) -> Isolation:
    """Prove that environments are apart, or say where they meet.

    Args:
        blueprint: the blueprint, with the doors that it declares.
        stacks: all of its stacks.
        lock: project numbers, where they are known.
    """
    world = _World(blueprint, stacks, lock)
    found = {
        *_mentions(world),
        *_shared(world),
        *_principals(world),
        *_acting(world),
        *_public(world),
        *_states(world),
    }
    return Isolation(
        {stack.name: _holdings(world, stack) for stack in world.environments},
        tuple(sorted(found)),
        tuple(_doors(blueprint)),
    )


def _mentions(world: _World) -> Iterator[Meeting]:
    """A stack that names something of another environment."""
    for stack in world.environments:
        for resource in stack.graph:
            for path, text in _texts(stack, resource):
                other = world.owner(text)
                if other not in (None, stack.name) and not _is_crossing(
                    world.blueprint, stack, resource, other or ""
                ):
                    chain = (
                        f"{stack.name} has {resource.address}",
                        f"its {path} names {text}",
                        f"that is {other}'s",
                    )
                    yield _meeting(stack.name, other or "", "mention", chain, stack, resource)


def _shared(world: _World) -> Iterator[Meeting]:
    """A thing of the outside that two environments use and that may hold or carry data of both."""
    users: dict[tuple[str, str], dict[str, tuple[Stack, Resource]]] = {}
    for stack in world.environments:
        for resource in stack.graph:
            for kind, name in _outside(world, stack, resource):
                users.setdefault((kind, name), {}).setdefault(stack.name, (stack, resource))
    for (kind, name), by in sorted(users.items()):
        for one, other in combinations(sorted(by), 2):
            stack, resource = by[other]
            chain = (f"{one} uses the {kind} {name}", f"{other} uses it too ({resource.address})")
            yield _meeting(one, other, "share", chain, stack, resource)


def _principals(world: _World) -> Iterator[Meeting]:
    """One principal with rights in two environments, beyond what the table of personas gives people."""
    held: dict[str, dict[str, Grant]] = {}
    for grant in world.grants:
        where = grant.environment
        if where is None or grant.principal in PUBLIC or _is_door(grant.principal):
            continue
        if grant.origin[:1] == (CROSSINGS,):
            continue
        if grant.principal.startswith(PEOPLE) and (_by_persona(grant) or looks(grant.role)):
            continue
        held.setdefault(grant.principal, {}).setdefault(where, grant)
    for principal, grants in sorted(held.items()):
        for one, other in combinations(sorted(grants), 2):
            chain = (
                f"{principal} holds {grants[one].role} on {grants[one].resource} in {one}",
                f"and {grants[other].role} on {grants[other].resource} in {other}",
            )
            grant = grants[other]
            yield Meeting((one, other), "principal", chain, grant.stack, grant.address, grant.origin)


def _acting(world: _World) -> Iterator[Meeting]:
    """Who may act as a machine of one environment and belongs to, or holds rights in, another."""
    rights: dict[str, set[str]] = {}
    for grant in world.grants:
        if grant.environment and not _is_door(grant.principal):
            rights.setdefault(grant.principal, set()).add(grant.environment)
    for grant in world.grants:
        if grant.role not in ACTING or grant.environment is None or _is_door(grant.principal):
            continue
        home = world.owner(grant.resource) or grant.environment
        elsewhere = rights.get(grant.principal, set()) | {world.owner(grant.principal) or home}
        for other in sorted(elsewhere - {home}):
            if grant.principal.startswith(PEOPLE) and not _changes_in(world, grant.principal, other):
                continue
            chain = (
                f"{grant.principal} holds rights in {other}",
                f"it may act as {grant.resource} ({grant.role})",
                f"which holds rights in {home}",
            )
            one, two = sorted((home, other))
            yield Meeting((one, two), "acting", chain, grant.stack, grant.address, grant.origin)


def _public(world: _World) -> Iterator[Meeting]:
    """What is open to everybody is open to every other environment."""
    names = [stack.name for stack in world.environments]
    for grant in world.grants:
        where = grant.environment
        if where and grant.principal in PUBLIC:
            other = next((name for name in names if name != where), where)
            one, two = sorted((where, other))
            chain = (
                f"{grant.principal} holds {grant.role} on {grant.resource} in {where}",
                "everybody reaches it",
            )
            yield Meeting((one, two), "public", chain, grant.stack, grant.address, grant.origin)


def _states(world: _World) -> Iterator[Meeting]:
    """Two stacks that keep their state in one place overwrite each other and read each other's secrets."""
    places = [(stack, stack.state) for stack in world.environments if isinstance(stack.state, GcsState)]
    for (one, place), (other, same) in combinations(places, 2):
        if place == same:
            first, second = sorted((one.name, other.name))
            chain = (f"both keep their state in {place.bucket}/{place.prefix}",)
            yield Meeting((first, second), "state", chain, other.name)


def _doors(blueprint: Blueprint) -> Iterator[str]:
    for key, crossing in sorted(blueprint.crossings.items()):
        yield f"crossing {key}: {crossing.to} reads {crossing.read} of {crossing.from_}, by {crossing.by}"
    for project in sorted(blueprint.external.projects):
        yield f"external project {project}: every environment may read from it"
    for name, env in blueprint.environments.items():
        if emergency := env.access.break_glass:
            who, whose = ", ".join(emergency.members), ", ".join(emergency.approvers)
            yield f"emergency access to {name}: {who} ask, {whose} approve"
        if env.automation:
            repository = env.automation.github or env.automation.gitlab
            yield f"repository {repository}: plans {name}; its branch {env.automation.branch} applies it"


def _holdings(world: _World, stack: Stack) -> Holdings:
    env = world.blueprint.environments[stack.name]
    things: dict[str, set[str]] = {}
    for resource in stack.graph.of_type(*THINGS):
        kind, attribute = THINGS[resource.type]
        things.setdefault(kind, set()).add(str(shown(stack.graph, resource.attributes[attribute])))
    mine = {grant.principal for grant in world.grants if grant.environment == stack.name}
    people = {name for name in mine if name.startswith(PEOPLE)}
    return Holdings(
        project=env.project_id,
        perimeter=env.perimeter.mode,
        things={kind: tuple(sorted(names)) for kind, names in sorted(things.items())},
        machines=tuple(sorted(mine - people)),
        people=tuple(sorted(people)),
        outside=tuple(sorted({f"{k} {n}" for r in stack.graph for k, n in _outside(world, stack, r)})),
    )


def looks(role: str) -> bool:
    """Whether a role only looks: predefined viewer, reader, browser and reviewer roles."""
    return bool(LOOKING.search(role.rpartition(".")[2].rpartition("/")[2]))


def _by_persona(grant: Grant) -> bool:
    """Whether the table of personas bounds what this grant gives."""
    return "access" in grant.origin and "grants" not in grant.origin


def _changes_in(world: _World, principal: str, environment: str) -> bool:
    return any(
        grant.principal == principal and grant.environment == environment and not looks(grant.role)
        for grant in world.grants
    )


def _is_door(principal: str) -> bool:
    """Google's own service agents, and pipelines, which are outside by nature and listed as doors.

    A service agent acts for the service that a project uses, never for a person. A pipeline is known by its
    repository (``…/workloadIdentityPools/POOL/attribute.repository/…``); one inside a cluster has a pool that
    ends in ``.svc.id.goog`` and is no door.
    """
    if principal.startswith(("principal://", "principalSet://")):
        return ".svc.id.goog/" not in principal
    return principal.startswith("service agent") or bool(
        re.search(r"@(gcp-sa-[\w-]+|[\w-]*-system|container-engine-robot|cloudservices)\.", principal)
    )


def _is_crossing(blueprint: Blueprint, stack: Stack, resource: Resource, other: str) -> bool:
    """Whether a declared crossing is why a resource names something of the other environment.

    That is the grant of the crossing, the look-up of its project's number, and the perimeters' rules that let
    it through. Anything else between the two is a meeting like every other.
    """
    if resource.origin[:1] == (CROSSINGS,):
        return blueprint.crossings[resource.origin[1]].to == other
    ends = [{crossing.from_, crossing.to} for crossing in blueprint.crossings.values()]
    return resource.type in PASSED and {stack.name, other} in ends


def _environment_of(stack: Stack, resource: Resource) -> str | None:
    if stack.name != FOUNDATION:
        return stack.name
    return (
        resource.origin[1] if resource.origin[:1] == ("environments",) and len(resource.origin) > 1 else None
    )


def _meeting(
    one: str, other: str, kind: str, chain: tuple[str, ...], stack: Stack, resource: Resource
) -> Meeting:
    first, second = sorted((one, other))
    return Meeting((first, second), kind, chain, stack.name, resource.address, resource.origin)


def _is_word(known: str, text: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(known)}(?![\w-])", text))


def _outside(world: _World, stack: Stack, resource: Resource) -> Iterator[tuple[str, str]]:
    """Kind and name of what a resource uses that no environment owns and that is not ``external``."""
    if resource.mode == "data" and resource.type == "google_storage_bucket":
        yield "bucket", str(shown(stack.graph, resource.attributes["name"]))
        return
    for path, text in _texts(stack, resource):
        kind = OUTSIDE.get(path.rpartition(".")[2].partition("[")[0])
        if kind is None or _COMMON.search(text) or world.owner(text):
            continue
        if kind == "access policy" and (not text.startswith(_POLICY) or text == UNKNOWN_POLICY):
            continue
        if kind == "bucket" or "/" in text:
            if any(_is_word(project, text) for project in world.blueprint.external.projects):
                continue
            yield kind, text


def _texts(stack: Stack, resource: Resource) -> Iterator[tuple[str, str]]:
    """Path and text of every literal in a resource; references inside the stack are its own things."""

    def walk(value: Any, path: str) -> Iterable[tuple[str, str]]:
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, Text):
            yield path, str(shown(stack.graph, value))
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                yield from walk(inner, f"{path}.{key}" if path else str(key))
        elif isinstance(value, list | tuple) and not isinstance(value, Reference):
            for inner in value:
                yield from walk(inner, path)

    yield from walk(resource.attributes, "")
