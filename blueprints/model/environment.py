"""The environment: everything that can differ between development and production."""

import ipaddress
from typing import Annotated, Literal

from pydantic import Field

from groundplan.blueprints.model.access import Access, Automation, OrgPolicies, Perimeter
from groundplan.blueprints.model.basics import LATER, Model, Name, Number, ProjectId, Region, Text
from groundplan.blueprints.model.cluster import Cluster
from groundplan.blueprints.model.storage import Encryption, Storage
from groundplan.blueprints.model.workload import Gitops, Repository, Secret, TerraformExtras, Workload
from groundplan.blueprints.quantities import Address, Boolean, Integer, Matching, Network, Seconds, Share

Tier = Literal["development", "staging", "production"]
TIERS: dict[str, Tier] = {"ml-dev": "development", "ml-staging": "staging", "ml-prod": "production"}
#: Applies run in this order and stop at the first failure.
TIER_ORDER: tuple[Tier, ...] = ("development", "staging", "production")


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


class ExistingSubnet(Model):
    """A cluster's subnet in a network that somebody else owns."""

    name: Name | None = Field(None, description="Its name; else the one that groundplan would give it.")
    pods: Name = Field("pods", description="Name of its secondary range for pods.")
    services: Name = Field("services", description="Name of its secondary range for services.")


class ExistingNetwork(Model):
    """A network that somebody else owns, with its subnets, routes, firewall rules and DNS."""

    host_project: ProjectId = Field(description="Project that owns it: the host of a Shared VPC.")
    network: Name = Field(description="Its name.")
    subnets: dict[Name, ExistingSubnet] = Field({}, description="Cluster → its subnet.")


class EnvironmentNetwork(Model):
    """The environment's own VPC."""

    address_space: Network = Field(
        ipaddress.IPv4Network("10.64.0.0/10"),
        description="Ranges of nodes, pods and services are cut from it.",
    )
    nat: Boolean = Field(False, description="Let nodes reach the internet through Cloud NAT.")
    google_apis: Literal["private-vip", "restricted-vip", "psc"] | None = Field(
        None,
        description="How nodes reach Google's APIs. restricted-vip: only those that VPC Service Controls "
        "supports; private-vip: all; psc: through an endpoint of the VPC's own. Left out: restricted-vip "
        "with a perimeter, else private-vip.",
    )
    psc_address: Address | None = Field(
        None,
        description="psc only: the endpoint's address, outside of all ranges; else the last one of the "
        "address space.",
    )
    existing: ExistingNetwork | None = Field(None, description="Use a Shared VPC instead of an own one.")


class Budget(Model):
    """A monthly budget with alerts."""

    monthly: Integer = Field(ge=1, description="Amount in the billing account's currency.")
    currency: Annotated[str, Matching(r"[A-Z]{3}", "a currency is its ISO 4217 code: EUR")] | None = Field(
        None, description="ISO 4217 code; must be the account's."
    )
    alerts: tuple[Share, ...] = Field((0.5, 0.9, 1.0), description="Shares of the amount at which to tell.")


class AuditLogs(Model):
    """Audit logs in a bucket of their own; with those of who read which data."""

    retention_seconds: Seconds = Field(
        34560000, alias="retention", description="How long they are kept: 1d to 3650d."
    )


class EnvironmentSpec(Model):
    """Everything that can differ between environments. ``defaults`` is one, each environment is one."""

    tier: Tier | None = Field(None, description="development, staging or production.")
    protect: Boolean | None = Field(
        None, description="Refuse deletion; else by tier: development false, others true."
    )
    project: ProjectSpec = Field(
        default_factory=ProjectSpec.model_construct, description="The environment's project."
    )
    folder: Number | None = Field(
        None, description="Number of the folder above the environment's own; else the organization."
    )
    billing_account: (
        Annotated[
            str,
            Matching(r"[0-9A-F]{6}(-[0-9A-F]{6}){2}", "a billing account is written 01AB23-CD45EF-678901"),
        ]
        | None
    ) = Field(None, description="Billing account.")
    region: Region = Field("us-central1", description="Region of everything that does not say otherwise.")
    labels: dict[str, str] = Field({}, description="Google Cloud labels of every resource.")
    automation: Automation | None = Field(None, description="The repository whose CI plans and applies.")
    access: Access = Field(default_factory=Access.model_construct, description="People, by persona.")
    network: EnvironmentNetwork = Field(
        default_factory=EnvironmentNetwork.model_construct, description="The environment's VPC."
    )
    perimeter: Perimeter = Field(
        default_factory=Perimeter.model_construct, description="VPC Service Controls."
    )
    encryption: Encryption = Field(
        default_factory=Encryption.model_construct, description="Who manages encryption keys."
    )
    org_policies: OrgPolicies = Field(
        default_factory=OrgPolicies.model_construct, description="Organization policies."
    )
    clusters: dict[Name, Cluster] = Field({}, description="GKE clusters.")
    storage: Storage = Field(default_factory=Storage.model_construct, description="Where data live.")
    secrets: dict[Name, Secret] = Field({}, description="Secret containers.")
    registry: dict[Name, Repository] = Field({}, description="Artifact Registry repositories.")
    workloads: dict[Name, Workload] = Field({}, description="Kubernetes identities and what they may touch.")
    budget: Budget | None = Field(None, description="Monthly budget. It tells, and stops nothing.")
    audit_logs: AuditLogs | None = Field(None, description="Audit logs in a bucket of their own.")
    contacts: dict[
        Literal["all", "billing", "legal", "product-updates", "security", "suspension", "technical"],
        tuple[Text, ...],
    ] = Field({}, description="Who Google writes to, by topic.")
    tags: dict[str, str] = Field(
        {}, description="Resource manager tags: key → value, or tagValues/NUMBER for one that exists."
    )
    apis: tuple[
        Annotated[str, Matching(r"[a-z0-9-]+(\.googleapis\.com)?", "an API is written tpu.googleapis.com")],
        ...,
    ] = Field((), description="APIs beyond those that follow from what is used.")
    gitops: Gitops | None = Field(
        None, description="Where Kubernetes manifests are delivered.", json_schema_extra=LATER
    )
    terraform: TerraformExtras = Field(
        default_factory=TerraformExtras.model_construct, description="Own Terraform beside the generated one."
    )


class Environment(EnvironmentSpec):
    """One environment, merged over the defaults, with what follows from its name."""

    name: Text = Field(description="Its key under environments.")
    tier: Tier = Field(description="development, staging or production.")
    protect: bool = Field(description="Whether deletion is refused.")
    platform: Name = Field(description="The blueprint's name.")
    project_id: Text = Field(description="Id of its project.")
    bucket_names: dict[str, str] = Field(description="Bucket key → name in the cloud.")

    def cluster_region(self, cluster: Cluster) -> str:
        """The region of a cluster: its own, else the environment's."""
        return cluster.region or self.region
