"""Who may do what: personas, CI, the service perimeter, organization policies."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, GetJsonSchemaHandler, model_serializer, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from groundplan.blueprints.model.basics import Model, Name, Principal, Role, Text, Whole
from groundplan.blueprints.quantities import Matching, Seconds, unknown_word


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
    """Personas; what each may do depends on the tier. Roles are only added, never authoritative."""

    operators: tuple[Principal, ...] = Field((), description="Run the platform.")
    ml_engineers: tuple[Principal, ...] = Field(
        (), description="Build models; work in development, look elsewhere."
    )
    data_scientists: tuple[Principal, ...] = Field((), description="Explore data in development.")
    auditors: tuple[Principal, ...] = Field((), description="Read configuration and logs.")
    break_glass: BreakGlass | None = Field(None, description="Emergency access through an entitlement.")
    grants: dict[Principal, tuple[Role, ...]] = Field(
        {}, description="Further roles on the project, by principal."
    )


class ServiceMethods(Model):
    """What of a service a perimeter rule opens."""

    methods: tuple[Text, ...] = Field((), description='Method names, or "*".')
    permissions: tuple[Text, ...] = Field((), description="Permission names.")


class RuleFrom(Model):
    """Where a perimeter rule lets requests come from."""

    identities: tuple[Text, ...] = Field(
        (), description="Principals: user:, group:, serviceAccount:, principal:// or principalSet://."
    )
    identity_type: Literal["any", "any-user", "any-service-account"] | None = Field(
        None, description="A class of principals instead."
    )
    sources: tuple[Text, ...] = Field(
        (),
        description="access_levels/NAME; projects/NUMBER, or projects/ID of this platform; a VPC network as "
        "//compute.googleapis.com/projects/ID/global/networks/NAME. None written means any place.",
    )


class RuleTo(Model):
    """What a perimeter rule lets requests reach."""

    resources: tuple[Text, ...] = Field(
        (),
        description='"*", or projects: the environment\'s own for ingress, others by number for egress.',
    )
    services: dict[str, ServiceMethods] = Field(
        {}, description='Services with their methods; without any, all of the service. "*" for all services.'
    )
    roles: tuple[Role, ...] = Field((), description="Roles instead of services.")


class PerimeterRule(Model):
    """One ingress or egress rule; its key is its title, after the environment's name."""

    from_: RuleFrom = Field(
        default_factory=RuleFrom.model_construct, alias="from", description="Who and where from."
    )
    to: RuleTo = Field(default_factory=RuleTo.model_construct, description="What it reaches.")


class AccessCondition(Model):
    """One condition of an access level; everything in it must hold."""

    ip_ranges: tuple[Text, ...] = Field((), description="Public address ranges.")
    members: tuple[Text, ...] = Field((), description="user: and serviceAccount: principals.")
    regions: tuple[Text, ...] = Field((), description="Two-letter country codes.")


class AccessLevel(Model):
    """A named set of conditions. It opens nothing until a rule names it as a source."""

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
    ingress: dict[str, PerimeterRule] | None = Field(
        None, description="Ingress rules on trial, instead of the enforced ones; left out, the same."
    )
    egress: dict[str, PerimeterRule] | None = Field(
        None, description="Egress rules on trial, instead of the enforced ones; left out, the same."
    )


class Perimeter(Model):
    """The VPC Service Controls perimeter around the environment's project."""

    mode: Literal["none", "dry-run", "enforced"] = Field(
        "none", description="none, dry-run (only log) or enforced."
    )
    existing: Text | None = Field(
        None,
        description="A perimeter that somebody else owns, accessPolicies/NUMBER/servicePerimeters/NAME: "
        "the project becomes a member of it.",
    )
    access_policy: (
        Annotated[
            str,
            Matching(
                r"(accessPolicies/)?[0-9]{1,30}", "an access policy has a number: accessPolicies/123456789"
            ),
        ]
        | None
    ) = Field(None, description="Number of the access policy, instead of the one that the foundation makes.")
    restricted_services: RestrictedServices = Field(
        default_factory=RestrictedServices.model_construct, description="Changes to the shipped list."
    )
    access_levels: dict[Name, AccessLevel] = Field(
        {}, description="Named conditions, for the sources of rules."
    )
    ingress: dict[str, PerimeterRule] = Field({}, description="Rules for requests from outside.")
    egress: dict[str, PerimeterRule] = Field({}, description="Rules for requests to outside.")
    dry_run: TrialPerimeter | None = Field(None, description="A trial overlay beside the enforced perimeter.")


#: One word for a constraint, and what it means.
_POLICY_WORDS = {
    "true": "enforced",
    "false": "off",
    "allow-all": "allow-all",
    "deny-all": "deny-all",
    "unset": "unset",
}


class OrgPolicy(Whole):
    """What one constraint demands: a word, or lists of values."""

    short_form: ClassVar[bool] = True
    written: ClassVar[tuple[str, ...]] = ("allow", "deny")

    kind: Literal["enforced", "off", "allow-all", "deny-all", "unset", "values"] = Field(
        "values", exclude=True, description="Which of them."
    )
    allow: tuple[Text, ...] = Field((), description="Values that are allowed, and no others.")
    deny: tuple[Text, ...] = Field((), description="Values that are denied.")

    @model_serializer
    def _as_written(self) -> Any:
        words = {kind: word for word, kind in _POLICY_WORDS.items()}
        if self.kind in ("enforced", "off"):
            return self.kind == "enforced"
        lists = {"allow": list(self.allow), "deny": list(self.deny)}
        return words.get(self.kind) or {key: values for key, values in lists.items() if values}

    @model_validator(mode="before")
    @classmethod
    def _one_word(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            word = str(value).lower()
            if word not in _POLICY_WORDS:
                raise unknown_word(word, tuple(_POLICY_WORDS), "{allow: [VALUE]}, {deny: [VALUE]}")
            return {"kind": _POLICY_WORDS[word]}
        if "kind" not in value and not (value.get("allow") or value.get("deny")):
            raise ValueError(
                "write true, false, allow-all, deny-all, unset, {allow: [VALUE]} or {deny: [VALUE]}"
            )
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        schema.get("properties", {}).pop("kind", None)
        return {"anyOf": [{"enum": [True, False, "allow-all", "deny-all", "unset"]}, schema]}


class OrgPolicies(Model):
    """Organization policies on the environment's folder, or on its project if that exists already."""

    preset: Literal["none", "starter", "hardened"] = Field(
        "none", description="The shipped set to start from."
    )
    override: dict[Text, OrgPolicy] = Field(
        {},
        description="Constraint → value, over the preset: true, false, allow-all, deny-all, "
        "{allow: [VALUE]}, {deny: [VALUE]}, or unset to leave it as it is above.",
    )
