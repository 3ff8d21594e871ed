"""Secret Manager: containers for secrets. Their values never pass through groundplan.

Whoever has a value adds it with ``gcloud secrets versions add``; neither the blueprint nor a state ever holds
one. A secret is stored in the environment's region from the start: "automatic" replication cannot be changed
later, and a key of one region cannot encrypt it (Secret Manager docs, "Enable CMEK").
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
    from groundplan.blueprints.model import Environment


def add_secrets(graph: Graph, env: Environment, keys: Keys, services: Services) -> dict[str, Target]:
    """Add the environment's secrets, without values; by key."""
    found: dict[str, Target] = {}
    for key, secret in env.secrets.items():
        if secret.existing:
            found[key] = Target(secret, existing_secret(secret.existing))
            continue
        with graph.at("secrets", key):
            encryption = keys.use("secrets", env.region)
            made = graph.add(
                "google_secret_manager_secret",
                stack_name((key, secret)),
                secret_id=suffixed(secret.name or cloud_key(key, secret), secret.generation),
                replication={
                    "user_managed": {
                        "replicas": {
                            "location": env.region,
                            "customer_managed_encryption": encryption.block("kms_key_name"),
                        }
                    }
                },
                deletion_protection=env.protect,
                lifecycle=Lifecycle(prevent_destroy=env.protect),
                depends_on=[*services.needs("secretmanager"), *encryption.grants],
            )
        found[key] = Target(secret, {"secret_id": made["secret_id"]})
    return found


def existing_secret(name: str) -> dict[str, str]:
    """What names a secret that exists: ``projects/PROJECT/secrets/NAME``, or its name alone."""
    parts = name.split("/")
    return {"project": parts[1], "secret_id": parts[3]} if len(parts) == 4 else {"secret_id": name}
