"""Names in the cloud: never two the same, and only what Google Cloud accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundplan.blueprints import naming
from groundplan.blueprints.gke_pools import gke_pools
from groundplan.blueprints.rules.base import (
    BlueprintView,
    EnvironmentView,
    Problem,
    blueprint_rule,
    environment_rule,
)
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import did_you_mean, listed

PROJECTS = "Google Cloud docs, Creating and managing projects"
BUCKETS = "Google Cloud docs, About Cloud Storage buckets, naming requirements"
CLUSTERS = "GKE API reference, Cluster.name and NodePool.name: at most 40 characters"
HERE = "The blueprint language"

RESERVED = "foundation"  #: the name of the stack that makes the projects
PROJECT_ID = re.compile(r"[a-z][-a-z0-9]{4,28}[a-z0-9]")
NOT_IN_PROJECT_ID = ("google", "null", "undefined", "ssl")
BUCKET_NAME = re.compile(r"[a-z0-9]([-a-z0-9_]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9_]{0,61}[a-z0-9])?)*")
NOT_IN_BUCKET_NAME = re.compile(r"^goog|g[o0][o0]g[l1]e")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@blueprint_rule("NM001", "each environment has a project of its own", source=HERE)
def one_project_each(view: BlueprintView) -> Iterator[Problem]:
    """The project is what keeps environments apart; the foundation's is apart from all of them."""
    taken: dict[str, Path] = {}
    if view.blueprint.foundation:
        taken[view.blueprint.foundation.project] = ("foundation", "project")
    for name, environment in view.blueprint.environments.items():
        written = "existing" if environment.project.existing else "id"
        path = ("environments", name, "project", written)
        first = taken.setdefault(environment.project_id, path)
        if first != path:
            other = first[1] if first[0] == "environments" else "the foundation"
            yield Problem(
                path,
                f"the project {environment.project_id} of `{name}` is that of {other} too",
                "Give it an own one: `project: {id: …}`, or {env} in the pattern `names.project`.",
                related=(("the other one", first),),
            )


@blueprint_rule("NM002", "no two buckets have one name", source=BUCKETS)
def one_bucket_each(view: BlueprintView) -> Iterator[Problem]:
    """Names of buckets are unique in the whole world; the second one could not be made."""
    taken: dict[str, Path] = {}
    for path, name, existing in _buckets(view):
        first = taken.setdefault(name, path)
        if first != path and not existing:
            yield Problem(
                path,
                f"two buckets get the name {name}",
                "Use {key} and {project} in the pattern `names.bucket`, or give one of them a `name`.",
                related=(("the other one", first),),
                at_key=True,
            )


@environment_rule("NM003", "project ids are what Google Cloud accepts", source=PROJECTS)
def project_ids(view: EnvironmentView) -> Iterator[Problem]:
    """An id that Google Cloud refuses fails at the first apply. Existing ids are taken as they are."""
    project = view.environment.project_id
    if view.environment.project.existing:
        return
    mistake = _project_mistake(project)
    if mistake and not _PLACEHOLDER.search(project):
        hint = f"{mistake} Set `project: {{id: …}}`, `name` or the pattern `names.project`."
        yield Problem(("project", "id"), f"`{project}` cannot be the id of a project", hint)


@environment_rule("NM004", "bucket names are what Cloud Storage accepts", source=BUCKETS)
def bucket_names(view: EnvironmentView) -> Iterator[Problem]:
    """A name that Cloud Storage refuses fails at apply."""
    for key, bucket in view.environment.storage.buckets.items():
        name = view.environment.bucket_names[key]
        if bucket.existing or _PLACEHOLDER.search(name):
            continue
        if NOT_IN_BUCKET_NAME.search(name):
            mistake = "A bucket's name neither begins with goog nor has google or a likeness of it in it."
        elif not BUCKET_NAME.fullmatch(name) or not 3 <= len(name) <= 222:
            mistake = (
                "A bucket's name has 3 to 63 lower-case letters, digits, - and _ (more only between dots)."
            )
        else:
            continue
        yield Problem(
            ("storage", "buckets", key, "name"), f"`{name}` cannot be the name of a bucket", mistake
        )


@environment_rule("NM005", "names of clusters and node pools fit into 40 characters", source=CLUSTERS)
def long_names(view: EnvironmentView) -> Iterator[Problem]:
    """GKE refuses longer ones. Names that are derived are shortened; written ones are taken as they are."""
    items = [*view.clusters(), *((path, pool) for path, _, pool in view.pools())]
    for path, item in items:
        if item.name and len(item.name) > naming.CLUSTER_LIMIT:
            yield Problem(
                (*path, "name"),
                f"`{item.name}` has {len(item.name)} characters",
                f"GKE takes at most {naming.CLUSTER_LIMIT}.",
            )


@environment_rule(
    "NM006", "no two clusters, and no two node pools of a cluster, have one name", source=CLUSTERS
)
def same_names(view: EnvironmentView) -> Iterator[Problem]:
    """GKE refuses the second one."""
    taken: dict[tuple[Path, str, str], Path] = {}
    names: list[tuple[tuple[Path, str, str], Path]] = []
    for path, cluster in view.clusters():
        region = view.environment.cluster_region(cluster)
        name = naming.cloud_key(str(path[-1]), cluster)
        names.append((((), region, naming.cluster_name(view.environment, name, cluster)), path))
    for path, _, pool in view.pools():
        key = naming.cloud_key(str(path[-1]), pool)
        for part in gke_pools(pool):
            names.append(((path[:-1], "", naming.pool_name(key, pool, part.part)), path))
    told: set[Path] = set()
    for unique, path in names:
        first = taken.setdefault(unique, path)
        if first != path and path not in told:
            told.add(path)
            yield Problem(
                path,
                f"`{first[-1]}` and `{path[-1]}` both get the name {unique[2]}",
                "Change `name` or `generation` of one of them.",
                related=(("the other one", first),),
                at_key=True,
            )


@blueprint_rule("NM007", "environments do not share buckets", source=HERE, severity="warning")
def shared_buckets(view: BlueprintView) -> Iterator[Problem]:
    """An existing bucket that two environments use is a way between them that no crossing declares."""
    taken: dict[str, Path] = {}
    for path, name, existing in _buckets(view):
        first = taken.setdefault(name, path)
        if existing and first[1] != path[1]:
            yield Problem(
                (*path, "existing"),
                f"the bucket {name} is used by {first[1]} too",
                "Give each environment a bucket of its own, and declare what crosses under `crossings`.",
            )


@blueprint_rule("NM008", "`foundation` is no environment", source=HERE)
def reserved_name(view: BlueprintView) -> Iterator[Problem]:
    """Commands call the stack of the seed project so."""
    if RESERVED in view.blueprint.environments:
        yield Problem(
            ("environments", RESERVED),
            f"`{RESERVED}` cannot be the name of an environment",
            "It is the stack that makes the projects of all environments.",
            at_key=True,
        )


@blueprint_rule("NM009", "what is removed is gone", source=HERE)
def removed_but_there(view: BlueprintView) -> Iterator[Problem]:
    """A tombstone lets an environment be destroyed; one that still stands in the file is not meant to be."""
    for name in view.blueprint.removed:
        if name in view.blueprint.environments:
            yield Problem(
                ("removed", name),
                f"`{name}` is removed and listed under environments",
                "Take it out of one of them.",
                related=(("listed", ("environments", name)),),
                at_key=True,
            )


@blueprint_rule("NM010", "patterns of names use what there is", source=HERE)
def placeholders(view: BlueprintView) -> Iterator[Problem]:
    """What a pattern cannot fill in would stand in the name, braces included."""
    names = view.blueprint.names
    known = {"project": ("name", "env"), "bucket": ("name", "env", "project", "key")}
    for kind, pattern in (("project", names.project), ("bucket", names.bucket)):
        for placeholder in _PLACEHOLDER.findall(pattern):
            if placeholder not in known[kind]:
                hint = did_you_mean(placeholder, known[kind])
                there = listed([f"{{{one}}}" for one in known[kind]], "and")
                yield Problem(
                    ("names", kind),
                    f"`{{{placeholder}}}` means nothing in the pattern of a {kind}'s name",
                    f"{hint} There are {there}.".strip(),
                )


@environment_rule("NM011", "a project is existing or made", source=HERE)
def existing_and_made(view: EnvironmentView) -> Iterator[Problem]:
    """`existing` adopts a project with its own id; `id` names one that is to be made."""
    project = view.environment.project
    if project.existing and project.id:
        yield Problem(
            ("project", "id"),
            "`id` and `existing` cannot both be written",
            "Keep `existing` to adopt the project, `id` to make one.",
            related=(("existing", ("project", "existing")),),
            at_key=True,
        )


@blueprint_rule("NM012", "the seed project's id is what Google Cloud accepts", source=PROJECTS)
def seed_project(view: BlueprintView) -> Iterator[Problem]:
    """An id that Google Cloud refuses fails at the first apply."""
    foundation = view.blueprint.foundation
    mistake = _project_mistake(foundation.project) if foundation else ""
    if foundation and mistake:
        message = f"`{foundation.project}` cannot be the id of a project"
        yield Problem(("foundation", "project"), message, mistake)


def _project_mistake(project: str) -> str:
    word = next((word for word in NOT_IN_PROJECT_ID if word in project), None)
    if word:
        return f"Google Cloud refuses ids with `{word}` in them."
    if not PROJECT_ID.fullmatch(project.rpartition(":")[2]):
        return "An id has 6 to 30 lower-case letters, digits and hyphens, and begins with a letter."
    return ""


def _buckets(view: BlueprintView) -> Iterator[tuple[Path, str, bool]]:
    """Every bucket: its path, its name in the cloud, whether it exists already."""
    for name, environment in view.blueprint.environments.items():
        for key, bucket in environment.storage.buckets.items():
            path = ("environments", name, "storage", "buckets", key)
            yield path, environment.bucket_names[key], bool(bucket.existing)
