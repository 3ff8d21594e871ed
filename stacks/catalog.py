"""All stacks of a blueprint."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from groundplan.errors import UsageError
from groundplan.modules.graph import Stack
from groundplan.stacks.environment import environment
from groundplan.stacks.foundation import foundation
from groundplan.stacks.state import FOUNDATION

if TYPE_CHECKING:
    from groundplan.blueprints.lock import Lock
    from groundplan.blueprints.model import Blueprint


def stack_names(blueprint: Blueprint) -> tuple[str, ...]:
    """Names of the blueprint's stacks in the order of applies: foundation first, then tier by tier.

    Within a tier the order is that of the file. An environment that reads another one through a crossing
    comes before it, since nothing can be granted to identities that are not there yet.
    """
    from groundplan.blueprints.model import TIER_ORDER

    first = (FOUNDATION,) if blueprint.foundation else ()
    tiers = sorted(blueprint.environments.values(), key=lambda env: TIER_ORDER.index(env.tier))
    return (*first, *_readers_first([env.name for env in tiers], blueprint))


def _readers_first(names: list[str], blueprint: Blueprint) -> dict[str, None]:
    """The names in their order, each after those that read it; a circle is cut where it is met first."""
    ordered: dict[str, None] = {}

    def add(name: str, waiting: tuple[str, ...]) -> None:
        for crossing in blueprint.crossings.values():
            if crossing.from_ == name and crossing.to not in waiting:
                add(crossing.to, (*waiting, crossing.to))
        ordered.setdefault(name)

    for name in names:
        add(name, (name,))
    return ordered


def stacks(blueprint: Blueprint, lock: Lock, names: Collection[str] = ()) -> list[Stack]:
    """The stacks of a blueprint, in the order of applies.

    Args:
        blueprint: the blueprint.
        lock: what allocation and earlier applies decided.
        names: only these; none means all.

    Raises:
        UsageError: there is no stack of such a name.
    """
    known = stack_names(blueprint)
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise UsageError(
            f"there is no environment {', '.join(unknown)}", hint=f"The blueprint has {', '.join(known)}."
        )
    return [_stack(blueprint, lock, name) for name in known if not names or name in names]


def owns(blueprint: Blueprint) -> dict[str, str]:
    """Project id → name of the stack that owns everything inside that project."""
    owners = {env.project_id: env.name for env in blueprint.environments.values()}
    if blueprint.foundation:
        owners[blueprint.foundation.project] = FOUNDATION
    return owners


def _stack(blueprint: Blueprint, lock: Lock, name: str) -> Stack:
    if name == FOUNDATION:
        return foundation(blueprint, lock)
    from groundplan.blueprints.renames import remembered

    env = remembered(blueprint, blueprint.environments[name], lock.environment(name).renamed)
    return environment(blueprint, env, lock)
