"""Stacks of one cluster with the node pools of a test, and with the address ranges that a real lock gives."""

from blueprint_factory import SYSTEM, blueprint

from groundplan.blueprints.lock import Lock, allocate
from groundplan.stacks.catalog import stacks

POOL = "google_container_node_pool"


def one_cluster(pools, *, env="ml-dev", zones=("a",), environment=None, **cluster):
    """A blueprint with one cluster that has a system pool and these pools."""
    spec = {"zones": list(zones), "node_pools": {"system": SYSTEM, **pools}, **cluster}
    return blueprint({env: {"clusters": {"main": spec}, **(environment or {})}})


def graph_of(made, lock=None):
    """The graph of a blueprint's only environment."""
    (name,) = made.environments
    return stacks(made, lock or allocate(made, Lock()), [name])[0].graph


def graph(pools, **cluster):
    return graph_of(one_cluster(pools, **cluster))


def gke_pools(pools, **cluster):
    """Name in the stack, without the cluster's → attributes; the system pool left out."""
    found = graph(pools, **cluster).of_type(POOL)
    return {r.name.removeprefix("main_"): r.attributes for r in found if r.name != "main_system"}


def gke_pool(zones=("a",), cluster=None, **spec):
    """The attributes of the only GKE pool that one pool becomes."""
    (found,) = gke_pools({"x": spec}, zones=zones, **(cluster or {})).values()
    return found
