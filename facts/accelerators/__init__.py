"""Machines with GPUs and TPUs: what they have, what they take, how they can be obtained.

``catalog.yaml`` is the only place where these facts are written; every group of them names its sources and
the day they were checked. What no source confirms is None, and nobody may refuse a blueprint because of it.
"""

from groundplan.facts.accelerators.catalog import catalog, family, machine
from groundplan.facts.accelerators.model import (
    Catalog,
    Consumption,
    CpuFamily,
    Gpu,
    GpuDirect,
    GpuModel,
    LocalSsd,
    Machine,
    Source,
    Tpu,
    WorkloadPolicy,
)

__all__ = [
    "Catalog",
    "Consumption",
    "CpuFamily",
    "Gpu",
    "GpuDirect",
    "GpuModel",
    "LocalSsd",
    "Machine",
    "Source",
    "Tpu",
    "WorkloadPolicy",
    "catalog",
    "family",
    "machine",
]
