"""How Google Cloud and the provider answer beyond the schema: refusals, reserved ids, cascades."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterator
from typing import Any

from groundplan.facts.schema import ResourceType

from . import perimeters
from .cloud import Cloud, CloudObject, Refused, now
from .references import CLUSTER, NODE_POOL, missing, owns, users, values_at
from .sameness import canonical
from .values import project_number

#: Where Terraform's "create" adds to, adopts or overwrites what is there, so that 409 cannot happen.
_ADOPTED = frozenset(
    {
        "google_billing_project_info",
        "google_binary_authorization_policy",
        "google_compute_project_metadata",
        "google_compute_project_metadata_item",
        "google_compute_shared_vpc_host_project",
        "google_compute_shared_vpc_service_project",
        "google_logging_project_bucket_config",
        "google_project_default_service_accounts",
        "google_project_service",
        "google_project_service_identity",
    }
)

#: Several Terraform resources share the id of their parent; the whole content tells them apart.
_SHARED_IDS = frozenset(
    {
        "google_access_context_manager_access_level_condition",
        "google_access_context_manager_service_perimeter_dry_run_egress_policy",
        "google_access_context_manager_service_perimeter_dry_run_ingress_policy",
        "google_access_context_manager_service_perimeter_egress_policy",
        "google_access_context_manager_service_perimeter_ingress_policy",
        "google_bigquery_dataset_access",
    }
)

#: Names that are unique in all of Google Cloud, although their objects belong to a project.
_WORLDWIDE = frozenset({"google_storage_bucket"})

#: How long a deleted id cannot be used again; None: for good. Sources: Resource Manager "Shutting down
#: projects", IAM "Manage workload identity pools", Cloud KMS "Resources" (names are never freed).
_RESERVED: dict[str, dt.timedelta | None] = {
    "google_project": dt.timedelta(days=30),
    "google_iam_workload_identity_pool": dt.timedelta(days=30),
    "google_iam_workload_identity_pool_provider": dt.timedelta(days=30),
    "google_kms_key_ring": None,
    "google_kms_crypto_key": None,
}

#: Calls to these are charged to the caller's project, not to the one that holds the resource, so that
#: one need not enable them. Source: "Quota project overview", client-based APIs.
_CALLERS_PROJECT = frozenset(
    f"{name}.googleapis.com"
    for name in (
        "accesscontextmanager",
        "billingbudgets",
        "cloudasset",
        "cloudbilling",
        "cloudidentity",
        "cloudquotas",
        "cloudresourcemanager",
        "essentialcontacts",
        "iam",
        "orgpolicy",
        "serviceusage",
    )
)

_API_TITLES = {
    "aiplatform": "Vertex AI API",
    "artifactregistry": "Artifact Registry API",
    "bigquery": "BigQuery API",
    "cloudkms": "Cloud Key Management Service (KMS) API",
    "compute": "Compute Engine API",
    "container": "Kubernetes Engine API",
    "dns": "Cloud DNS API",
    "file": "Cloud Filestore API",
    "gkebackup": "Backup for GKE API",
    "logging": "Cloud Logging API",
    "monitoring": "Cloud Monitoring API",
    "pubsub": "Cloud Pub/Sub API",
    "secretmanager": "Secret Manager API",
    "servicenetworking": "Service Networking API",
    "storage": "Cloud Storage API",
}

_ACCOUNT_ATTRIBUTES = frozenset({"service_account", "service_account_email"})
_PRINCIPALS = ("serviceAccount:", "principal://", "principalSet://")
_ACCOUNT = re.compile(r"[a-z0-9-]+@([a-z0-9.:-]+)\.iam\.gserviceaccount\.com")
_AGENT = re.compile(r"serviceAccount:(service-(\d+)@([a-z0-9-]+)\.iam\.gserviceaccount\.com)")
#: Service agents that come with their API, or with being asked for through a data source. The others are
#: made when the service is first used, or by google_project_service_identity (Google: "Service agents").
_AGENTS_READY = frozenset({"compute-system", "container-engine-robot", "gs-project-accounts"})
_WORKLOAD_POOL = re.compile(
    r"(?:serviceAccount:|principal(?:Set)?://\S+/workloadIdentityPools/)(([a-z0-9.:-]+)\.svc\.id\.goog)[\[/]"
)


def _answer(
    item: CloudObject, code: int, text: str, reason: str, advice: str, verb: str = "creating"
) -> Refused:
    """An error of a Google API as the provider passes it on."""
    return Refused(f"Error {verb} {item.type}: googleapi: Error {code}: {text}, {reason}", advice)


def storage_key(kind: ResourceType, id_: str, state: dict[str, Any]) -> str:
    """What an object is stored under: its id, made unique where the provider's id is not."""
    if kind.type in _SHARED_IDS:
        return f"{id_}#{hashlib.sha256(canonical(state).encode()).hexdigest()[:12]}"
    project = CloudObject(kind.type, id_, id_, state).project
    if project and project not in id_.split("/") and kind.type not in _WORLDWIDE:
        return f"{project}:{id_}"
    return id_


# -- create and update


def refuse_create(cloud: Cloud, kind: ResourceType, item: CloudObject) -> None:
    """Everything that stops a new object, except that its id is taken.

    Raises:
        Refused: an id that is still reserved (409), an API that is not enabled (403), something named
            that does not exist (404; 400 for service accounts and workload identity pools), the name of a
            sibling folder (400).
    """
    _check_reserved(cloud, item)
    _check_siblings(cloud, item)
    _check_api(cloud, kind, item)
    for reference, target in missing(cloud, item):
        raise _answer(
            item,
            404,
            f"The resource '{target}' was not found",
            "notFound",
            f"{item.type}.{reference.path} names it. Create it first, and refer to it.",
        )
    refuse_write(cloud, item)


def refuse_write(cloud: Cloud, item: CloudObject) -> None:
    """Everything in an object that stops it from being created or changed.

    Raises:
        Refused: error 400.
    """
    check_identities(cloud, item)
    perimeters.refuse_write(cloud, item)
    if perimeter := perimeters.perimeter_of(cloud, item):
        check_identities(cloud, perimeter)


def already_exists(item: CloudObject, advice: str = "") -> Refused:
    """The answer to creating an id that is taken."""
    return _answer(
        item,
        409,
        f"Requested entity '{item.id}' already exists",
        "alreadyExists",
        advice
        or "Another configuration made it, or this one lost its state. Import it, or use another name.",
    )


def adopts(kind: ResourceType) -> bool:
    """Does Terraform's create of this type work on what exists?

    IAM grants, enabled APIs and singletons (whose id ends in a literal word) do.
    """
    return kind.iam is not None or kind.type in _ADOPTED or not kind.id.endswith(("}}", ".com"))


def _check_reserved(cloud: Cloud, item: CloudObject) -> None:
    deleted = cloud.reserved_since(item.type, item.key)
    if deleted is None:
        return
    period = _RESERVED[item.type]
    if period is None:
        raise already_exists(
            item,
            "Cloud KMS never frees the name of a key ring or key; destroying one only forgets it. "
            "Use another name, or adopt the existing one.",
        )
    until = deleted + period
    if now() < until:
        raise already_exists(
            item,
            f"It was deleted on {deleted:%Y-%m-%d}, and its id stays reserved for {period.days} days, "
            f"until {until:%Y-%m-%d}. Use another id (`generation: 2` in a blueprint), or undelete it.",
        )


def _check_siblings(cloud: Cloud, item: CloudObject) -> None:
    """Folders of one parent differ in their names ("Creating and managing folders")."""
    if item.type != "google_folder":
        return
    place = ("parent", "display_name")
    for other in cloud.all(item.type):
        if all(other.attributes.get(name) == item.attributes.get(name) for name in place):
            raise _answer(
                item,
                400,
                "The folder operation violates display name uniqueness within the parent.",
                "failedPrecondition",
                f"There is {other.id} already. Import it, or use another name.",
            )


def _check_api(cloud: Cloud, kind: ResourceType, item: CloudObject) -> None:
    """An API must be enabled in the project that holds the resource.

    Stricter than Google in one way: an API that Google enables along with another must be named, too.
    """
    # Regional endpoints (aiplatform.{{region}}.rep.googleapis.com) serve the API of their first part.
    name = kind.service.partition(".")[0]
    service = f"{name}.googleapis.com"
    project = item.project
    if not name or service in _CALLERS_PROJECT or not project or not owns(cloud, project):
        return
    if cloud.get("google_project_service", f"{project}/{service}") is None:
        number = project_number(project)
        raise _answer(
            item,
            403,
            f"{_API_TITLES.get(name, service)} has not been used in project {number} before or it is "
            f"disabled. Enable it by visiting https://console.developers.google.com/apis/api/{service}/"
            f"overview?project={number} then retry.",
            "accessNotConfigured",
            f"Enable {service} in {project} with google_project_service, and let this resource depend on it.",
        )


def check_identities(cloud: Cloud, item: CloudObject) -> None:
    """Service accounts, service agents and workload identity pools that an object names must exist.

    Raises:
        Refused: error 400, for projects that live in this cloud.
    """
    if item.type == "google_service_account":  # it names itself
        return
    for text in _identities(item.attributes):
        account = _ACCOUNT.fullmatch(text.removeprefix("serviceAccount:"))
        if account and owns(cloud, account[1]) and not _has_account(cloud, account[1], account[0]):
            raise _answer(
                item,
                400,
                f"Service account {account[0]} does not exist.",
                "badRequest",
                "Create it with google_service_account, and refer to its email or member.",
            )
        agent = _AGENT.fullmatch(text) if item.type.endswith("_iam_member") else None
        if agent and agent[3] not in _AGENTS_READY and not _has_agent(cloud, agent[1], agent[2]):
            raise _answer(
                item,
                400,
                f"Service account {agent[1]} does not exist.",
                "badRequest",
                "A service agent is made by google_project_service_identity: refer to its member.",
            )
        pool = _WORKLOAD_POOL.match(text)
        if pool and owns(cloud, pool[2]) and not _has_workload_pool(cloud, pool[1]):
            raise _answer(
                item,
                400,
                f"Identity Pool does not exist ({pool[1]}).",
                "badRequest",
                "It comes with the project's first cluster that has workload_identity_config: depend on it.",
            )


def _identities(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _identities(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _identities(item, name)
    elif isinstance(value, str) and (name in _ACCOUNT_ATTRIBUTES or value.startswith(_PRINCIPALS)):
        yield value


def _has_account(cloud: Cloud, project: str, email: str) -> bool:
    return cloud.get("google_service_account", f"projects/{project}/serviceAccounts/{email}") is not None


def _has_agent(cloud: Cloud, email: str, number: str) -> bool:
    """Whether a service agent exists; that of a project outside of this cloud is taken to."""
    if not any(project.attributes.get("number") == number for project in cloud.all("google_project")):
        return True
    made = [one.attributes.get("email") for one in cloud.all("google_project_service_identity")]
    made += [
        str(sink.attributes.get("writer_identity")).removeprefix("serviceAccount:")
        for sink in cloud.all("google_logging_project_sink")
    ]
    return email in made


def _has_workload_pool(cloud: Cloud, pool: str) -> bool:
    return any(
        pool in values_at(cluster.attributes, "workload_identity_config.workload_pool")
        for cluster in cloud.all(CLUSTER)
    )


# -- delete


def refuse_delete(cloud: Cloud, item: CloudObject, state: dict[str, Any]) -> None:
    """Everything that stops a deletion.

    Args:
        cloud: the cloud.
        item: the object.
        state: the resource in Terraform's state, which is what the provider looks at.

    Raises:
        Refused: it is protected, or another object uses it (400).
    """
    noun = "cluster" if item.type == CLUSTER else item.type.removeprefix("google_").replace("_", " ")
    if state.get("deletion_protection") is True:
        raise Refused(
            f"Cannot destroy {noun} because deletion_protection is set to true. "
            f"Set it to false to proceed with {noun} deletion.",
            f"{item.id}: apply deletion_protection = false first, then destroy.",
        )
    if state.get("deletion_policy") == "PREVENT":
        raise Refused(
            f"Cannot destroy {noun} as deletion_policy is set to PREVENT.",
            f"{item.id}: apply another deletion_policy first, then destroy.",
        )
    if _is_left(state):
        return
    perimeters.refuse_delete(cloud, item)
    if perimeter := perimeters.perimeter_of(cloud, item):
        check_identities(cloud, perimeter)
    for user in users(cloud, item):
        raise _answer(
            item,
            400,
            f"The resource '{item.id}' is already being used by '{user.id}'",
            "resourceInUseByAnotherResource",
            "Delete what uses it first.",
            verb="deleting",
        )


def delete(cloud: Cloud, item: CloudObject, state: dict[str, Any]) -> None:
    """Take an object away, with everything that goes with it, and reserve its id where Google does."""
    if _is_left(state):
        return
    for other in list(_dependents(cloud, item)):
        cloud.remove(other)
    cloud.remove(item)
    if item.type in _RESERVED:
        cloud.reserve(item, now())


def _is_left(state: dict[str, Any]) -> bool:
    """Terraform forgets it, and Google keeps it: abandoned objects, and APIs that stay enabled."""
    return state.get("deletion_policy") == "ABANDON" or state.get("disable_on_destroy") is False


def _dependents(cloud: Cloud, item: CloudObject) -> Iterator[CloudObject]:
    """A project takes everything in it along, a cluster its node pools."""
    if item.type == "google_project":
        yield from (other for other in cloud.all() if other.project == item.project)
    elif item.type == CLUSTER:
        yield from (pool for pool in cloud.all(NODE_POOL) if pool.id.startswith(f"{item.id}/"))
