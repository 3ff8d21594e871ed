"""What machines are, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.attachments import pools_of
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.rules.sources import both_sides, cited, dispute
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import listed
from groundplan.facts.accelerators import catalog, closest, machine

HERE = "The blueprint language"


@environment_rule(
    "HW001", "a workload runs on machines of one architecture", source=cited("CA CTX"), severity="warning"
)
def architectures(view: EnvironmentView) -> Iterator[Problem]:
    """A4X and some CPU machines are Arm. An image that is built for one architecture starts on it only."""
    for key, workload in view.environment.workloads.items():
        seen: dict[bool, Path] = {}
        for index, pool in pools_of(view, workload):
            if pool.machine is not None:
                seen.setdefault(pool.machine.arm, ("workloads", key, "runs_on", index))
        if len(seen) == 2:
            yield Problem(
                max(seen.values(), key=str),
                f"`{key}` runs on Arm and on x86 machines, so its images must be built for both",
                "Build them for both, or make two workloads.",
                (("Arm", seen[True]), ("x86", seen[False])),
            )


@pool_rule("HW003", "confidential nodes are machines that can be", basis="api", sources="CA AO")
def confidential(view: PoolView) -> Iterator[Problem]:
    """Few machines with accelerators encrypt their memory; GKE refuses it on others."""
    found = view.machine
    if not view.pool.confidential or found is None:
        return
    disputed = dispute("confidential nodes", found)
    if found.confidential == ():
        yield Problem(
            view.at("confidential"),
            f"{found.name} cannot be confidential",
            "Remove `confidential`.",
            view.because("the machine", "machine"),
        )
    elif found.confidential is None and disputed is not None:
        yield Problem(
            view.at("confidential"),
            f"whether {found.name} can be confidential is not certain",
            both_sides(disputed),
            view.because("the machine", "machine"),
            severity="warning",
        )


@pool_rule("MA001", "machine types exist", basis="language", source=HERE)
def unknown(view: PoolView) -> Iterator[Problem]:
    """Nothing can be checked on a machine that nobody described, and a misspelt name is the usual cause."""
    if view.machine is None:
        near = closest(view.pool.machine)
        hint = f"Did you mean {listed([f'`{name}`' for name in near])}? " if near else ""
        yield Problem(
            view.at("machine"),
            f"groundplan knows no machine type {view.pool.machine}",
            f"{hint}If it exists, say what is known of it: `machine_facts: {{gpu: {{type: …, count: …}}}}`.",
        )


@pool_rule("MA002", "facts about machines come from the catalog", basis="unwise", source=HERE)
def stated(view: PoolView) -> Iterator[Problem]:
    """What `machine_facts` says is believed, and what it leaves out is not checked."""
    if view.pool.machine_facts is None:
        return
    if machine(view.pool.machine) is not None:
        message = f"the catalog knows {view.pool.machine}, so `machine_facts` is not used"
        yield Problem(view.at("machine_facts"), message, "Remove it.", at_key=True)
    else:
        message = f"{view.pool.machine} is taken to be what `machine_facts` says, and is hardly checked"
        hint = "Remove it once a newer groundplan knows the machine."
        yield Problem(view.at("machine_facts"), message, hint, at_key=True)


@pool_rule("MA003", "what is asked of a machine is confirmed by a source", basis="unwise", sources="CA AO")
def unconfirmed(view: PoolView) -> Iterator[Problem]:
    """No source that groundplan knows says that it works, and none that it does not. Nothing is refused."""
    found = view.machine
    if found is None or not view.accelerated or machine(view.pool.machine) is None:
        return
    gpu, doubtful_way = catalog().gpus.get(view.gpu_type or ""), view.offered is None
    not_partitioned = gpu is not None and gpu.partitions is None
    doubts = (
        ("capacity", view.waits and doubtful_way, f"obtained by {view.kind}"),
        ("capacity", _named(view) and doubtful_way, "reserved"),
        ("placement", view.pool.placement == "compact" and found.compact is None, "placed compactly"),
        ("confidential", view.pool.confidential and _silent_on_confidential(view), "confidential"),
        ("gpu", view.pool.gpu.partition is not None and not_partitioned, "partitioned"),
    )
    for key, doubtful, what in doubts:
        if doubtful:
            yield Problem(
                view.at(key),
                f"no source confirms that {found.name} can be {what}",
                f"`groundplan machine {found.name}` shows what is known, and since when.",
                view.because("the machine", "machine"),
            )


def _named(view: PoolView) -> bool:
    small_a3 = view.machine is not None and view.machine.offers("on-demand") is False
    return view.kind == "reservation" and not small_a3  # CO017 warns of these


def _silent_on_confidential(view: PoolView) -> bool:
    found = view.machine
    return found is not None and found.confidential is None and not dispute("confidential nodes", found)
