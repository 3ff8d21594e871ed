"""What roles are granted on: buckets, datasets, repositories, secrets, each with a policy of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundplan.blueprints.model import Bucket, Dataset, Repository, Secret

#: Kind as references have it → the type of resource that grants one role on one of them.
GRANTS = {
    "bigquery": "google_bigquery_dataset_iam_member",
    "buckets": "google_storage_bucket_iam_member",
    "registry": "google_artifact_registry_repository_iam_member",
    "secrets": "google_secret_manager_secret_iam_member",
}


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that roles are granted on."""

    item: Bucket | Dataset | Repository | Secret
    attributes: Mapping[str, Any]  #: of the granting resource: which thing it is


#: Kind → key → thing.
Targets = Mapping[str, Mapping[str, Target]]
