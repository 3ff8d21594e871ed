"""The first stack, applied by an administrator: what must exist before an environment can manage itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import terraform_name
from groundplan.errors import InternalError
from groundplan.modules.access_policy import add_access_policy
from groundplan.modules.automation import StatePlace, Task, add_automation, add_state_bucket, add_state_folder
from groundplan.modules.contacts import add_contacts
from groundplan.modules.federation import Federation, add_federation, admit, repository
from groundplan.modules.graph import GcsState, Graph, Reference, Resource, Stack, text
from groundplan.modules.org_policies import add_custom_constraints, add_org_policies
from groundplan.modules.project import Project, add_folder, add_project, add_seed
from groundplan.modules.shared_vpc import add_shared_vpc
from groundplan.modules.tags import add_tags, bind_tags
from groundplan.stacks.oversight import add_oversight
from groundplan.stacks.state import FOUNDATION, frame, state

if TYPE_CHECKING:
    from groundplan.blueprints.lock import Lock
    from groundplan.blueprints.model import Blueprint, Environment


@dataclass(frozen=True, slots=True)
class Founded:
    """What the foundation makes for one environment."""

    folder: Resource | None
    project: Project
    place: StatePlace | None
    access_policy: Resource | None
    identities: dict[Task, Resource]


def foundation(blueprint: Blueprint, lock: Lock) -> Stack:
    """The seed project, and for each environment a folder, a project, a place for its state, two identities.

    Applying it again adds what is new. Its own state is in a bucket that it makes itself, so the first apply
    starts with a local state that moves there afterwards.

    Args:
        blueprint: with a foundation.
        lock: what earlier applies learned. Nothing here needs it yet; every number is a reference.

    Raises:
        InternalError: the blueprint has no foundation.
    """
    if blueprint.foundation is None:
        raise InternalError("the blueprint has no foundation")
    graph = Graph(
        project=blueprint.foundation.project,
        region=blueprint.foundation.region,
        labels={"managed-by": "groundplan", "platform": blueprint.name},
    )
    with graph.at("foundation"):
        seed = add_seed(graph, blueprint, blueprint.foundation.project)
        own = _state_place(graph, blueprint, FOUNDATION, seed)
        federation = add_federation(graph, blueprint, seed)
        constraints = add_custom_constraints(graph, blueprint, seed)
        tags = add_tags(graph, blueprint, seed)
    founded: dict[str, Founded] = {}
    for name, env in blueprint.environments.items():
        with graph.at("environments", name):
            folder = add_folder(graph, blueprint, env, seed)
            above = add_org_policies(graph, env, folder["name"], constraints, seed) if folder else ()
            project = add_project(graph, env, folder, above, seed)
            home = folder["name"] if folder else text("projects/", project.number)
            if not folder:
                add_org_policies(graph, env, home, constraints, seed)
            bind_tags(graph, env, home, tags, seed)
            add_contacts(graph, env, home, seed)
            place = _state_place(graph, blueprint, name, seed)
            policy = add_access_policy(graph, blueprint, env, home, seed)
            identities = add_automation(graph, env, project, place, policy, seed)
            if federation:
                admit(graph, env, identities, federation)
            _oversee(graph, blueprint, env, project, seed)
            add_shared_vpc(
                graph, env, project.services, project=project.id, number=project.number, prefix=(name,)
            )
            founded[name] = Founded(folder, project, place, policy, identities)
    _forget_states(graph, blueprint)
    _add_outputs(graph, own, founded)
    graph.output("federation", _providers(blueprint, federation), "Environment → provider for its pipeline")
    return frame(blueprint, FOUNDATION, graph)


def _oversee(graph: Graph, blueprint: Blueprint, env: Environment, project: Project, seed: Project) -> None:
    """Keep out of an environment's own hands what watches over it."""
    number = project.number
    add_oversight(graph, blueprint, env, project.id, lambda: number, project.services, seed.services)


def _state_place(graph: Graph, blueprint: Blueprint, stack: str, seed: Project) -> StatePlace | None:
    """A bucket of our own, or a folder in the one that the blueprint names; None for a state in a file."""
    place = state(blueprint, stack)
    if not isinstance(place, GcsState) or graph.region is None:
        return None
    if blueprint.state.bucket:
        return add_state_folder(graph, stack, place, seed)
    protected = [env.protect for name, env in blueprint.environments.items() if stack in (name, FOUNDATION)]
    return add_state_bucket(graph, stack, place, graph.region, seed, protect=any(protected))


def _forget_states(graph: Graph, blueprint: Blueprint) -> None:
    """Leave alone where states of removed environments were: it is not empty, and tells what they were."""
    for name in blueprint.removed:
        if isinstance(state(blueprint, name), GcsState):
            kind = "google_storage_managed_folder" if blueprint.state.bucket else "google_storage_bucket"
            graph.forget(f"{kind}.{terraform_name('state', name)}")


def _add_outputs(graph: Graph, own: StatePlace | None, founded: dict[str, Founded]) -> None:
    """What the lock file remembers, and what pipelines are set up with; by environment."""
    folders = {name: made.folder["folder_id"] for name, made in founded.items() if made.folder}
    places = {FOUNDATION: own, **{name: made.place for name, made in founded.items()}}
    buckets = {name: place.bucket for name, place in places.items() if place}
    policies = {name: made.access_policy["name"] for name, made in founded.items() if made.access_policy}
    identities = {
        name: {task: account["email"] for task, account in made.identities.items()}
        for name, made in founded.items()
    }
    numbers = {name: made.project.number for name, made in founded.items()}
    graph.output("access_policies", policies, "Environment → number of its access policy")
    graph.output("folders", folders, "Environment → number of its folder")
    graph.output("identities", identities, "Environment → service accounts that plan and apply it")
    graph.output("project_numbers", numbers, "Environment → number of its project")
    graph.output("state_buckets", buckets, "Stack → bucket of its state")


def _providers(blueprint: Blueprint, federation: Federation | None) -> dict[str, Reference]:
    """Environment → name of the provider that its pipeline shows a token to."""
    return {
        name: federation.providers[repository(env.automation)[0]]["name"]
        for name, env in blueprint.environments.items()
        if federation and env.automation
    }
