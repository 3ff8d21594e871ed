"""Data sources: what can be read from the stand-in's cloud and from the provider's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groundplan.facts.schema import ResourceType, resource_type

from .cloud import Cloud, Refused
from .codec import conform
from .values import Maker, project_number, service_agent

State = dict[str, Any]
Settings = Mapping[str, Any]

#: Zones whose letters are not a, b, c. Source: Compute Engine "Regions and zones".
_ZONES = {"us-central1": "abcf", "us-east1": "bcd", "europe-west1": "bcd"}


def read(kind: ResourceType, config: State, settings: Settings, cloud: Cloud) -> State:
    """The state of one data source.

    Raises:
        Refused: the object is not in the cloud, or a setting that it needs is missing.
    """
    reader = _READERS.get(kind.type)
    found = reader(config, settings) if reader else _mirror(kind.type, config, settings, cloud)
    state: State = conform(kind.block, {**config, **found})
    return state


def _client_config(config: State, settings: Settings) -> State:
    places = {name: settings.get(name) for name in ("project", "region", "zone")}
    return places | {
        "id": f"projects/{settings.get('project')}",
        "access_token": "offline",
        "default_labels": settings.get("default_labels") or {},
    }


def _zones(config: State, settings: Settings) -> State:
    project, region = _setting("project", config, settings), _setting("region", config, settings)
    return {
        "id": f"projects/{project}/regions/{region}",
        "project": project,
        "names": [f"{region}-{letter}" for letter in _ZONES.get(region, "abc")],
    }


def _storage_agent(config: State, settings: Settings) -> State:
    project = _setting("project", config, settings)
    email = service_agent("storage.googleapis.com", project_number(project))
    return {"id": email, "email_address": email, "member": f"serviceAccount:{email}", "project": project}


def _bigquery_agent(config: State, settings: Settings) -> State:
    """The agent that encrypts. Source: BigQuery docs, "Customer-managed Cloud KMS keys"."""
    project = _setting("project", config, settings)
    email = f"bq-{project_number(project)}@bigquery-encryption.iam.gserviceaccount.com"
    return {"id": email, "email": email, "member": f"serviceAccount:{email}", "project": project}


_READERS: dict[str, Callable[[State, Settings], State]] = {
    "google_bigquery_default_service_account": _bigquery_agent,
    "google_client_config": _client_config,
    "google_compute_zones": _zones,
    "google_storage_project_service_account": _storage_agent,
}


def _project(written: State) -> State:
    project = str(written["project_id"])
    return {"project_id": project, "name": project, "number": project_number(project)}


def _bucket(written: State) -> State:
    return {"name": written["name"], "url": f"gs://{written['name']}"}


#: What may exist outside of the stand-in's cloud: a blueprint says `existing:` of it. It is believed.
_OUTSIDE: dict[str, Callable[[State], State]] = {
    "google_project": _project,
    "google_storage_bucket": _bucket,
}


def _mirror(type_name: str, config: State, settings: Settings, cloud: Cloud) -> State:
    """A data source that shows the resource of the same name."""
    written = {name: value for name, value in config.items() if value is not None}
    if type_name == "google_project":
        written.setdefault("project_id", settings.get("project"))
    if type_name == "google_service_account" and "@" in str(written.get("account_id")):
        account, _, host = written["account_id"].rpartition("/")[2].partition("@")
        written |= {"account_id": account, "project": host.partition(".")[0]}
    id_ = Maker(resource_type(type_name, "google-beta"), written, settings).id
    found = cloud.get(type_name, id_)
    if found:
        return {**found.attributes, "id": id_}
    if type_name in _OUTSIDE:
        return {"id": id_, **_OUTSIDE[type_name](written)}
    raise Refused(
        f"Error when reading or editing {type_name}: googleapi: Error 404: '{id_}' was not found, notFound",
        "Offline, a data source finds only what was applied to the same offline cloud.",
    )


def _setting(name: str, config: State, settings: Settings) -> str:
    value = config.get(name) or settings.get(name)
    if not value:
        raise Refused(f"{name}: required field is not set", f"Set it here, or set provider-level '{name}'.")
    return str(value)
