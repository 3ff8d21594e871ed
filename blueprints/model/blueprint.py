"""The file as a whole: whose platform it is, and its environments."""

from typing import Annotated, Literal

from pydantic import Field

from groundplan.blueprints.model.basics import Model, Name, Number, ProjectId, Region, Text, Zone
from groundplan.blueprints.model.environment import Environment, EnvironmentSpec
from groundplan.blueprints.quantities import Boolean, Integer, Matching


class Names(Model):
    """Patterns for names in the cloud."""

    project: Text = Field("{name}-{env}", description="Pattern of project ids; may use {name} and {env}.")
    bucket: Text = Field(
        "{project}-{key}", description="Pattern of bucket names; may use {name}, {env}, {project}, {key}."
    )


class ExternalReservation(Model):
    """What is known of a reservation that somebody made: pools that consume it are checked against it."""

    machine: Text = Field(description="Machine type of the reserved machines.")
    project: ProjectId | None = Field(None, description="Project that owns it; else that of the consumer.")
    zones: tuple[Zone, ...] = Field((), description="Zones of the reserved machines, by their whole names.")
    nodes: Integer | None = Field(None, ge=1, description="Number of reserved machines.")


class External(Model):
    """The outside world that environments may read from."""

    projects: tuple[ProjectId, ...] = Field(
        (), description="Projects that hold reservations or images for all environments."
    )
    domains: tuple[Annotated[str, Matching(r"[\w-]+(\.[\w-]+)+", "a domain is written example.com")], ...] = (
        Field((), description="Domains of people, besides the one that most of them have.")
    )
    reservations: dict[Name, ExternalReservation] = Field(
        {}, description="Reservations by name, so that what consumes them can be checked."
    )


class Crossing(Model):
    """One declared, read-only way from one environment into another."""

    from_: Text = Field(alias="from", description="Environment that is read.")
    to: Text = Field(description="Environment that reads.")
    read: Text = Field(description="What is read: buckets/NAME or bigquery/NAME.")
    by: Text = Field(description="Who reads: workloads/NAME of the reading environment.")


class Foundation(Model):
    """The seed project: state buckets, CI identities, folders and projects of all environments."""

    project: ProjectId = Field(description="Id of the seed project.")
    region: Region = Field("us-central1", description="Region of the state buckets.")
    generation: Integer = Field(
        1,
        ge=1,
        description="Raise it after the federation pool was deleted: its id stays reserved for 30 days.",
    )


class Engine(Model):
    """The engine that a real run must use."""

    name: Literal["terraform", "tofu", "embedded"] = Field(
        "terraform", description="terraform, tofu, or embedded: the Terraform of the Python package."
    )
    version: Text = Field(">= 1.11", description="Version constraint in Terraform's notation.")


class Providers(Model):
    """Version constraints of the providers."""

    google: Text = Field("~> 8.7", description="Constraint on hashicorp/google and hashicorp/google-beta.")


class State(Model):
    """Where real runs keep their state."""

    local: Boolean = Field(
        False, description="Keep state in files beside the blueprint; for trials by one person."
    )
    bucket: Text | None = Field(
        None,
        description="An existing Cloud Storage bucket for all states, instead of those of the foundation.",
    )


class Tombstone(Model):
    """Leave to destroy an environment that is no longer in the file."""

    confirm: Text = Field(description="The environment's project id, to show that it is meant.")


class BlueprintHead(Model):
    """What stands at the top of the file, whatever the environments are."""

    api_version: Literal["groundplan/v1"] = Field(alias="apiVersion", description="Version of the language.")
    name: Name = Field(max_length=20, description="Name of the platform; it enters every name in the cloud.")
    organization: Number | None = Field(None, description="Number of the organization.")
    names: Names = Field(
        default_factory=Names.model_construct, description="Patterns for names in the cloud."
    )
    external: External = Field(
        default_factory=External.model_construct,
        description="The outside world that environments may read from.",
    )
    crossings: dict[Name, Crossing] = Field({}, description="The only ways between environments.")
    foundation: Foundation | None = Field(None, description="The seed project.")
    engine: Engine = Field(
        default_factory=Engine.model_construct, description="The engine that a real run must use."
    )
    providers: Providers = Field(
        default_factory=Providers.model_construct, description="Version constraints of the providers."
    )
    state: State = Field(
        default_factory=State.model_construct, description="Where real runs keep their state."
    )
    removed: dict[Name, Tombstone] = Field(
        {}, description="Environments that may be destroyed after they left the file."
    )


class Blueprint(BlueprintHead):
    """One ML platform: its environments, merged over the defaults and complete."""

    environments: dict[Name, Environment] = Field(description="The environments, complete.")


class BlueprintFile(BlueprintHead):
    """One ML platform as it is written: its environments, and the defaults they share."""

    defaults: EnvironmentSpec = Field(
        default_factory=EnvironmentSpec.model_construct,
        description="What all environments have unless they say otherwise.",
    )
    environments: dict[Name, EnvironmentSpec] = Field(min_length=1, description="The environments.")
