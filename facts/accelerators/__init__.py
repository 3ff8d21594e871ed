"""Machine types with GPUs and TPUs: what they have, what they take, how they can be obtained.

``catalog.yaml`` is the only place where these facts are written. Every group of them names its sources, and
every source the day it was checked. What no source confirms is None: no reason to refuse a blueprint.
"""

from groundplan.facts.accelerators.catalog import (
    catalog,
    checked,
    closest,
    disputes,
    family,
    machine,
    machines,
    unconfirmed,
)
from groundplan.facts.accelerators.model import (
    CAPACITY,
    Catalog,
    Consumption,
    CpuFamily,
    Dispute,
    Feature,
    Gpu,
    GpuDirect,
    GpuModel,
    HyperdiskMl,
    Limits,
    LocalSsd,
    Machine,
    Source,
    Tpu,
    WorkloadPolicy,
)
from groundplan.facts.accelerators.topology import Topology, tpu_topologies, tpu_topology

__all__ = [
    "CAPACITY",
    "Catalog",
    "Consumption",
    "CpuFamily",
    "Dispute",
    "Feature",
    "Gpu",
    "GpuDirect",
    "GpuModel",
    "HyperdiskMl",
    "Limits",
    "LocalSsd",
    "Machine",
    "Source",
    "Topology",
    "Tpu",
    "WorkloadPolicy",
    "catalog",
    "checked",
    "closest",
    "disputes",
    "family",
    "machine",
    "machines",
    "tpu_topologies",
    "tpu_topology",
    "unconfirmed",
]
