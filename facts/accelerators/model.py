"""The facts about machines as types. Unless a field says otherwise, None means: no source confirms it."""

from __future__ import annotations

import datetime
from typing import Literal

import msgspec

#: Groups of a machine's facts that share their sources.
Group = Literal["shape", "local_ssd", "disks", "network", "consumption", "placement"]
#: What a cluster must be new enough for.
FeatureName = Literal[
    "default_gpu_driver",
    "flex_start_gpu",
    "flex_start_tpu",
    "gcsfuse_buffered_read",
    "gcsfuse_file_cache",
    "gcsfuse_read_ahead",
    "managed_dranet",
    "multislice",
    "secondary_boot_disks",
]
#: Name of a VPC network profile, without the ``ZONE-`` before it.
NetworkProfile = Literal["vpc-roce", "vpc-roce-metal"]
#: Ways to obtain machines, in the words of the blueprint's ``capacity``, and the facts that answer for them.
CAPACITY = {
    "on-demand": "on_demand",
    "spot": "spot",
    "flex-start": "flex_start",
    "queued": "flex_start",
    "any-reservation": "any_reservation",
    "reservation": "reservation",
}


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
    sources: tuple[str, ...]


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
    multi_host: tuple[str, ...] = ()  #: the 2-D slices that several machines form
    max_cubes: int | None = None  #: the most cubes of 4x4x4 in a 3-D slice; None: it forms no 3-D slices
    any_order: bool = False  #: the sides of a 3-D slice need not ascend


class LocalSsd(Facts, frozen=True, kw_only=True):
    """Local SSDs: a fixed number, a choice of numbers (none is always one), or, with neither, none at all."""

    fixed: int | None = None  #: exactly these come with the machine; None: it leaves the number open
    allowed: tuple[int, ...] = ()
    gib: int = 375  #: size of one disk


class GpuDirect(Facts, frozen=True, kw_only=True):
    """The networks over which GPUs of different machines talk."""

    kind: Literal["TCPX", "TCPXO", "RDMA"]
    nics: int  #: network interfaces for GPUs
    extra_networks: int  #: VPCs beside the node's own one and the RDMA VPC
    mtu: int
    rdma_subnets: int = 0  #: subnets to make in the RDMA VPC
    network_profile: Literal["vpc-roce", "vpc-roce-metal"] | None = None  #: after ``ZONE-``; None: no such VP
    nic_type: str = "GVNIC"  #: of the extra networks
    min_gke: dict[str, str] | None = None  #: minor version of GKE → the first patch that works


class Consumption(Facts, frozen=True, kw_only=True):
    """The ways in which machines can be obtained."""

    on_demand: bool | None = None
    spot: bool | None = None
    flex_start: bool | None = None
    any_reservation: bool | None = None
    reservation: bool | None = None  #: one that is named


class WorkloadPolicy(Facts, frozen=True, kw_only=True):
    """A HIGH_THROUGHPUT workload policy with an accelerator topology, without which nodes do not start."""

    required: Literal["always", "multi-host"]
    topologies: tuple[str, ...] = ()  #: to choose from; empty: that of the TPU slice
    max_nodes: int | None = None  #: of one policy; None: those of the TPU slice


class Shared(Facts, frozen=True, kw_only=True):
    """What machine types and families of them have in common."""

    arm: bool = False
    attachable_gpus: dict[str, dict[int, int]] = {}  #: accelerator type → count → the most vCPUs
    local_ssd: LocalSsd | None = None
    boot_disks: tuple[str, ...] | None = None
    data_disks: tuple[str, ...] | None = None
    managed_dranet: bool | None = None
    consumption: Consumption = Consumption()
    compact: bool | None = None
    compact_max: int | None = None  #: the most nodes of a compact group
    compact_with_flex_start: bool = False
    sources: dict[Group, tuple[str, ...]]  #: keys of ``Catalog.sources``


class Machine(Shared, frozen=True, kw_only=True):
    """One machine type."""

    name: str
    family: str  #: ``a3``
    series: str  #: ``A3 Ultra``
    vcpus: int
    memory_gb: float | None = None
    bare_metal: bool = False
    gpu: Gpu | None = None  #: None: it comes with none
    tpu: Tpu | None = None  #: None: it has none
    without_local_ssd: bool = False  #: there is a ``-nolssd`` variant
    max_disks: int | None = None
    disk_limits: dict[str, int] = {}  #: disk type → how many can be attached
    hyperdisk_ml_since: datetime.date | None = None  #: only volumes made on this day or later; None: any
    nics: int | None = None
    gbps: int | None = None
    gpudirect: GpuDirect | None = None  #: None: it has none
    confidential: tuple[str, ...] | None = None
    flex_start_zones: tuple[str, ...] | None = None
    workload_policy: WorkloadPolicy | None = None  #: None: it needs none
    notes: tuple[str, ...] = ()

    @property
    def is_tpu(self) -> bool:
        """Whether it has TPU chips."""
        return self.tpu is not None

    def offers(self, capacity: str) -> bool | None:
        """Whether machines can be obtained in this way, a key of ``CAPACITY``; None: not confirmed."""
        answer: bool | None = getattr(self.consumption, CAPACITY[capacity])
        return answer

    def attaches(self, disk: str) -> bool | None:
        """Whether a data disk of this type can be attached: ``hyperdisk-ml``; None: not confirmed."""
        return None if self.data_disks is None else disk in self.data_disks


class Shape(Facts, frozen=True, kw_only=True):
    """The sizes of one class of a family: ``standard``, ``highmem``."""

    gb_per_vcpu: float
    vcpus: tuple[int, ...]


class CpuFamily(Shared, frozen=True, kw_only=True):
    """Machine types that come without accelerators; a name of the family says the rest."""

    title: str
    shapes: dict[str, Shape] = {}  #: class → its sizes; empty: any size


class Feature(Facts, frozen=True, kw_only=True):
    """Something that GKE has from one version on."""

    min_gke: str
    sources: tuple[str, ...]


class Sharing(Facts, frozen=True, kw_only=True):
    """How containers share a GPU."""

    strategies: tuple[str, ...]
    min_clients: int
    max_clients: int
    sources: tuple[str, ...]


class FlexStart(Facts, frozen=True, kw_only=True):
    """Limits of flex-start."""

    max_run_seconds: int
    sources: tuple[str, ...]


class RunTime(Facts, frozen=True, kw_only=True):
    """How long a machine with a limited run time may run."""

    min_seconds: int
    max_seconds: int
    sources: tuple[str, ...]


class Nodes(Facts, frozen=True, kw_only=True):
    """How many nodes there can be."""

    max_per_cluster: int  #: of the largest clusters that GKE has
    sources: tuple[str, ...]


class SecondaryBootDisks(Facts, frozen=True, kw_only=True):
    """How many disks with images a node can have."""

    max: int
    sources: tuple[str, ...]


class HyperdiskMl(Facts, frozen=True, kw_only=True):
    """Limits of one Hyperdisk ML volume. MB is 10^6 bytes, MiB is 2^20."""

    min_gib: int
    max_gib: int
    default_gib: int
    min_mbps_per_gib: float  #: MB/s of throughput for each GiB
    max_mibps: int  #: MiB/s
    max_attached: int  #: machines that read it at the same time
    attached_per_30_seconds: int
    change_interval_hours: int  #: between changes of size or throughput
    sources: tuple[str, ...]


class Limits(Facts, frozen=True, kw_only=True):
    """Limits that no single machine type sets."""

    nodes: Nodes
    run_time: RunTime
    secondary_boot_disks: SecondaryBootDisks
    sharing: Sharing
    flex_start: FlexStart
    hyperdisk_ml: HyperdiskMl


class Dispute(Facts, frozen=True, kw_only=True):
    """A fact about which sources contradict each other."""

    about: str
    of: tuple[str, ...] = ()  #: machine types or series; empty: all
    claims: dict[str, str]  #: key of ``Catalog.sources`` → what it says
    used: str


class Catalog(Facts, frozen=True, kw_only=True):
    """``catalog.json``, written by ``tools/accelerators.py`` from ``catalog.yaml``."""

    sources: dict[str, Source]
    gpus: dict[str, GpuModel]  #: by accelerator type
    machines: dict[str, Machine]
    cpu_families: dict[str, CpuFamily]
    features: dict[FeatureName, Feature]
    limits: Limits
    disputes: tuple[Dispute, ...]
