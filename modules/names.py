"""Names of resources in a stack, and what stays the same when a key in the blueprint is renamed.

Addresses derive from blueprint keys, never from an order: adding or moving an item changes no other
address. An item with ``renamed_from`` keeps its name in the cloud, since most names cannot change without a
replacement, and its resources are moved to the addresses that the new key gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from groundplan.blueprints.naming import terraform_name
from groundplan.modules.graph import Name

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment


class Renamable(Protocol):
    """An item of the blueprint that may say which key it had before."""

    @property
    def renamed_from(self) -> str | None: ...  # noqa: D102


def stack_name(*keys: str | tuple[str, Renamable]) -> Name:
    """The name in the stack for a path of keys: ``main_train`` of ``("main", cluster), ("train", pool)``."""
    now = [key if isinstance(key, str) else key[0] for key in keys]
    before = [key if isinstance(key, str) else key[1].renamed_from or key[0] for key in keys]
    return Name(terraform_name(*now), terraform_name(*before))


def labels(env: Environment) -> dict[str, str]:
    """Google Cloud labels of everything that belongs to an environment; the blueprint's own win."""
    return {"environment": env.name, "managed-by": "groundplan", "platform": env.platform, **env.labels}


def zone_names(region: str, zones: Iterable[str]) -> list[str]:
    """Full names of zones, sorted: ``a`` in us-central1 is ``us-central1-a``."""
    return sorted(zone if zone.startswith(f"{region}-") else f"{region}-{zone}" for zone in zones)
