"""Which quota of Compute Engine a thing counts against: ``quotas.json``, dated and with its sources.

Three rules stand behind the names. Spot, flex-start and queued machines count against preemptible quotas, and
against the standard ones only in a project that has none (provisioning models). What a reservation holds was
counted when it was made, in the project that owns it; machines that consume it ask for no more. And machine
types that come with GPUs need the quota of the GPUs only, not that of CPUs (allocation quotas).
"""

from __future__ import annotations

import datetime
import functools
from pathlib import Path

import msgspec

from groundplan.facts.accelerators.model import Facts, Source

DATA = Path(__file__).with_name("quotas.json")


class Metric(Facts, frozen=True, kw_only=True):
    """One quota: what a project may use in one region, or in all of them together."""

    name: str  #: in the API: ``NVIDIA_L4_GPUS``; as the console shows it where the API's is not confirmed
    #: What it is counted by besides the region: ``gpu_family``.
    dimensions: dict[str, str] = msgspec.field(default_factory=dict)
    confirmed: bool = True  #: whether a source gives this name


class Pair(Facts, frozen=True, kw_only=True):
    """The quotas of one kind of accelerator."""

    standard: Metric
    preemptible: Metric | None = None  #: None: it is not offered as Spot or flex-start


class Accelerators(Facts, frozen=True, kw_only=True):
    """GPUs by accelerator type, TPUs by generation. Counted in GPUs and in chips."""

    sources: tuple[str, ...]
    by_type: dict[str, Pair]


class Cpus(Facts, frozen=True, kw_only=True):
    """vCPUs, by the family of the machine."""

    sources: tuple[str, ...]
    by_family: dict[str, str]  #: families with a quota of their own or of the first generation
    with_accelerators: dict[str, str]  #: families that none is counted for → why
    other: str  #: all other families, each by its dimension ``vm_family``
    preemptible: str  #: all families together


class LocalSsds(Facts, frozen=True, kw_only=True):
    """GB of Local SSDs."""

    sources: tuple[str, ...]
    standard: str  #: by its dimension ``vm_family``
    preemptible: str


class Disks(Facts, frozen=True, kw_only=True):
    """GB of disks, by type; a type that is not listed has a quota whose name no source confirms."""

    sources: tuple[str, ...]
    by_type: dict[str, Metric]
    ml_throughput: str  #: MiB/s of Hyperdisk ML


class Nat(Facts, frozen=True, kw_only=True):
    """External addresses of Cloud NAT."""

    sources: tuple[str, ...]
    nodes_per_address: int
    why: str


class Quotas(Facts, frozen=True, kw_only=True):
    """``quotas.json``."""

    sources: dict[str, Source]
    gpus: Accelerators
    tpus: Accelerators
    cpus: Cpus
    local_ssd: LocalSsds
    disks: Disks
    nat: Nat


@functools.cache
def quotas() -> Quotas:
    """Everything that is known about quotas."""
    return msgspec.json.decode(DATA.read_bytes(), type=Quotas)


def checked() -> datetime.date:
    """The day on which these facts were checked, the earliest of their sources."""
    return min(source.checked for source in quotas().sources.values())


def accelerator_quota(kind: str, *, preemptible: bool) -> Metric:
    """The quota of a GPU (by accelerator type) or of a TPU (by generation)."""
    known = quotas().gpus.by_type.get(kind) or quotas().tpus.by_type.get(kind)
    if known is None:
        return Metric(name=kind, confirmed=False)
    return known.preemptible if preemptible and known.preemptible else known.standard


def cpu_quota(family: str, *, preemptible: bool) -> Metric | None:
    """The quota of vCPUs of a family of machines (``n2``); None where none is counted."""
    cpus = quotas().cpus
    if family in cpus.with_accelerators:
        return None
    if preemptible:
        return Metric(name=cpus.preemptible)
    if family in cpus.by_family:
        return Metric(name=cpus.by_family[family])
    return Metric(name=cpus.other, dimensions={"vm_family": family.upper()})


def local_ssd_quota(family: str, *, preemptible: bool) -> Metric:
    """The quota of Local SSDs of a family of machines."""
    if preemptible:
        return Metric(name=quotas().local_ssd.preemptible)
    return Metric(name=quotas().local_ssd.standard, dimensions={"vm_family": family.upper()})


def disk_quota(kind: str) -> Metric:
    """The quota of a type of disk: ``pd-balanced``."""
    return quotas().disks.by_type.get(kind) or Metric(name=f"{kind} capacity", confirmed=False)
