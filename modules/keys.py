"""Encryption keys of an environment's own: a key ring for each location, in it a key for each service.

``encryption: {mode: cmek}`` makes them, in the environment's own project, so that no key opens data of two
environments. What is where in ``USES`` decides which keys there are. Rules that are encoded here:

- A key is in the location of what it encrypts; a multi-region has its own (Cloud KMS docs, "Locations").
- A service encrypts as its service agent. The agent must exist before it is granted the key, and the grant
  must exist before anything is encrypted: agent, grant, resource, in this order. The agent of Compute Engine
  comes with its API; that of Cloud Storage and of BigQuery is made when it is first read; those of the others
  are made by Service Usage (Cloud IAM docs, "Create and grant roles to service agents").
- Neither key rings nor keys can be deleted, and destroying the versions of a key destroys what they encrypt.
  So Terraform leaves keys alone when it forgets them, and their names never change.
- Keys rotate every 90 days, which is the most that the CIS benchmark for Google Cloud allows (1.10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from groundplan.blueprints.naming import cloud_name, terraform_name
from groundplan.modules.graph import Graph, Lifecycle, Reference, Resource, Text, text
from groundplan.modules.provisioned import clusters
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment

ROTATION = "7776000s"  #: 90 days

ENCRYPTER = "roles/cloudkms.cryptoKeyEncrypterDecrypter"

#: What encrypts with a key of its own; the name is also the key's.
Use = Literal["bigquery", "buckets", "clusters", "disks", "registry", "secrets", "topics"]

#: Services whose agent Service Usage makes.
_AGENTS: dict[Use, str] = {
    "clusters": "container.googleapis.com",
    "registry": "artifactregistry.googleapis.com",
    "secrets": "secretmanager.googleapis.com",
    "topics": "pubsub.googleapis.com",
}

#: Locations of Cloud KMS that are called otherwise elsewhere.
_MULTI_REGIONS = {"eu": "europe"}


@dataclass(frozen=True, slots=True)
class Encryption:
    """What something is encrypted with: Google's keys (``key`` is None), or a key and the grants for it."""

    key: str | Reference | None = None
    grants: tuple[Resource, ...] = ()

    def block(self, attribute: str) -> dict[str, str | Reference] | None:
        """The block that names the key; None for Google's keys."""
        return None if self.key is None else {attribute: self.key}


GOOGLES_KEYS = Encryption()


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of an environment."""

    made: Mapping[tuple[Use, str], Encryption] = field(default_factory=dict)

    def use(self, use: Use, location: str) -> Encryption:
        """What to encrypt with; Google's keys unless the environment has its own."""
        return self.made.get((use, key_location(location)), GOOGLES_KEYS)


def key_location(location: str) -> str:
    """The location of the key for something: ``europe`` for data in the multi-region EU."""
    lower = location.lower()
    return _MULTI_REGIONS.get(lower, lower)


def uses(env: Environment) -> list[tuple[Use, str]]:
    """What of the environment is encrypted, and where the key must be; each once, sorted."""
    return sorted(set(_uses(env))) if env.encryption.mode == "cmek" else []


def add_keys(
    graph: Graph, env: Environment, number: Callable[[], str | Reference], services: Services
) -> Keys:
    """Add the keys that the environment needs, with a grant for each service agent.

    Args:
        graph: the environment's.
        env: the environment.
        number: gives the number of its project.
        services: its APIs.
    """
    with graph.at("encryption"):
        rings: dict[str, Resource] = {}
        agents: dict[Use, str | Reference | Text] = {}
        made: dict[tuple[Use, str], Encryption] = {}
        for use, location in uses(env):
            existing = env.encryption.keys.get(location)
            if existing and not _is_own(env, existing):
                made[use, location] = Encryption(existing)  # its owner grants it
                continue
            if use not in agents:
                agents[use] = _agent(graph, env, use, number, services)
            key = existing or _key(graph, env, use, location, rings, services)["id"]
            grant = graph.add(
                "google_kms_crypto_key_iam_member",
                terraform_name(location, use),
                crypto_key_id=key,
                role=ENCRYPTER,
                member=agents[use],
                depends_on=services.needs("cloudkms"),
            )
            made[use, location] = Encryption(key, (grant,))
        return Keys(made)


def _uses(env: Environment) -> Iterator[tuple[Use, str]]:
    for cluster in clusters(env).values():
        for use in ("clusters", "disks", "topics"):
            yield use, env.cluster_region(cluster)
    for bucket in env.storage.buckets.values():
        if not bucket.existing:
            yield "buckets", key_location(bucket.location or env.region)
    for dataset in env.storage.bigquery.values():
        if not dataset.existing:
            yield "bigquery", key_location(dataset.location or env.region)
    for repository in env.registry.values():
        if not repository.existing:
            yield "registry", key_location(repository.location or env.region)
    for secret in env.secrets.values():
        if not secret.existing:
            yield "secrets", env.region


def _key(
    graph: Graph, env: Environment, use: Use, location: str, rings: dict[str, Resource], services: Services
) -> Resource:
    if location not in rings:
        rings[location] = graph.add(
            "google_kms_key_ring",
            location,
            name=cloud_name(env, location),
            location=location,
            lifecycle=Lifecycle(prevent_destroy=env.protect),
            depends_on=services.needs("cloudkms"),
        )
    return graph.add(
        "google_kms_crypto_key",
        terraform_name(location, use),
        name=use,
        key_ring=rings[location]["id"],
        purpose="ENCRYPT_DECRYPT",
        rotation_period=ROTATION,
        deletion_policy="ABANDON",
        lifecycle=Lifecycle(prevent_destroy=env.protect),
    )


def _agent(
    graph: Graph, env: Environment, use: Use, number: Callable[[], str | Reference], services: Services
) -> str | Reference | Text:
    """The principal of the service agent that encrypts."""
    if use == "buckets":
        return graph.data(
            "google_storage_project_service_account",
            "storage",
            project=env.project_id,
            depends_on=services.needs("storage"),
        )["member"]
    if use == "bigquery":
        return graph.data(
            "google_bigquery_default_service_account",
            "bigquery",
            project=env.project_id,
            depends_on=services.needs("bigquery"),
        )["member"]
    if use == "disks":
        known = number()
        host = "@compute-system.iam.gserviceaccount.com"
        if isinstance(known, str):
            return f"serviceAccount:service-{known}{host}"
        return text("serviceAccount:service-", known, host)
    return graph.add(
        "google_project_service_identity",
        use,
        provider="google-beta",
        service=_AGENTS[use],
        depends_on=services.needs(_AGENTS[use]),
    )["member"]


def _is_own(env: Environment, key: str) -> bool:
    """Whether a key is in the environment's own project."""
    return key.startswith(f"projects/{env.project_id}/")
