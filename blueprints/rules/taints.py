"""Kubernetes taints of nodes, and where system pods can run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundplan.blueprints.machines import machine_of
from groundplan.blueprints.model import NodePool
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.kubernetes import key_mistake, value_mistake

GPU_TAINT = "nvidia.com/gpu"
GKE = "Google Cloud docs, About GPUs in GKE"
KUBERNETES = "Kubernetes docs, Taints and Tolerations"

_REPELLING = ("NoSchedule", "NoExecute")


@environment_rule("TN001", "the taint of GPUs is not written", source=GKE, severity="note")
def own_gpu_taint(view: EnvironmentView) -> Iterator[Problem]:
    """Pools with GPUs get the taint nvidia.com/gpu=present:NoSchedule once, whatever is written.

    A second one under the same key would be a difference in every plan.
    """
    for path, _, pool in view.pools():
        for index, taint in enumerate(pool.node_taints):
            if taint.key == GPU_TAINT and has_gpus(pool):
                yield Problem(
                    (*path, "node_taints", index),
                    f"pools with GPUs have the taint {GPU_TAINT} anyway",
                    "Remove it; it is set once.",
                )


@environment_rule("TN002", "system pods have somewhere to run", source=GKE, severity="warning")
def untainted_pool(view: EnvironmentView) -> Iterator[Problem]:
    """Pools with GPUs or TPUs are tainted, and the pods that every cluster needs (DNS, metrics) avoid them.

    A cluster of only such pools comes up and then works badly: keep a small pool without accelerators.
    """
    for path, cluster in view.clusters():
        pools = cluster.node_pools.values()
        if pools and not any(_takes_system_pods(pool) for pool in pools):
            yield Problem(
                path,
                f"no node pool of the cluster `{path[-1]}` takes system pods: all are tainted",
                "Add one: `system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}`.",
                at_key=True,
            )


@environment_rule("TN003", "taints are what Kubernetes accepts", source=KUBERNETES)
def syntax(view: EnvironmentView) -> Iterator[Problem]:
    """Kubernetes refuses a taint whose key or value is not a label's, and GKE refuses the pool."""
    for path, _, pool in view.pools():
        for index, taint in enumerate(pool.node_taints):
            place = (*path, "node_taints", index)
            if mistake := key_mistake(taint.key):
                yield Problem((*place, "key"), f"`{taint.key}` cannot be the key of a taint", mistake)
            if mistake := value_mistake(taint.value):
                yield Problem((*place, "value"), f"`{taint.value}` cannot be the value of a taint", mistake)


@environment_rule("TN004", "a taint is written once", source=KUBERNETES)
def repeated(view: EnvironmentView) -> Iterator[Problem]:
    """Kubernetes knows one taint per key and effect; GKE refuses a pool that repeats one."""
    for path, _, pool in view.pools():
        seen: dict[tuple[str, str], int] = {}
        for index, taint in enumerate(pool.node_taints):
            first = seen.setdefault((taint.key, taint.effect), index)
            if first != index:
                yield Problem(
                    (*path, "node_taints", index),
                    f"the taint `{taint.key}` with `{taint.effect}` is there twice",
                    "Remove one of them.",
                    related=(("the other one", (*path, "node_taints", first)),),
                )


def has_gpus(pool: NodePool) -> bool:
    """Whether the machines of a pool have GPUs."""
    facts = machine_of(pool)
    return bool(pool.gpu.type or pool.gpu.count or (facts and facts.gpu))


def has_tpus(pool: NodePool) -> bool:
    """Whether the machines of a pool have TPU chips; unknown machines are told by their names."""
    facts = machine_of(pool)
    return facts.is_tpu if facts else bool(re.match(r"ct\d|tpu", pool.machine))


def _takes_system_pods(pool: NodePool) -> bool:
    tainted = any(taint.effect in _REPELLING for taint in pool.node_taints)
    return not tainted and not has_gpus(pool) and not has_tpus(pool)
