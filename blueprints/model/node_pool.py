"""Node pools: machines of one kind, and how they are obtained."""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, GetJsonSchemaHandler, model_serializer, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from groundplan.blueprints.model.basics import Item, Model, Name, ProjectId, Text, Whole, Zone
from groundplan.blueprints.quantities import (
    Boolean,
    Gib,
    Integer,
    Matching,
    Seconds,
    unknown_word,
    whole_number,
)


class Nodes(Whole):
    """Number of nodes of one GKE node pool: fixed, or between two bounds.

    ``nodes: 4`` is written for a fixed number; it has ``min == max == 4`` and ``fixed``.
    """

    short_form: ClassVar[bool] = True
    written: ClassVar[tuple[str, ...]] = ("min", "max")

    min: Integer = Field(0, ge=0, description="Fewest nodes.")
    max: Integer = Field(ge=0, description="Most nodes.")
    fixed: Boolean = Field(False, exclude=True, description="The number does not change with the load.")

    @model_serializer
    def _as_written(self) -> int | dict[str, int]:
        return self.max if self.fixed else {"min": self.min, "max": self.max}

    @model_validator(mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        try:
            number = whole_number(value)
        except ValueError:
            number = -1
        if number < 0:
            raise ValueError("write a number of nodes, or {min: 0, max: 4}")
        return {"min": number, "max": number, "fixed": True}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        schema.get("properties", {}).pop("fixed", None)
        return {"anyOf": [{"type": "integer", "minimum": 0}, schema]}


class ReservationBlock(Model):
    """Nodes in one block of a reservation."""

    nodes: Integer = Field(ge=1, le=65000, description="Nodes in this block.")
    sub_blocks: tuple[Name, ...] = Field((), description="Sub-blocks to use.")


class Reservation(Model):
    """A reservation to consume."""

    short_form: ClassVar[bool] = True

    name: Name = Field(description="Name of the reservation.")
    project: ProjectId | None = Field(None, description="Project that owns it, where it is a shared one.")
    blocks: dict[Name, ReservationBlock] = Field({}, description="Blocks, each becomes a GKE node pool.")

    @model_validator(mode="before")
    @classmethod
    def _only_a_name(cls, value: Any) -> Any:
        name = value.get("name") if isinstance(value, dict) else value
        if isinstance(name, str) and "/" in name:
            raise _reservation_path(name)
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler.resolve_ref_schema(handler(core))]}


def _reservation_path(path: str) -> PydanticCustomError:
    """The refusal of a path in place of a name; its type is the code of the rule."""
    parts = re.fullmatch(
        r"(?:projects/(?P<project>[^/]+)/reservations/)?(?P<name>[^/]+)"
        r"(?:/reservationBlocks/(?P<block>[^/]+)(?:/reservationSubBlocks/(?P<sub_block>[^/]+))?)?",
        path,
    )
    keys = [f"name: {parts['name'] if parts else 'NAME'}"]
    if parts and parts["project"]:
        keys.append(f"project: {parts['project']}")
    if parts and parts["block"]:
        sub_blocks = f"sub_blocks: [{parts['sub_block']}], " if parts["sub_block"] else ""
        keys.append(f"blocks: {{{parts['block']}: {{{sub_blocks}nodes: N}}}}")
    return PydanticCustomError(
        "RS005",
        "a reservation is named by its parts, not by a path",
        {"hint": f"Write `reservation: {{{', '.join(keys)}}}`."},
    )


CapacityKind = Literal["on-demand", "spot", "flex-start", "queued", "any-reservation", "reservation"]
CAPACITY_WORDS = ("on-demand", "spot", "flex-start", "queued", "any-reservation")


class Capacity(Whole):
    """How the machines of a pool are obtained: one word, or ``{reservation: …}``."""

    short_form: ClassVar[bool] = True
    written: ClassVar[tuple[str, ...]] = (*CAPACITY_WORDS, "reservation")

    kind: CapacityKind = Field("on-demand", description="One of the ways.")
    reservation: Reservation | None = Field(None, description="The reservation, where kind is reservation.")

    @model_serializer
    def _as_written(self) -> Any:
        return self.kind if self.reservation is None else {"reservation": self.reservation}

    @model_validator(mode="before")
    @classmethod
    def _one_way(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value not in CAPACITY_WORDS:
                raise unknown_word(value, CAPACITY_WORDS, "{reservation: NAME}")
            return {"kind": value}
        if not isinstance(value, dict) or "kind" in value:
            return value
        ways = [key for key in value if key in cls.written]
        if ways == ["reservation"]:
            return {"kind": "reservation", "reservation": value["reservation"]}
        if len(ways) == 1:
            return {"kind": ways[0]}
        if len(ways) > 1:
            raise _several_ways(ways)
        raise ValueError(f"write one of {', '.join(CAPACITY_WORDS)}, or {{reservation: NAME}}")

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


#: Two ways that exclude each other, and the code of the rule that says so; others are one rule's.
_EXCLUSIVE = {
    ("spot", "flex-start"): "CO002",
    ("spot", "queued"): "CO003",
    ("spot", "any-reservation"): "CO004",
    ("spot", "reservation"): "CO004",
    ("flex-start", "any-reservation"): "CO005",
    ("flex-start", "reservation"): "CO005",
    ("queued", "any-reservation"): "CO005",
    ("queued", "reservation"): "CO005",
}


def _several_ways(ways: list[str]) -> PydanticCustomError:
    """The refusal of more than one way; its type is the code of the rule that is broken."""
    first, second = next((pair for pair in _EXCLUSIVE if {*pair} <= {*ways}), (ways[0], ways[1]))
    words = {way: f"`capacity: {way}`" for way in CAPACITY_WORDS}
    words["reservation"] = "`capacity: {reservation: NAME}`"
    consumes = " cannot consume a reservation"
    message = "{first}" + (consumes if "reservation" in second else " and {second} exclude each other")
    return PydanticCustomError(
        _EXCLUSIVE.get((first, second), "CO001"),
        message,
        {
            "first": first,
            "second": second,
            "hint": f"GKE refuses the pool. Write {words[first]}, or {words[second]}.",
        },
    )


class GpuSharing(Whole):
    """Several containers on one GPU."""

    strategy: Literal["time-sharing", "mps"] = Field(description="time-sharing or mps.")
    clients: Integer = Field(ge=1, description="Containers that may share one GPU, 2 to 48.")


class Gpu(Model):
    """The GPUs of each machine; type and number come from the machine where it fixes them."""

    type: Text | None = Field(
        None, description="Accelerator type, for machines that leave it open: nvidia-tesla-t4."
    )
    count: Integer | None = Field(
        None, ge=1, description="GPUs per machine, for machines that leave it open."
    )
    driver: Literal["default", "latest", "none"] = Field("default", description="Driver that GKE installs.")
    sharing: GpuSharing | None = Field(None, description="Let containers share a GPU.")
    partition: Text | None = Field(None, description="MIG partition size: 1g.5gb.")


class LocalSsd(Model):
    """Local SSDs of each machine."""

    mode: Literal["ephemeral", "block", "none"] = Field(
        "none", description="Storage for pods, raw block devices, or none."
    )
    count: Integer | None = Field(None, ge=1, description="Disks, for machines that leave it open.")


class BootDisk(Model):
    """The boot disk of each node."""

    type: Text = Field("pd-balanced", description="pd-balanced, pd-ssd, hyperdisk-balanced …")
    size_gib: Gib = Field(100, alias="size", ge=10, le=65536, description="Size.")


class NodeTaint(Model):
    """A Kubernetes taint."""

    key: Text = Field(description="Key.")
    value: str = Field("", description="Value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        "NoSchedule", description="Kubernetes' effect."
    )


class MachineGpus(Model):
    """The GPUs that a machine comes with."""

    type: Text = Field(description="Accelerator type: nvidia-b200.")
    count: Integer = Field(ge=1, description="GPUs of each machine.")


class MachineFacts(Model):
    """What the catalog does not know of a machine type yet. Whoever writes it answers for it."""

    vcpus: Integer | None = Field(None, ge=1, description="vCPUs; else the number at the end of its name.")
    gpu: MachineGpus | None = Field(None, description="The GPUs that it comes with.")
    local_ssds: Integer | None = Field(None, ge=0, description="Local SSDs that it always has.")
    boot_disks: tuple[Text, ...] | None = Field(None, description="Disk types that it boots from.")
    arm: Boolean = Field(False, description="Its CPUs are Arm.")


class NodePool(Item):
    """Machines of one kind in a cluster."""

    machine: Annotated[
        str,
        Matching(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", "a machine type is written e2-standard-4 or a3-highgpu-8g"),
    ] = Field(description="Machine type: e2-standard-4, g2-standard-12, a3-highgpu-8g.")
    machine_facts: MachineFacts | None = Field(
        None, description="Facts about a machine type that groundplan does not know."
    )
    capacity: Capacity = Field(
        default_factory=Capacity.model_construct,
        description="on-demand, spot, flex-start, queued, any-reservation, or {reservation: NAME}.",
    )
    nodes: Nodes | None = Field(None, description="Number of nodes, or {min, max}; the total over all zones.")
    zones: tuple[Zone, ...] = Field((), description="Zones of the nodes; else those of the cluster.")
    topology: (
        Annotated[str, Matching(r"[0-9]{1,4}(x[0-9]{1,4}){1,2}", "a topology is written 2x4 or 4x4x4")] | None
    ) = Field(None, description="TPU topology: 4x4x4.")
    slices: Integer = Field(1, ge=1, le=1000, description="TPU slices; each becomes a GKE node pool.")
    placement: Literal["compact", "none"] = Field(
        "none", description="compact puts the nodes close together."
    )
    networking: Literal["auto", "tcpx", "tcpxo", "rdma", "dranet", "none"] = Field(
        "none", description="Extra GPU networks."
    )
    max_run_seconds: Seconds | None = Field(
        None, alias="max_run_duration", description="Nodes are stopped after this time."
    )
    gpu: Gpu = Field(default_factory=Gpu.model_construct, description="GPUs of each machine.")
    local_ssd: LocalSsd = Field(
        default_factory=LocalSsd.model_construct, description="Local SSDs of each machine."
    )
    boot_disk: BootDisk = Field(
        default_factory=BootDisk.model_construct, description="Boot disk of each node."
    )
    preload: tuple[Text, ...] = Field((), description="Images for secondary boot disks.")
    host_maintenance: Literal["periodic", "as-needed"] | None = Field(
        None, description="When hosts are maintained."
    )
    confidential: Boolean = Field(False, description="Confidential nodes.")
    max_pods_per_node: Integer | None = Field(None, ge=8, le=256, description="Most pods on a node.")
    version: Text | None = Field(None, description="Pin the nodes' Kubernetes version.")
    node_labels: dict[str, str] = Field({}, description="Kubernetes labels of the nodes.")
    node_taints: tuple[NodeTaint, ...] = Field(
        (), description="Kubernetes taints, beside those that GPUs get."
    )
