"""Compute classes: the order in which workloads fall back from node pool to node pool.

GKE matches pools that it did not make itself to a class by a node label with the class's name, so a pool
serves one class; a taint of the same name keeps other pods off, and GKE gives the pods that select the class
the toleration (GKE docs, "About custom ComputeClasses: configure manually created node pools"; the label is
what GKE's autoscaler looks at). The class itself is a Kubernetes object: ``engines.kubernetes`` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.gke_pools import gke_pools
from groundplan.blueprints.naming import cloud_key, pool_name
from groundplan.modules.provisioned import node_pools

if TYPE_CHECKING:
    from groundplan.blueprints.model import Cluster

LABEL = "cloud.google.com/compute-class"  #: of nodes, and the key of their taint


def class_of(cluster: Cluster, key: str) -> str | None:
    """The compute class that a node pool serves; None for none. Of several, the first in the alphabet."""
    return min((name for name, order in cluster.compute_classes.items() if key in order), default=None)


def fallbacks(cluster: Cluster, name: str) -> list[list[str]]:
    """The GKE node pools of a compute class, the preferred ones first; those of one step are equals."""
    made = node_pools(cluster)
    return [
        [pool_name(cloud_key(key, made[key]), made[key], part.part) for part in gke_pools(made[key])]
        for key in dict.fromkeys(cluster.compute_classes[name])
        if key in made and class_of(cluster, key) == name
    ]
