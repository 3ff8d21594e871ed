"""The models of the blueprint language: what the file may say, typed, with a description of every key.

Models say what *shape* a value has. Whether a combination is possible is for ``blueprints.rules``; what a
name becomes in the cloud is for ``blueprints.naming``. Quantities are parsed once and carry their unit in the
attribute's name (``max_run_duration: 3d`` is ``max_run_seconds == 259200``).

A key whose resources groundplan does not make yet is modelled all the same and marked ``LATER``: ``validate``
warns "not provisioned yet", a real plan refuses.
"""

import ipaddress
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.json_schema import GetJsonSchemaHandler, JsonSchemaValue
from pydantic_core import CoreSchema

from groundplan.blueprints.quantities import (
    Boolean,
    Clock,
    Gib,
    Instant,
    Integer,
    MibPerSecond,
    Network,
    Seconds,
)

#: Marks a key that is understood but not provisioned yet.
LATER: dict[str, Any] = {"x-groundplan-later": True}

Name = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]
ProjectId = Annotated[str, StringConstraints(pattern=r"^([a-z][-a-z0-9.]*:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$")]
Region = Annotated[str, StringConstraints(pattern=r"^[a-z]+-[a-z]+\d+$")]
Zone = Annotated[str, StringConstraints(pattern=r"^([a-z]+-[a-z]+\d+-)?[a-z]+\d*[a-z]?$")]
Principal = Annotated[
    str,
    StringConstraints(
        pattern=r"^(user|group|domain|serviceAccount|principal|principalSet):\S+$|^all(Authenticated)?Users$"
    ),
]
Role = Annotated[str, StringConstraints(pattern=r"^((organizations|projects)/[^/]+/)?roles/[A-Za-z0-9_.]+$")]
Tier = Literal["development", "staging", "production"]

TIERS: dict[str, Tier] = {"ml-dev": "development", "ml-staging": "staging", "ml-prod": "production"}
#: Applies run in this order and stop at the first failure.
TIER_ORDER: tuple[Tier, ...] = ("development", "staging", "production")


class Model(BaseModel):
    """What all models share: frozen, strict about keys, filled by the names that people write."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True, defer_build=True
    )


class Item(Model):
    """Something that gets a name in the cloud."""

    name: Name | None = Field(
        None, description="Name in the cloud, instead of the one that follows from the key."
    )
    renamed_from: str | None = Field(
        None, description="The key this item had before: it is moved instead of replaced."
    )
    generation: Integer = Field(
        1,
        ge=1,
        description="Raise it where Google Cloud keeps the old name reserved: the item gets a new name.",
    )


class Names(Model):
    """Patterns for names in the cloud."""

    project: str = Field("{name}-{env}", description="Pattern of project ids; may use {name} and {env}.")
    bucket: str = Field(
        "{project}-{key}", description="Pattern of bucket names; may use {name}, {env}, {project}, {key}."
    )


class External(Model):
    """The outside world that environments may read from."""

    projects: tuple[ProjectId, ...] = Field(
        (), description="Projects that hold reservations or images for all environments."
    )


class Crossing(Model):
    """One declared, read-only way from one environment into another."""

    from_: str = Field(alias="from", description="Environment that is read.")
    to: str = Field(description="Environment that reads.")
    read: str = Field(description="What is read: buckets/NAME.")
    by: str = Field(description="Who reads: workloads/NAME of the reading environment.")


class Foundation(Model):
    """The seed project: state buckets, CI identities, folders and projects of all environments."""

    project: ProjectId = Field(description="Id of the seed project.")
    region: Region = Field("us-central1", description="Region of the state buckets.")


class Engine(Model):
    """The engine that a real run must use."""

    name: Literal["terraform", "tofu"] = Field("terraform", description="terraform or tofu.")
    version: str = Field(">= 1.11", description="Version constraint in Terraform's notation.")


class Providers(Model):
    """Version constraints of the providers."""

    google: str = Field("~> 8.7", description="Constraint on hashicorp/google and hashicorp/google-beta.")


class State(Model):
    """Where real runs keep their state."""

    local: Boolean = Field(
        False, description="Keep state in files beside the blueprint; for trials by one person."
    )
    bucket: str | None = Field(
        None,
        description="An existing Cloud Storage bucket for all states, instead of those of the foundation.",
    )


class Automation(Model):
    """The repository whose CI plans and applies this environment."""

    github: str | None = Field(None, pattern=r"^[\w.-]+/[\w.-]+$", description="OWNER/REPOSITORY on GitHub.")
    gitlab: str | None = Field(None, pattern=r"^[\w./-]+$", description="GROUP/PROJECT on GitLab.")
    branch: str = Field("main", description="Branch that may apply.")


class BreakGlass(Model):
    """Time-limited, approved rights for an emergency."""

    members: tuple[Principal, ...] = Field(description="Who may ask.")
    approvers: tuple[Principal, ...] = Field(description="Who must approve.")
    roles: tuple[Role, ...] = Field(description="Roles that are granted for the time.")
    max_seconds: Seconds = Field(14400, alias="max_duration", description="Longest grant.")


class Access(Model):
    """Personas; what each may do depends on the tier."""

    operators: tuple[Principal, ...] = Field((), description="Run the platform.", json_schema_extra=LATER)
    ml_engineers: tuple[Principal, ...] = Field(
        (), description="Build models; work in development, look elsewhere.", json_schema_extra=LATER
    )
    data_scientists: tuple[Principal, ...] = Field(
        (), description="Explore data in development.", json_schema_extra=LATER
    )
    auditors: tuple[Principal, ...] = Field(
        (), description="Read configuration and logs.", json_schema_extra=LATER
    )
    break_glass: BreakGlass | None = Field(
        None, description="Emergency access through an entitlement.", json_schema_extra=LATER
    )
    grants: dict[Principal, tuple[Role, ...]] = Field(
        {},
        description="Further roles by principal; only added, never authoritative.",
        json_schema_extra=LATER,
    )


class ExistingNetwork(Model):
    """A network that somebody else owns."""

    host_project: ProjectId = Field(description="Project that owns it.")
    network: Name = Field(description="Its name.")


class EnvironmentNetwork(Model):
    """The environment's own VPC."""

    address_space: Network = Field(
        ipaddress.IPv4Network("10.64.0.0/10"),
        description="Ranges of nodes, pods and services are cut from it.",
    )
    nat: Boolean = Field(False, description="Let nodes reach the internet through Cloud NAT.")
    existing: ExistingNetwork | None = Field(
        None, description="Use a shared VPC instead of an own one.", json_schema_extra=LATER
    )


class ServiceMethods(Model):
    """What of a service a perimeter rule opens."""

    methods: tuple[str, ...] = Field((), description='Method names, or "*".')
    permissions: tuple[str, ...] = Field((), description="Permission names.")


class RuleFrom(Model):
    """Where a perimeter rule lets requests come from."""

    identities: tuple[str, ...] = Field((), description="Principals.")
    identity_type: Literal["any", "any-user", "any-service-account"] | None = Field(
        None, description="A class of principals instead."
    )
    sources: tuple[str, ...] = Field((), description="access_levels/NAME or projects/ID.")


class RuleTo(Model):
    """What a perimeter rule lets requests reach."""

    resources: tuple[str, ...] = Field((), description='projects/ID, or "*".')
    services: dict[str, ServiceMethods] = Field({}, description="Services with their methods.")
    roles: tuple[Role, ...] = Field((), description="Roles instead of services.")


class PerimeterRule(Model):
    """One ingress or egress rule; its key is its title."""

    from_: RuleFrom = Field(default_factory=RuleFrom, alias="from", description="Who and where from.")
    to: RuleTo = Field(default_factory=RuleTo, description="What it reaches.")


class AccessCondition(Model):
    """One condition of an access level."""

    ip_ranges: tuple[str, ...] = Field((), description="Address ranges.")
    members: tuple[str, ...] = Field((), description="user: and serviceAccount: principals.")
    regions: tuple[str, ...] = Field((), description="Two-letter country codes.")


class AccessLevel(Model):
    """A named set of conditions."""

    any_of: tuple[AccessCondition, ...] = Field((), description="One of them must hold.")
    all_of: tuple[AccessCondition, ...] = Field((), description="All of them must hold.")


class RestrictedServices(Model):
    """Changes to the shipped list of restricted services."""

    add: tuple[str, ...] = Field((), description="Restrict these too.")
    remove: tuple[str, ...] = Field((), description="Do not restrict these.")


class TrialPerimeter(Model):
    """A dry-run overlay beside the enforced perimeter."""

    restricted_services: RestrictedServices = Field(
        default_factory=RestrictedServices, description="Changes to the enforced list."
    )
    ingress: dict[str, PerimeterRule] = Field({}, description="Ingress rules on trial.")
    egress: dict[str, PerimeterRule] = Field({}, description="Egress rules on trial.")


class Perimeter(Model):
    """The VPC Service Controls perimeter around the environment's project."""

    mode: Literal["none", "dry-run", "enforced"] = Field(
        "none", description="none, dry-run (only log) or enforced.", json_schema_extra=LATER
    )
    existing: str | None = Field(
        None, description="Name of a perimeter that somebody else owns.", json_schema_extra=LATER
    )
    restricted_services: RestrictedServices = Field(
        default_factory=RestrictedServices,
        description="Changes to the shipped list.",
        json_schema_extra=LATER,
    )
    access_levels: dict[Name, AccessLevel] = Field(
        {}, description="Named conditions.", json_schema_extra=LATER
    )
    ingress: dict[str, PerimeterRule] = Field(
        {}, description="Rules for requests from outside.", json_schema_extra=LATER
    )
    egress: dict[str, PerimeterRule] = Field(
        {}, description="Rules for requests to outside.", json_schema_extra=LATER
    )
    dry_run: TrialPerimeter | None = Field(
        None, description="A trial overlay beside the enforced perimeter.", json_schema_extra=LATER
    )


class Encryption(Model):
    """Who manages encryption keys."""

    mode: Literal["google", "cmek"] = Field(
        "google", description="google, or cmek for the environment's own keys.", json_schema_extra=LATER
    )
    keys: dict[Region, str] = Field(
        {}, description="Existing keys by region, instead of new ones.", json_schema_extra=LATER
    )


class OrgPolicies(Model):
    """Organization policies on the environment."""

    preset: Literal["none", "starter", "hardened"] = Field(
        "none", description="The shipped set to start from.", json_schema_extra=LATER
    )
    override: dict[str, Any] = Field(
        {}, description="Constraint → value, over the preset.", json_schema_extra=LATER
    )


class Nodes(Model):
    """Number of nodes of one GKE node pool: fixed, or between two bounds.

    ``nodes: 4`` is written for a fixed number; it has ``min == max == 4`` and ``fixed``.
    """

    min: Integer = Field(0, ge=0, description="Fewest nodes.")
    max: Integer = Field(ge=0, description="Most nodes.")
    fixed: Boolean = Field(False, exclude=True, description="The number does not change with the load.")

    @model_validator(mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
            return {"min": value, "max": value, "fixed": True}
        if isinstance(value, str):
            raise ValueError("write a number of nodes, or {min: 0, max: 4}")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        schema.get("properties", {}).pop("fixed", None)
        return {"anyOf": [{"type": "integer", "minimum": 0}, schema]}


class ReservationBlock(Model):
    """Nodes in one block of a reservation."""

    nodes: Integer = Field(ge=1, description="Nodes in this block.")
    sub_blocks: tuple[str, ...] = Field((), description="Sub-blocks to use.")


class Reservation(Model):
    """A reservation to consume."""

    name: Name = Field(description="Name of the reservation.")
    project: ProjectId | None = Field(None, description="Project that owns it, where it is a shared one.")
    blocks: dict[str, ReservationBlock] = Field({}, description="Blocks, each becomes a GKE node pool.")

    @model_validator(mode="before")
    @classmethod
    def _only_a_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler.resolve_ref_schema(handler(core))]}


CapacityKind = Literal["on-demand", "spot", "flex-start", "queued", "any-reservation", "reservation"]
CAPACITY_WORDS = ("on-demand", "spot", "flex-start", "queued", "any-reservation")


class Capacity(Model):
    """How the machines of a pool are obtained: one word, or ``{reservation: …}``.

    Everything but on-demand and Spot comes with the accelerator modules.
    """

    kind: CapacityKind = Field("on-demand", description="One of the ways.")
    reservation: Reservation | None = Field(None, description="The reservation, where kind is reservation.")

    @model_validator(mode="before")
    @classmethod
    def _one_way(cls, value: Any) -> Any:
        words = " | ".join(CAPACITY_WORDS)
        if isinstance(value, str):
            if value not in CAPACITY_WORDS:
                raise ValueError(f"capacity is one of {words}, or {{reservation: NAME}}, not {value!r}")
            return {"kind": value}
        if isinstance(value, dict) and "kind" not in value:
            ways = [key for key in value if key in (*CAPACITY_WORDS, "reservation")]
            if len(ways) != 1 or len(value) != 1:
                raise ValueError(f"capacity is one way to obtain machines: {words}, or {{reservation: NAME}}")
            return {"kind": "reservation", **value} if ways == ["reservation"] else {"kind": ways[0]}
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        reservation = schema["properties"]["reservation"]
        written = {
            "type": "object",
            "properties": {"reservation": reservation},
            "required": ["reservation"],
            "additionalProperties": False,
        }
        return {"anyOf": [{"enum": list(CAPACITY_WORDS)}, written]}


class GpuSharing(Model):
    """Several containers on one GPU."""

    strategy: Literal["time-sharing", "mps"] = Field(description="time-sharing or mps.")
    clients: Integer = Field(ge=2, le=48, description="Containers that may share one GPU.")


class Gpu(Model):
    """The GPUs of each machine; type and number come from the machine where it fixes them."""

    type: str | None = Field(
        None, description="Accelerator type, for machines that leave it open: nvidia-tesla-t4."
    )
    count: Integer | None = Field(
        None, ge=1, description="GPUs per machine, for machines that leave it open."
    )
    driver: Literal["default", "latest", "none"] = Field("default", description="Driver that GKE installs.")
    sharing: GpuSharing | None = Field(
        None, description="Let containers share a GPU.", json_schema_extra=LATER
    )
    partition: str | None = Field(None, description="MIG partition size: 1g.5gb.", json_schema_extra=LATER)


class LocalSsd(Model):
    """Local SSDs of each machine."""

    mode: Literal["ephemeral", "block", "none"] = Field(
        "none", description="Storage for pods, raw block devices, or none."
    )
    count: Integer | None = Field(None, ge=1, description="Disks, for machines that leave it open.")


class BootDisk(Model):
    """The boot disk of each node."""

    type: str = Field("pd-balanced", description="pd-balanced, pd-ssd, hyperdisk-balanced …")
    size_gib: Gib = Field(100, alias="size", ge=10, le=65536, description="Size.")


class NodeTaint(Model):
    """A Kubernetes taint."""

    key: str = Field(min_length=1, description="Key.")
    value: str = Field("", description="Value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        "NoSchedule", description="Kubernetes' effect."
    )


class NodePool(Item):
    """Machines of one kind in a cluster."""

    machine: str = Field(
        pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)+$",
        description="Machine type: e2-standard-4, g2-standard-12, a3-highgpu-8g.",
    )
    machine_facts: dict[str, Any] | None = Field(
        None, description="What the catalog does not know yet about the machine.", json_schema_extra=LATER
    )
    capacity: Capacity = Field(
        default_factory=lambda: Capacity(kind="on-demand"),
        description="on-demand, spot, flex-start, queued, any-reservation, or {reservation: NAME}.",
    )
    nodes: Nodes | None = Field(None, description="Number of nodes, or {min, max}; the total over all zones.")
    zones: tuple[Zone, ...] = Field((), description="Zones of the nodes; else those of the cluster.")
    topology: str | None = Field(
        None, pattern=r"^\d+(x\d+){1,2}$", description="TPU topology: 4x4x4.", json_schema_extra=LATER
    )
    slices: Integer = Field(
        1, ge=1, description="TPU slices; each becomes a GKE node pool.", json_schema_extra=LATER
    )
    placement: Literal["compact", "none"] = Field(
        "none", description="compact puts the nodes close together.", json_schema_extra=LATER
    )
    networking: Literal["auto", "tcpx", "tcpxo", "rdma", "dranet", "none"] = Field(
        "none", description="Extra GPU networks.", json_schema_extra=LATER
    )
    max_run_seconds: Seconds | None = Field(
        None,
        alias="max_run_duration",
        description="Nodes are stopped after this time.",
        json_schema_extra=LATER,
    )
    gpu: Gpu = Field(default_factory=Gpu, description="GPUs of each machine.")
    local_ssd: LocalSsd = Field(default_factory=LocalSsd, description="Local SSDs of each machine.")
    boot_disk: BootDisk = Field(default_factory=BootDisk, description="Boot disk of each node.")
    preload: tuple[str, ...] = Field(
        (), description="Images for secondary boot disks.", json_schema_extra=LATER
    )
    host_maintenance: Literal["periodic", "as-needed"] | None = Field(
        None, description="When hosts are maintained."
    )
    confidential: Boolean = Field(False, description="Confidential nodes.", json_schema_extra=LATER)
    max_pods_per_node: Integer | None = Field(None, ge=8, le=256, description="Most pods on a node.")
    version: str | None = Field(
        None, description="Pin the nodes' Kubernetes version.", json_schema_extra=LATER
    )
    node_labels: dict[str, str] = Field({}, description="Kubernetes labels of the nodes.")
    node_taints: tuple[NodeTaint, ...] = Field(
        (), description="Kubernetes taints, beside those that GPUs get."
    )


class Ranges(Model):
    """Fixed address ranges, instead of allocated ones."""

    nodes: Network | None = Field(None, description="Primary range of the subnet.")
    pods: Network | None = Field(None, description="Secondary range for pods.")
    services: Network | None = Field(None, description="Secondary range for services.")


class Endpoint(Model):
    """How people and CI reach the control plane; it never has a public address."""

    kind: Literal["dns", "private"] = Field(
        "dns", description="dns: guarded by IAM. private: an address in the VPC."
    )
    external: Boolean = Field(
        False, description="dns only: reachable from outside the VPC, still guarded by IAM."
    )
    authorized_networks: tuple[Network, ...] = Field((), description="private only: ranges that may connect.")


class MaintenanceWindow(Model):
    """When GKE may upgrade, in the zone's local time."""

    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = Field(
        min_length=1, description="Days on which it starts."
    )
    start: Clock = Field(description="Start, HH:MM.")
    duration_seconds: Seconds = Field(alias="duration", description="Length.")
    timezone: str = Field("UTC", description="IANA name: America/New_York.")


class MaintenanceExclusion(Model):
    """A time without upgrades."""

    start: Instant = Field(description="Start, RFC 3339.")
    end: Instant | Literal["end-of-support"] = Field(description="End, RFC 3339, or end-of-support.")
    scope: Literal["no-upgrades", "no-minor-upgrades", "no-minor-or-node-upgrades"] = Field(
        "no-upgrades", description="What must not happen."
    )


class Disruption(Model):
    """The least time between two upgrades."""

    minor_seconds: Seconds | None = Field(None, alias="minor", description="Between minor version upgrades.")
    patch_seconds: Seconds | None = Field(None, alias="patch", description="Between patch upgrades.")


class Maintenance(Model):
    """When GKE may upgrade the cluster."""

    window: MaintenanceWindow | None = Field(None, description="The weekly window.")
    exclusions: dict[Name, MaintenanceExclusion] = Field({}, description="Times without upgrades.")
    disruption: Disruption = Field(default_factory=Disruption, description="Least time between upgrades.")


class Cluster(Item):
    """A GKE cluster."""

    existing: str | None = Field(
        None, description="A cluster that somebody else owns.", json_schema_extra=LATER
    )
    region: Region | None = Field(None, description="Region; else that of the environment.")
    zones: tuple[Zone, ...] = Field(
        (), description="Zones of the nodes: what follows the region's name (a), or full names."
    )
    ranges: Ranges = Field(
        default_factory=Ranges, description="Fixed address ranges, instead of allocated ones."
    )
    min_version: str | None = Field(
        None,
        pattern=r"^\d+\.\d+(\.\d+(-gke\.\d+)?)?$",
        description="Least Kubernetes version of the control plane.",
    )
    release_channel: Literal["rapid", "regular", "stable", "extended", "none"] = Field(
        "regular", description="GKE release channel."
    )
    endpoint: Endpoint = Field(default_factory=Endpoint, description="How the control plane is reached.")
    maintenance: Maintenance = Field(default_factory=Maintenance, description="When GKE may upgrade.")
    compute_classes: dict[Name, tuple[str, ...]] = Field(
        {}, description="Node pools in the order workloads fall back.", json_schema_extra=LATER
    )
    node_pools: dict[Name, NodePool] = Field({}, description="The node pools.")


class Bucket(Item):
    """A Cloud Storage bucket. Never public, uniform access."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][-a-z0-9_.]{1,220}[a-z0-9]$")] | None = Field(
        None, description="Name in the cloud, instead of the one that follows from the key."
    )
    existing: str | None = Field(None, description="A bucket that exists already; it is used, not made.")
    location: str | None = Field(None, description="Location; else the environment's region.")
    hierarchical: Boolean = Field(
        False, description="Hierarchical namespace: folders that rename atomically."
    )
    versioning: Boolean = Field(False, description="Keep old versions of objects.")
    soft_delete_seconds: Seconds | None = Field(
        None, alias="soft_delete", description="How long deleted objects can be restored; 0s turns it off."
    )
    anywhere_cache: tuple[Zone, ...] = Field(
        (), description="Zones with a read cache.", json_schema_extra=LATER
    )


class Disk(Item):
    """A disk; in two zones it is two disks."""

    type: str = Field(description="hyperdisk-ml, hyperdisk-balanced …")
    size_gib: Gib = Field(alias="size", ge=4, le=65536, description="Size.")
    throughput_mib_per_second: MibPerSecond | None = Field(
        None, alias="throughput", description="Provisioned throughput."
    )
    zones: tuple[Zone, ...] = Field(description="Zones; one disk in each.")


class Dataset(Item):
    """A BigQuery dataset."""

    name: str | None = Field(None, pattern=r"^[A-Za-z0-9_]{1,1024}$", description="Name in the cloud.")
    existing: str | None = Field(None, description="A dataset that exists already.")
    location: str | None = Field(None, description="Region or multi-region; else the environment's region.")


class Lustre(Item):
    """A Managed Lustre instance."""

    capacity_gib: Gib = Field(alias="capacity", description="Capacity.")
    throughput_per_tib_mib_per_second: MibPerSecond = Field(
        alias="throughput_per_tib", description="Throughput per TiB."
    )
    zone: Zone | None = Field(None, description="Zone; else the cluster's first.")


class Filestore(Item):
    """A Filestore instance."""

    tier: Literal["zonal", "regional", "enterprise", "basic-hdd", "basic-ssd"] = Field(
        description="Service tier."
    )
    capacity_gib: Gib = Field(alias="capacity", description="Capacity.")
    zone: Zone | None = Field(None, description="Zone; else the cluster's first.")


class Storage(Model):
    """Where data live."""

    buckets: dict[Name, Bucket] = Field({}, description="Cloud Storage buckets.")
    disks: dict[Name, Disk] = Field(
        {}, description="Disks, Hyperdisk ML among them.", json_schema_extra=LATER
    )
    bigquery: dict[Name, Dataset] = Field({}, description="BigQuery datasets.", json_schema_extra=LATER)
    lustre: dict[Name, Lustre] = Field({}, description="Managed Lustre instances.", json_schema_extra=LATER)
    filestore: dict[Name, Filestore] = Field({}, description="Filestore instances.", json_schema_extra=LATER)


class Secret(Item):
    """A Secret Manager container; its value never passes through groundplan."""

    existing: str | None = Field(None, description="A secret that exists already.")


class Repository(Item):
    """An Artifact Registry repository."""

    existing: str | None = Field(None, description="A repository that exists already.")
    format: Literal["docker", "python", "npm", "maven", "apt", "generic"] = Field(
        "docker", description="Package format."
    )
    location: str | None = Field(None, description="Location; else the environment's region.")


class Mount(Model):
    """How a bucket is mounted through Cloud Storage FUSE."""

    profile: Literal["training", "serving", "checkpointing"] = Field(description="GKE's tuning profile.")
    cache: Literal["local-ssd", "memory", "none"] = Field("none", description="Medium of the file cache.")


class Workload(Model):
    """A Kubernetes identity and exactly what it may touch."""

    namespace: Name = Field("default", description="Kubernetes namespace.")
    service_account: Name | None = Field(
        None, description="Kubernetes service account; else the workload's name."
    )
    reads: tuple[str, ...] = Field((), description="buckets/NAME, secrets/NAME, bigquery/NAME …")
    writes: tuple[str, ...] = Field((), description="The same; writes may also delete.")
    mounts: dict[str, Mount] = Field(
        {}, description="Buckets mounted as file systems.", json_schema_extra=LATER
    )
    runs_on: tuple[str, ...] = Field(
        (), description="Node pools or compute classes; cluster/pool where a name is not unique."
    )
    roles: tuple[Role, ...] = Field((), description="Further roles on the project.", json_schema_extra=LATER)
    renamed_from: str | None = Field(None, description="The key this workload had before.")


class Budget(Model):
    """A monthly budget with alerts."""

    monthly: Integer = Field(ge=1, description="Amount in the billing account's currency.")
    currency: str | None = Field(
        None, pattern=r"^[A-Z]{3}$", description="ISO 4217 code; must be the account's."
    )
    alerts: tuple[float, ...] = Field((0.5, 0.9, 1.0), description="Shares of the amount at which to tell.")


class AuditLogs(Model):
    """Audit logs in a bucket of their own."""

    retention_seconds: Seconds = Field(34560000, alias="retention", description="How long they are kept.")


class Gitops(Model):
    """Where Kubernetes manifests are delivered."""

    repository: str = Field(description="Git repository.")
    directory: str = Field(description="Directory in it.")


class TerraformExtras(Model):
    """The escape hatch: own Terraform beside the generated one. Schema- and policy-checked."""

    files: tuple[str, ...] = Field((), description="Terraform files to include.", json_schema_extra=LATER)
    patch: dict[str, dict[str, Any]] = Field(
        {}, description="ADDRESS → attributes to set.", json_schema_extra=LATER
    )


class ProjectSpec(Model):
    """The environment's project."""

    id: ProjectId | None = Field(
        None, description="Project id, instead of the one that follows from the names."
    )
    existing: ProjectId | None = Field(
        None, description="A project that exists already; it is adopted, not made."
    )
    generation: Integer = Field(
        1, ge=1, description="Raise it after deleting the project: its id stays reserved for 30 days."
    )


class EnvironmentSpec(Model):
    """Everything that can differ between environments. ``defaults`` is one, each environment is one."""

    tier: Tier | None = Field(None, description="development, staging or production.")
    protect: Boolean | None = Field(
        None, description="Refuse deletion; else by tier: development false, others true."
    )
    project: ProjectSpec = Field(default_factory=ProjectSpec, description="The environment's project.")
    folder: str | None = Field(
        None,
        pattern=r"^\d+$",
        description="Number of the folder above the environment's own; else the organization.",
    )
    billing_account: str | None = Field(
        None, pattern=r"^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$", description="Billing account."
    )
    region: Region = Field("us-central1", description="Region of everything that does not say otherwise.")
    labels: dict[str, str] = Field({}, description="Google Cloud labels of every resource.")
    automation: Automation | None = Field(
        None, description="The repository whose CI plans and applies.", json_schema_extra=LATER
    )
    access: Access = Field(default_factory=Access, description="People, by persona.")
    network: EnvironmentNetwork = Field(
        default_factory=EnvironmentNetwork, description="The environment's VPC."
    )
    perimeter: Perimeter = Field(default_factory=Perimeter, description="VPC Service Controls.")
    encryption: Encryption = Field(default_factory=Encryption, description="Who manages encryption keys.")
    org_policies: OrgPolicies = Field(default_factory=OrgPolicies, description="Organization policies.")
    clusters: dict[Name, Cluster] = Field({}, description="GKE clusters.")
    storage: Storage = Field(default_factory=Storage, description="Where data live.")
    secrets: dict[Name, Secret] = Field({}, description="Secret containers.", json_schema_extra=LATER)
    registry: dict[Name, Repository] = Field(
        {}, description="Artifact Registry repositories.", json_schema_extra=LATER
    )
    workloads: dict[Name, Workload] = Field({}, description="Kubernetes identities and what they may touch.")
    budget: Budget | None = Field(None, description="Monthly budget.", json_schema_extra=LATER)
    audit_logs: AuditLogs | None = Field(
        None, description="Audit logs in a bucket of their own.", json_schema_extra=LATER
    )
    contacts: dict[
        Literal["all", "billing", "legal", "product-updates", "security", "suspension", "technical"],
        tuple[str, ...],
    ] = Field({}, description="Who Google writes to, by topic.", json_schema_extra=LATER)
    tags: dict[str, str] = Field({}, description="Resource manager tags.", json_schema_extra=LATER)
    apis: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+(\.googleapis\.com)?$")], ...] = Field(
        (), description="APIs beyond those that follow from what is used."
    )
    gitops: Gitops | None = Field(
        None, description="Where Kubernetes manifests are delivered.", json_schema_extra=LATER
    )
    terraform: TerraformExtras = Field(
        default_factory=TerraformExtras, description="Own Terraform beside the generated one."
    )


class Environment(EnvironmentSpec):
    """One environment, merged over the defaults, with what follows from its name."""

    name: str = Field(description="Its key under environments.")
    tier: Tier = Field(description="development, staging or production.")
    protect: bool = Field(description="Whether deletion is refused.")
    platform: Name = Field(description="The blueprint's name.")
    project_id: str = Field(description="Id of its project.")
    bucket_names: dict[str, str] = Field(description="Bucket key → name in the cloud.")

    def cluster_region(self, cluster: Cluster) -> str:
        """The region of a cluster: its own, else the environment's."""
        return cluster.region or self.region


class Tombstone(Model):
    """Leave to destroy an environment that is no longer in the file."""

    confirm: str = Field(description="The environment's project id, to show that it is meant.")


class _Head(Model):
    """What stands at the top of the file, whatever the environments are."""

    api_version: Literal["groundplan/v1"] = Field(alias="apiVersion", description="Version of the language.")
    name: Name = Field(max_length=20, description="Name of the platform; it enters every name in the cloud.")
    organization: str | None = Field(None, pattern=r"^\d+$", description="Number of the organization.")
    names: Names = Field(default_factory=Names, description="Patterns for names in the cloud.")
    external: External = Field(
        default_factory=External, description="The outside world that environments may read from."
    )
    crossings: dict[Name, Crossing] = Field(
        {}, description="The only ways between environments.", json_schema_extra=LATER
    )
    foundation: Foundation | None = Field(None, description="The seed project.")
    engine: Engine = Field(default_factory=Engine, description="The engine that a real run must use.")
    providers: Providers = Field(
        default_factory=Providers, description="Version constraints of the providers."
    )
    state: State = Field(default_factory=State, description="Where real runs keep their state.")
    removed: dict[Name, Tombstone] = Field(
        {},
        description="Environments that may be destroyed after they left the file.",
        json_schema_extra=LATER,
    )


class Blueprint(_Head):
    """One ML platform: its environments, merged over the defaults and complete."""

    environments: dict[Name, Environment] = Field(description="The environments, complete.")


class BlueprintFile(_Head):
    """The file as it is written: ``defaults`` and ``environments`` are specs. The JSON Schema is made from it."""

    defaults: EnvironmentSpec = Field(
        default_factory=EnvironmentSpec, description="What all environments have unless they say otherwise."
    )
    environments: dict[Name, EnvironmentSpec] = Field(min_length=1, description="The environments.")
