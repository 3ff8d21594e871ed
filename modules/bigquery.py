"""BigQuery datasets: who may read or write one is said on the dataset, who may run queries on the project.

A dataset is in one region or in one multi-region for ever (BigQuery docs, "Dataset locations"). Deleting a
dataset that still has tables is refused in protected environments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.naming import cloud_key, suffixed
from groundplan.modules.graph import Graph, Lifecycle
from groundplan.modules.keys import Keys
from groundplan.modules.names import stack_name
from groundplan.modules.services import Services
from groundplan.modules.targets import Target

if TYPE_CHECKING:
    from groundplan.blueprints.model import Dataset, Environment


def add_datasets(graph: Graph, env: Environment, keys: Keys, services: Services) -> dict[str, Target]:
    """Add the environment's datasets; by key."""
    found: dict[str, Target] = {}
    for key, dataset in env.storage.bigquery.items():
        if dataset.existing:
            found[key] = Target(dataset, existing_dataset(dataset.existing))
            continue
        location = dataset.location or env.region
        with graph.at("storage", "bigquery", key):
            encryption = keys.use("bigquery", location)
            made = graph.add(
                "google_bigquery_dataset",
                stack_name((key, dataset)),
                dataset_id=dataset_id(key, dataset),
                location=location if "-" in location else location.upper(),
                delete_contents_on_destroy=not env.protect,
                default_encryption_configuration=encryption.block("kms_key_name"),
                lifecycle=Lifecycle(prevent_destroy=env.protect),
                depends_on=[*services.needs("bigquery"), *encryption.grants],
            )
        found[key] = Target(dataset, {"dataset_id": made["dataset_id"]})
    return found


def dataset_id(key: str, dataset: Dataset) -> str:
    """The id of a dataset, which has no hyphens."""
    return suffixed(dataset.name or cloud_key(key, dataset), dataset.generation).replace("-", "_")


def existing_dataset(name: str) -> dict[str, str]:
    """What names a dataset that exists: ``PROJECT.DATASET``, or its id alone."""
    project, dot, dataset = name.rpartition(".")
    return {"project": project, "dataset_id": dataset} if dot else {"dataset_id": name}
