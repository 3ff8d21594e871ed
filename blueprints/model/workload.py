"""What runs in a cluster and what it may touch; what is delivered beside it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from groundplan.blueprints.model.basics import LATER, Item, Model, Name, Renamable, Role, Text
from groundplan.blueprints.quantities import Matching


class Mount(Model):
    """How a bucket is mounted through Cloud Storage FUSE."""

    profile: Literal["training", "serving", "checkpointing"] = Field(description="GKE's tuning profile.")
    cache: Literal["local-ssd", "memory", "none"] = Field("none", description="Medium of the file cache.")


class Workload(Renamable):
    """A Kubernetes identity and exactly what it may touch."""

    namespace: Name = Field("default", description="Kubernetes namespace.")
    service_account: Name | None = Field(
        None, description="Kubernetes service account; else the workload's name."
    )
    reads: tuple[Text, ...] = Field((), description="buckets/NAME, secrets/NAME, bigquery/NAME …")
    writes: tuple[Text, ...] = Field((), description="The same; writes may also delete.")
    mounts: dict[str, Mount] = Field(
        {}, description="Buckets mounted as file systems.", json_schema_extra=LATER
    )
    runs_on: tuple[Text, ...] = Field(
        (), description="Node pools or compute classes; cluster/pool where a name is not unique."
    )
    roles: tuple[Role, ...] = Field((), description="Further roles on the project.")
    renamed_from: Name | None = Field(None, description="The key this workload had before.")


class Secret(Item):
    """A Secret Manager container; its value never passes through groundplan."""

    existing: (
        Annotated[
            str,
            Matching(
                r"(projects/[^/]+/secrets/)?[\w-]{1,255}", "a secret is written projects/ID/secrets/NAME"
            ),
        ]
        | None
    ) = Field(
        None,
        description="A secret that exists already: projects/ID/secrets/NAME, or its name in this project.",
    )


class Repository(Item):
    """An Artifact Registry repository."""

    existing: (
        Annotated[
            str,
            Matching(
                r"projects/[^/]+/locations/[^/]+/repositories/[^/]+",
                "a repository is written projects/ID/locations/LOCATION/repositories/NAME",
            ),
        ]
        | None
    ) = Field(None, description="A repository that exists already.")
    format: Literal["docker", "python", "npm", "maven", "apt", "generic"] = Field(
        "docker", description="Package format."
    )
    location: Text | None = Field(None, description="Location; else the environment's region.")


class Gitops(Model):
    """Where Kubernetes manifests are delivered."""

    repository: Text = Field(description="Git repository.")
    directory: Text = Field(description="Directory in it.")


class TerraformExtras(Model):
    """The escape hatch: own Terraform beside the generated one. Schema- and policy-checked."""

    files: tuple[Text, ...] = Field((), description="Terraform files to include.", json_schema_extra=LATER)
    patch: dict[str, dict[str, Any]] = Field(
        {}, description="ADDRESS → attributes to set.", json_schema_extra=LATER
    )
