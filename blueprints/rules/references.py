"""References: what a name points to exists, and is one thing only."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from groundplan.blueprints.rules.base import (
    BlueprintView,
    EnvironmentView,
    Problem,
    blueprint_rule,
    environment_rule,
)
from groundplan.blueprints.rules.passage import written_rules
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import did_you_mean, listed

HERE = "The blueprint language"

#: What a workload may touch: the kind as it is written in a reference, and where such things are declared.
KINDS: dict[str, tuple[str, ...]] = {
    "buckets": ("storage", "buckets"),
    "bigquery": ("storage", "bigquery"),
    "disks": ("storage", "disks"),
    "lustre": ("storage", "lustre"),
    "filestore": ("storage", "filestore"),
    "secrets": ("secrets",),
    "registry": ("registry",),
}


@environment_rule("RF001", "what a workload touches exists", source=HERE)
def touched(view: EnvironmentView) -> Iterator[Problem]:
    """A reference that leads nowhere is a right that is missing when the workload runs."""
    for name, workload in view.environment.workloads.items():
        path: Path = ("workloads", name)
        for field, references in (("reads", workload.reads), ("writes", workload.writes)):
            for index, reference in enumerate(references):
                yield from _unresolved(view, (*path, field, index), reference, KINDS)
        for reference in workload.mounts:
            place = (*path, "mounts", reference)
            yield from _unresolved(view, place, reference, ["buckets"], at_key=True)


@environment_rule("RF002", "the node pools and compute classes that a workload runs on exist", source=HERE)
def runs_on(view: EnvironmentView) -> Iterator[Problem]:
    """A workload that names no pool of the environment would wait for a node for ever."""
    targets = _targets(view)
    if targets is None:
        return
    for name, workload in view.environment.workloads.items():
        for index, target in enumerate(workload.runs_on):
            if target not in targets:
                yield Problem(
                    ("workloads", name, "runs_on", index),
                    f"there is no node pool or compute class `{target}`",
                    did_you_mean(target, targets) or _there_are([one for one in targets if "/" not in one]),
                )


@environment_rule("RF003", "what a workload runs on is one thing", source=HERE)
def ambiguous(view: EnvironmentView) -> Iterator[Problem]:
    """Two clusters may have node pools of one name; a workload has to say which it means."""
    targets = _targets(view) or {}
    for name, workload in view.environment.workloads.items():
        for index, target in enumerate(workload.runs_on):
            places = targets.get(target, [])
            if len(places) > 1:
                clusters = [f"{place[1]}/{place[3]}" for place in places]
                yield Problem(
                    ("workloads", name, "runs_on", index),
                    f"`{target}` is not unique",
                    f"Write {listed([f'`{one}`' for one in dict.fromkeys(clusters)])}.",
                    related=tuple((f"one in {place[1]}", place) for place in places),
                )


@environment_rule("RF004", "what is mounted may be read", source=HERE)
def mounted_only(view: EnvironmentView) -> Iterator[Problem]:
    """A mount gives no rights: without `reads` or `writes` the first access of the pod is denied."""
    buckets = [f"buckets/{name}" for name in view.names("storage", "buckets") or ()]
    for name, workload in view.environment.workloads.items():
        for reference in workload.mounts:
            if reference in buckets and reference not in (*workload.reads, *workload.writes):
                yield Problem(
                    ("workloads", name, "mounts", reference),
                    f"`{name}` mounts {reference}, but neither reads nor writes it",
                    f"Add {reference} to `reads` or `writes`.",
                    at_key=True,
                )


@environment_rule("RF005", "compute classes name node pools of their cluster", source=HERE)
def compute_classes(view: EnvironmentView) -> Iterator[Problem]:
    """A compute class is the order in which workloads fall back from pool to pool of one cluster."""
    for path, cluster in view.clusters():
        pools = view.names(*map(str, path), "node_pools")
        for name, order in cluster.compute_classes.items() if pools is not None else ():
            for index, pool in enumerate(order):
                if pool not in (pools or ()):
                    yield Problem(
                        (*path, "compute_classes", name, index),
                        f"there is no node pool `{pool}` in the cluster `{path[-1]}`",
                        did_you_mean(pool, pools or ()) or _there_are(sorted(pools or ())),
                    )


@environment_rule("RF006", "perimeter rules name access levels of their perimeter", source=HERE)
def access_levels(view: EnvironmentView) -> Iterator[Problem]:
    """A source that does not exist would close the rule for everybody."""
    levels = view.names("perimeter", "access_levels")
    for one in written_rules(view) if levels is not None else ():
        for index, source in enumerate(one.rule.from_.sources):
            kind, _, level = source.partition("/")
            if kind == "access_levels" and level not in (levels or ()):
                yield Problem(
                    (*one.path, "from", "sources", index),
                    f"there is no access level `{level}`",
                    did_you_mean(level, levels or ()) or _there_are(sorted(levels or ())),
                )


@blueprint_rule("RF007", "crossings lead from one environment into another", source=HERE)
def crossing_ends(view: BlueprintView) -> Iterator[Problem]:
    """A crossing is the only way between environments."""
    for name, crossing in view.blueprint.crossings.items():
        path: Path = ("crossings", name)
        for end, environment in (("from", crossing.from_), ("to", crossing.to)):
            if environment not in view.environments:
                yield Problem(
                    (*path, end),
                    f"there is no environment `{environment}`",
                    did_you_mean(environment, view.environments) or _there_are(list(view.environments)),
                )
        if crossing.from_ == crossing.to:
            yield Problem((*path, "to"), "a crossing leads from one environment into another", "Name two.")


@blueprint_rule("RF008", "what a crossing reads, and who reads it, exist", source=HERE)
def crossing_references(view: BlueprintView) -> Iterator[Problem]:
    """A crossing lets one workload read one bucket or dataset, so both are named.

    A workload has an identity only where its environment has a cluster.
    """
    for name, crossing in view.blueprint.crossings.items():
        path: Path = ("crossings", name)
        if crossing.from_ == crossing.to:
            continue
        if crossing.from_ in view.environments:
            source = view.environments[crossing.from_]
            yield from _unresolved(source, (*path, "read"), crossing.read, ["buckets", "bigquery"])
        if crossing.to in view.environments:
            reader = view.environments[crossing.to]
            yield from _unresolved(reader, (*path, "by"), crossing.by, ["workloads"])
            if not reader.environment.clusters:
                message = f"`{crossing.to}` has no cluster, so none of its workloads has an identity"
                yield Problem((*path, "to"), message, "Give it a cluster, or take the crossing out.")


@blueprint_rule("RF009", "crossings lead one way", source=HERE)
def one_way(view: BlueprintView) -> Iterator[Problem]:
    """Who reads is applied before who is read: of two that read each other none could be first."""
    ways = {(one.from_, one.to) for one in view.blueprint.crossings.values()}
    for name, crossing in view.blueprint.crossings.items():
        reached, waiting = {crossing.to}, [crossing.to]
        while waiting:
            here = waiting.pop()
            further = {to for from_, to in ways if from_ == here} - reached
            reached |= further
            waiting += sorted(further)
        if crossing.from_ in reached and crossing.from_ != crossing.to:
            yield Problem(
                ("crossings", name),
                f"`{crossing.to}` reads `{crossing.from_}`, which reads `{crossing.to}` in turn",
                "Keep the one way that is needed.",
                at_key=True,
            )
            return


def _unresolved(
    view: EnvironmentView, path: Path, reference: str, kinds: Collection[str], at_key: bool = False
) -> Iterator[Problem]:
    """The problem of a reference ``KIND/NAME`` that leads nowhere, if it does."""
    kind, slash, name = reference.partition("/")
    if not slash or kind not in kinds:
        hint = did_you_mean(kind, kinds) or f"Write {listed([f'{one}/NAME' for one in kinds])}."
        yield Problem(path, f"`{reference}` is no reference", hint, at_key=at_key)
        return
    known = view.names(*KINDS.get(kind, (kind,)))
    if known is not None and name not in known:
        there = [f"{kind}/{one}" for one in known]
        message = f"there is no `{reference}`"
        yield Problem(path, message, did_you_mean(reference, there) or _there_are(there), at_key=at_key)


def _targets(view: EnvironmentView) -> dict[str, list[tuple[str, str, str, str]]] | None:
    """What a workload may run on: each name, short or with its cluster, and where it is declared.

    None if the clusters of the file cannot be told.
    """
    targets: dict[str, list[tuple[str, str, str, str]]] = {}
    clusters = view.names("clusters")
    if clusters is None:
        return None
    for cluster in clusters:
        for kind in ("node_pools", "compute_classes"):
            names = view.names("clusters", cluster, kind)
            if names is None:
                return None
            for name in names:
                for target in (name, f"{cluster}/{name}"):
                    targets.setdefault(target, []).append(("clusters", cluster, kind, name))
    return targets


def _there_are(names: Collection[str]) -> str:
    shown = list(names)[:8]
    return f"There is {listed(shown, 'and')}." if shown else "There is none."
