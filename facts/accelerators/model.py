"""The facts about machines as types. None always means: no source confirms it."""

from __future__ import annotations

import datetime
from typing import Literal

import msgspec

#: Groups of facts that share their sources.
Group = Literal["shape", "local_ssd", "disks", "network", "consumption", "placement"]


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What all facts have in common: they are read-only, and a misspelt key in the source is an error."""


class Source(Facts, frozen=True, kw_only=True):
    """Where a fact comes from."""

    title: str
    url: str
    state: str  #: the version or the date of the text that was read
    checked: datetime.date  #: when it was read


class GpuModel(Facts, frozen=True, kw_only=True):
    """One kind of GPU; its key is the accelerator type, ``nvidia-l4``."""

    title: str
    memory_gb: int  #: of one GPU
    partitions: dict[str, int] | None = {}  #: MIG partition size → how many fit on one GPU


class Gpu(Facts, frozen=True, kw_only=True):
    """The GPUs that a machine type comes with."""

    type: str  #: accelerator type: ``nvidia-l4``
    count: int
    memory_gb: int  #: all GPUs of the machine together
    fraction: float = 1.0  #: share of a physical GPU that each of them is


class Tpu(Facts, frozen=True, kw_only=True):
    """The TPU chips of a machine type, and the slices it can be part of."""

    type: str  #: GKE's accelerator label: ``tpu-v5p-slice``
    generation: str  #: ``v5p``
    chips: int  #: of one machine
    topology: str  #: the slice that one machine is
    multi_host: tuple[str, ...] = ()  #: further 2-D slices
    max_cubes: int | None = None  #: 3-D slices: the most cubes of 4x4x4; None where there are none
    any_order: bool = False  #: the sides of a 3-D slice need not be in ascending order


class LocalSsd(Facts, frozen=True, kw_only=True):
    """Local SSDs: a fixed number, a choice of numbers (none is always a choice), or neither."""

    fixed: int | None = None  #: GKE attaches exactly these
    allowed: tuple[int, ...] = ()
    gib: int = 375  #: size of one disk


class GpuDirect(Facts, frozen=True, kw_only=True):
    """The networks that GPUs of different machines talk over."""

    kind: Literal["TCPX", "TCPXO", "RDMA"]
    nics: int  #: network interfaces for GPUs
    extra_networks: int  #: VPCs beside the node's own one, without the RDMA VPC
    mtu: int
    rdma_subnets: int = 0  #: subnets of one RDMA VPC, made by hand
    network_profile: Literal["vpc-roce", "vpc-roce-metal"] | None = None  #: of the RDMA VPC, after ``ZONE-``
    nic_type: str = "GVNIC"
    min_gke: dict[str, str] = {}  #: minor version of GKE → first patch that works; empty: not confirmed


class Consumption(Facts, frozen=True, kw_only=True):
    """The ways in which capacity can be obtained."""

    on_demand: bool | None = None
    spot: bool | None = None
    flex_start: bool | None = None
    any_reservation: bool | None = None
    reservation: bool | None = None  #: a named one


class WorkloadPolicy(Facts, frozen=True, kw_only=True):
    """Machines that need a HIGH_THROUGHPUT workload policy carrying a topology."""

    required: Literal["always", "multi-host"]
    topologies: tuple[str, ...] = ()  #: empty: the topology of the TPU slice
    max_nodes: int | None = None  #: of one policy


class Machine(Facts, frozen=True, kw_only=True):
    """One machine type. Methods answer True, False, or None where no source confirms either."""

    name: str
    family: str  #: ``a3``
    series: str  #: ``A3 Ultra``
    vcpus: int
    memory_gb: float | None = None
    arm: bool = False
    bare_metal: bool = False
    gpu: Gpu | None = None  #: None: it comes with none
    tpu: Tpu | None = None
    attachable_gpus: dict[str, dict[int, int]] = {}  #: N1: accelerator type → count → the most vCPUs
    local_ssd: LocalSsd | None = None
    without_local_ssd: bool = False  #: there is a ``-nolssd`` variant
    boot_disks: tuple[str, ...] | None = None
    data_disks: tuple[str, ...] | None = None
    max_disks: int | None = None
    disk_limits: dict[str, int] = {}  #: disk type → how many can be attached
    hyperdisk_ml: bool | None = None
    hyperdisk_ml_since: datetime.date | None = None  #: only volumes created on this day or later
    nics: int | None = None
    gbps: int | None = None
    gpudirect: GpuDirect | None = None  #: None: it has none
    managed_dranet: bool = False
    confidential: tuple[str, ...] | None = None
    consumption: Consumption = Consumption()
    flex_start_zones: tuple[str, ...] | None = None
    compact: bool | None = None
    compact_max: int | None = None  #: the most nodes of a compact group
    compact_with_flex_start: bool = False
    workload_policy: WorkloadPolicy | None = None  #: None: it needs none
    notes: tuple[str, ...] = ()
    sources: dict[Group, tuple[str, ...]]  #: keys of ``Catalog.sources``

    @property
    def is_tpu(self) -> bool:
        """Whether it has TPU chips."""
        return self.tpu is not None

    def offers(self, capacity: str) -> bool | None:
        """Whether machines can be obtained in this way, a word of the blueprint's ``capacity``."""
        consumption = self.consumption
        return {
            "on-demand": consumption.on_demand,
            "spot": consumption.spot,
            "flex-start": consumption.flex_start,
            "queued": consumption.flex_start,
            "any-reservation": consumption.any_reservation,
            "reservation": consumption.reservation,
        }[capacity]

    def attaches(self, disk: str) -> bool | None:
        """Whether a disk of this type can be attached as a data disk."""
        if self.data_disks is not None:
            return disk in self.data_disks
        return self.hyperdisk_ml if disk == "hyperdisk-ml" else None


class CpuFamily(Facts, frozen=True, kw_only=True):
    """Machines without a fixed accelerator. Fields as in ``Machine``; their names say the rest."""

    title: str
    arm: bool = False
    attachable_gpus: dict[str, dict[int, int]] = {}
    local_ssd: LocalSsd | None = None
    boot_disks: tuple[str, ...] | None = None
    data_disks: tuple[str, ...] | None = None
    hyperdisk_ml: bool | None = None
    consumption: Consumption = Consumption()
    compact: bool | None = None
    compact_max: int | None = None
    sources: dict[Group, tuple[str, ...]]


class Catalog(Facts, frozen=True, kw_only=True):
    """``catalog.json``, written by ``tools/accelerators.py`` from ``catalog.yaml``."""

    sources: dict[str, Source]
    gpus: dict[str, GpuModel]
    machines: dict[str, Machine]
    cpu_families: dict[str, CpuFamily]
