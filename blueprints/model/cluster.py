"""GKE clusters: where they are, how they are reached, when they are upgraded."""

from typing import Literal

from pydantic import Field

from groundplan.blueprints.model.basics import LATER, Item, Model, Name, Region, Text, Version, Zone
from groundplan.blueprints.model.node_pool import NodePool
from groundplan.blueprints.quantities import Boolean, Clock, Instant, InstantOrEndOfSupport, Network, Seconds


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
    timezone: Text = Field("UTC", description="IANA name: America/New_York.")


class MaintenanceExclusion(Model):
    """A time without upgrades."""

    start: Instant = Field(description="Start, RFC 3339.")
    end: InstantOrEndOfSupport = Field(description="End, RFC 3339, or end-of-support.")
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
    disruption: Disruption = Field(
        default_factory=Disruption.model_construct, description="Least time between upgrades."
    )


class Cluster(Item):
    """A GKE cluster."""

    existing: Text | None = Field(
        None, description="A cluster that somebody else owns.", json_schema_extra=LATER
    )
    region: Region | None = Field(None, description="Region; else that of the environment.")
    zones: tuple[Zone, ...] = Field(
        (), description="Zones of the nodes: what follows the region's name (a), or full names."
    )
    ranges: Ranges = Field(
        default_factory=Ranges.model_construct, description="Fixed address ranges, instead of allocated ones."
    )
    min_version: Version | None = Field(None, description="Least Kubernetes version of the control plane.")
    release_channel: Literal["rapid", "regular", "stable", "extended", "none"] = Field(
        "regular", description="GKE release channel."
    )
    endpoint: Endpoint = Field(
        default_factory=Endpoint.model_construct, description="How the control plane is reached."
    )
    maintenance: Maintenance = Field(
        default_factory=Maintenance.model_construct, description="When GKE may upgrade."
    )
    compute_classes: dict[Name, tuple[Text, ...]] = Field(
        {}, description="Node pools in the order workloads fall back."
    )
    node_pools: dict[Name, NodePool] = Field({}, description="The node pools.")
