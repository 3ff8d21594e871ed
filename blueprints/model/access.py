"""Who may do what: personas, CI, the service perimeter, organization policies."""

from typing import Annotated, Any, Literal

from pydantic import Field

from groundplan.blueprints.model.basics import LATER, Model, Name, Principal, Role, Text
from groundplan.blueprints.quantities import Matching, Seconds


class Automation(Model):
    """The repository whose CI plans and applies this environment."""

    github: (
        Annotated[str, Matching(r"[\w.-]+/[\w.-]+", "write OWNER/REPOSITORY: example/ml-platform")] | None
    ) = Field(None, description="OWNER/REPOSITORY on GitHub.")
    gitlab: (
        Annotated[str, Matching(r"[\w.-]+(/[\w.-]+)+", "write GROUP/PROJECT: example/ml-platform")] | None
    ) = Field(None, description="GROUP/PROJECT on GitLab.")
    branch: Text = Field("main", description="Branch that may apply.")


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


class ServiceMethods(Model):
    """What of a service a perimeter rule opens."""

    methods: tuple[Text, ...] = Field((), description='Method names, or "*".')
    permissions: tuple[Text, ...] = Field((), description="Permission names.")


class RuleFrom(Model):
    """Where a perimeter rule lets requests come from."""

    identities: tuple[Text, ...] = Field((), description="Principals.")
    identity_type: Literal["any", "any-user", "any-service-account"] | None = Field(
        None, description="A class of principals instead."
    )
    sources: tuple[Text, ...] = Field((), description="access_levels/NAME or projects/ID.")


class RuleTo(Model):
    """What a perimeter rule lets requests reach."""

    resources: tuple[Text, ...] = Field((), description='projects/ID, or "*".')
    services: dict[str, ServiceMethods] = Field({}, description="Services with their methods.")
    roles: tuple[Role, ...] = Field((), description="Roles instead of services.")


class PerimeterRule(Model):
    """One ingress or egress rule; its key is its title."""

    from_: RuleFrom = Field(
        default_factory=RuleFrom.model_construct, alias="from", description="Who and where from."
    )
    to: RuleTo = Field(default_factory=RuleTo.model_construct, description="What it reaches.")


class AccessCondition(Model):
    """One condition of an access level."""

    ip_ranges: tuple[Text, ...] = Field((), description="Address ranges.")
    members: tuple[Text, ...] = Field((), description="user: and serviceAccount: principals.")
    regions: tuple[Text, ...] = Field((), description="Two-letter country codes.")


class AccessLevel(Model):
    """A named set of conditions."""

    any_of: tuple[AccessCondition, ...] = Field((), description="One of them must hold.")
    all_of: tuple[AccessCondition, ...] = Field((), description="All of them must hold.")


class RestrictedServices(Model):
    """Changes to the shipped list of restricted services."""

    add: tuple[Text, ...] = Field((), description="Restrict these too.")
    remove: tuple[Text, ...] = Field((), description="Do not restrict these.")


class TrialPerimeter(Model):
    """A dry-run overlay beside the enforced perimeter."""

    restricted_services: RestrictedServices = Field(
        default_factory=RestrictedServices.model_construct, description="Changes to the enforced list."
    )
    ingress: dict[str, PerimeterRule] = Field({}, description="Ingress rules on trial.")
    egress: dict[str, PerimeterRule] = Field({}, description="Egress rules on trial.")


class Perimeter(Model):
    """The VPC Service Controls perimeter around the environment's project."""

    mode: Literal["none", "dry-run", "enforced"] = Field(
        "none", description="none, dry-run (only log) or enforced.", json_schema_extra=LATER
    )
    existing: Text | None = Field(
        None, description="Name of a perimeter that somebody else owns.", json_schema_extra=LATER
    )
    restricted_services: RestrictedServices = Field(
        default_factory=RestrictedServices.model_construct,
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


class OrgPolicies(Model):
    """Organization policies on the environment."""

    preset: Literal["none", "starter", "hardened"] = Field(
        "none", description="The shipped set to start from.", json_schema_extra=LATER
    )
    override: dict[str, Any] = Field(
        {}, description="Constraint → value, over the preset.", json_schema_extra=LATER
    )
