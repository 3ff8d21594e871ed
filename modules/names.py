"""Names of resources in a stack, and what stays the same when a key in the blueprint is renamed.

Addresses derive from blueprint keys, never from an order: adding or moving an item changes no other
address. An item that was renamed keeps its name in the cloud, since most names cannot change without a
replacement, and its resources are moved to the addresses that the new key gives
(``blueprints.renames`` says how that is remembered).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import terraform_name
from groundplan.modules.graph import Name

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment, Former, Renamable


def stack_name(*keys: str | tuple[str, Renamable]) -> Name:
    """The name in the stack for a path of keys: ``main_train`` of ``("main", cluster), ("train", pool)``.

    Names that it had before follow from the renames of all parts, in their order. A name that something else
    has by now is left out.
    """
    parts = [key if isinstance(key, str) else key[0] for key in keys]
    now, before = terraform_name(*parts), []
    renames: dict[int, dict[int, Former]] = {}
    for place, key in enumerate(keys):
        for former in () if isinstance(key, str) else key[1].former:
            renames.setdefault(former.rename, {})[place] = former
    taken: dict[int, bool] = {}
    for rename in sorted(renames, reverse=True):
        for place, former in renames[rename].items():
            parts[place], taken[place] = former.key, former.taken
        if not any(taken.values()):
            before.append(terraform_name(*parts))
    return Name(now, before[0] if before else now, tuple(before[1:]))


def labels(env: Environment) -> dict[str, str]:
    """Google Cloud labels of everything that belongs to an environment; the blueprint's own win."""
    return {"environment": env.name, "managed-by": "groundplan", "platform": env.platform, **env.labels}


def zone_names(region: str, zones: Iterable[str]) -> list[str]:
    """Full names of zones, sorted: ``a`` in us-central1 is ``us-central1-a``."""
    return sorted(zone if zone.startswith(f"{region}-") else f"{region}-{zone}" for zone in zones)
