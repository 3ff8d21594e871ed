"""Where data live and who holds their keys."""

from typing import Annotated, Literal

from pydantic import Field

from groundplan.blueprints.model.basics import LATER, BucketName, Item, Model, Name, Region, Text, Zone
from groundplan.blueprints.quantities import Boolean, Gib, Matching, MibPerSecond, Seconds


class Bucket(Item):
    """A Cloud Storage bucket. Never public, uniform access."""

    name: BucketName | None = Field(
        None, description="Name in the cloud, instead of the one that follows from the key."
    )
    existing: BucketName | None = Field(
        None, description="A bucket that exists already; it is used, not made."
    )
    location: Text | None = Field(None, description="Location; else the environment's region.")
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

    type: Text = Field(description="hyperdisk-ml, hyperdisk-balanced …")
    size_gib: Gib = Field(alias="size", ge=1, description="Size.")
    throughput_mib_per_second: MibPerSecond | None = Field(
        None, alias="throughput", description="Provisioned throughput."
    )
    zones: tuple[Zone, ...] = Field(description="Zones; one disk in each.")


class Dataset(Item):
    """A BigQuery dataset."""

    name: (
        Annotated[str, Matching(r"\w{1,1024}", "a dataset's name has letters, digits and underscores")] | None
    ) = Field(None, description="Name in the cloud.")
    existing: Text | None = Field(
        None, description="A dataset that exists already: PROJECT.DATASET, or its id in this project."
    )
    location: Text | None = Field(None, description="Region or multi-region; else the environment's region.")


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
    bigquery: dict[Name, Dataset] = Field({}, description="BigQuery datasets.")
    lustre: dict[Name, Lustre] = Field({}, description="Managed Lustre instances.", json_schema_extra=LATER)
    filestore: dict[Name, Filestore] = Field({}, description="Filestore instances.", json_schema_extra=LATER)


class Encryption(Model):
    """Who manages encryption keys."""

    mode: Literal["google", "cmek"] = Field(
        "google", description="google, or cmek for the environment's own keys."
    )
    keys: dict[
        Region,
        Annotated[
            str,
            Matching(
                r"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+",
                "a key is written projects/ID/locations/REGION/keyRings/RING/cryptoKeys/KEY",
            ),
        ],
    ] = Field({}, description="Existing keys by region, instead of new ones; cmek only.")
