"""Secrets, repositories, datasets and the keys that encrypt them: names and places that fit."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.model import Environment
from groundplan.blueprints.naming import cloud_key, suffixed
from groundplan.blueprints.rules.base import LANGUAGE, EnvironmentView, Problem, environment_rule
from groundplan.blueprints.tree import Path

KMS = "Google Cloud docs, Cloud KMS: locations; BigQuery: customer-managed Cloud KMS keys"
BIGQUERY = "Google Cloud docs, BigQuery: dataset locations"
BILLING = "Google Cloud docs, Cloud Billing: create budgets"
LOGGING = "Google Cloud docs, Cloud Logging: configure log buckets"

DAY = 86400  #: seconds
MOST_DAYS = 3650
#: Locations of BigQuery and Cloud Storage that are more than one region.
MULTI_REGIONS = ("us", "eu", "asia", "europe")


@environment_rule("DA001", "data and the key that encrypts them are in one place", source=KMS)
def key_places(view: EnvironmentView) -> Iterator[Problem]:
    """A key of one region encrypts neither data of another one nor a dataset in the multi-region US or EU."""
    environment = view.environment
    if environment.encryption.mode != "cmek" or not environment.encryption.keys:
        return
    for path, what, location in places(environment):
        if location.lower() not in environment.encryption.keys:
            yield Problem(
                path,
                f"no key of `encryption.keys` is in {location}, where {what} is",
                "Add a key of that place, move the data, or leave out `keys` to have keys made.",
                related=(("the keys", ("encryption", "keys")),),
                at_key=path[-1] not in ("location", "region"),
            )


@environment_rule("DA002", "a key stands under its own region", source=KMS)
def key_regions(view: EnvironmentView) -> Iterator[Problem]:
    """Google Cloud refuses a key of another place than the data's."""
    for region, key in view.environment.encryption.keys.items():
        if f"/locations/{region}/" not in key:
            yield Problem(
                ("encryption", "keys", region), f"this key is not in {region}", "Name one whose path says so."
            )


@environment_rule("DA003", "existing keys are used", source=LANGUAGE, severity="warning")
def unused_keys(view: EnvironmentView) -> Iterator[Problem]:
    """Without `mode: cmek` everything is encrypted with Google's keys, whatever stands under `keys`."""
    encryption = view.environment.encryption
    if encryption.keys and encryption.mode == "google":
        yield Problem(
            ("encryption", "keys"), "the keys are not used", "Write `mode: cmek` beside them.", at_key=True
        )


@environment_rule("DA004", "no two things of a kind have one name", source=LANGUAGE)
def same_names(view: EnvironmentView) -> Iterator[Problem]:
    """The second one could not be made. Datasets have no hyphens: `a-b` and `a_b` are one name."""
    taken: dict[tuple[str, str, str], Path] = {}
    for path, kind, place, name in _names(view.environment):
        first = taken.setdefault((kind, place, name), path)
        if first != path:
            yield Problem(
                path,
                f"`{first[-1]}` and `{path[-1]}` both get the name {name}",
                "Change `name` or `generation` of one of them.",
                related=(("the other one", first),),
                at_key=True,
            )


@environment_rule(
    "DA005", "datasets are near the clusters that use them", source=BIGQUERY, severity="warning"
)
def far_datasets(view: EnvironmentView) -> Iterator[Problem]:
    """A query runs where the dataset is; what crosses regions is slow, is paid for, and cannot be joined."""
    environment = view.environment
    near = {environment.region, *(environment.cluster_region(one) for one in environment.clusters.values())}
    for name, dataset in environment.storage.bigquery.items():
        location = (dataset.location or environment.region).lower()
        if not dataset.existing and location not in near and not _around(location, near):
            yield Problem(
                ("storage", "bigquery", name, "location"),
                f"{dataset.location} is not where the environment is",
                f"Use {', '.join(sorted(near))}, or the multi-region around it.",
            )


@environment_rule("DA006", "a budget has a billing account", source=BILLING)
def budget_account(view: EnvironmentView) -> Iterator[Problem]:
    """A budget is part of the account that pays."""
    environment = view.environment
    if environment.budget and not environment.billing_account:
        hint = "Add `billing_account`, or leave out `budget`."
        yield Problem(("budget",), "there is no billing account to have the budget", hint, at_key=True)


@environment_rule("DA007", "audit logs are kept for 1 to 3650 days", source=LOGGING)
def log_retention(view: EnvironmentView) -> Iterator[Problem]:
    """Cloud Logging refuses any other retention of a log bucket."""
    logs = view.environment.audit_logs
    if logs and not DAY <= logs.retention_seconds <= MOST_DAYS * DAY:
        yield Problem(("audit_logs", "retention"), "this retention is not possible", "Write 1d to 3650d.")


def places(environment: Environment) -> Iterator[tuple[Path, str, str]]:
    """What is encrypted at rest: the path of its place or of itself, its name, its location."""
    for name, cluster in environment.clusters.items():
        if not cluster.existing:
            path: Path = ("clusters", name)
            yield (
                (*path, *(["region"] if cluster.region else [])),
                f"`{name}`",
                environment.cluster_region(cluster),
            )
    stored = (
        (("storage", "buckets"), environment.storage.buckets),
        (("storage", "bigquery"), environment.storage.bigquery),
        (("registry",), environment.registry),
    )
    for above, items in stored:
        for name, item in items.items():
            if not item.existing:
                path = (*above, name, *(["location"] if item.location else []))
                yield path, f"`{name}`", item.location or environment.region
    for name, secret in environment.secrets.items():
        if not secret.existing:
            yield ("secrets", name), f"`{name}`", environment.region


def _names(environment: Environment) -> Iterator[tuple[Path, str, str, str]]:
    for key, dataset in environment.storage.bigquery.items():
        if not dataset.existing:
            name = suffixed(dataset.name or cloud_key(key, dataset), dataset.generation).replace("-", "_")
            yield ("storage", "bigquery", key), "dataset", "", name
    for key, repository in environment.registry.items():
        if not repository.existing:
            place = (repository.location or environment.region).lower()
            name = suffixed(repository.name or cloud_key(key, repository), repository.generation)
            yield ("registry", key), "repository", place, name
    for key, secret in environment.secrets.items():
        if not secret.existing:
            name = suffixed(secret.name or cloud_key(key, secret), secret.generation)
            yield ("secrets", key), "secret", "", name


def _around(location: str, regions: set[str]) -> bool:
    """Whether a multi-region is around one of the regions."""
    return location in MULTI_REGIONS and any(region.startswith(location[:2]) for region in regions)
