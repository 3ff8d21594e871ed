"""Where stacks keep their state, and what else all stacks have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.naming import BUCKET_LIMIT, shorten
from groundplan.modules.graph import GcsState, Graph, LocalState, Stack

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint

FOUNDATION = "foundation"  #: name of the first stack; reserved, no environment can have it


def state(blueprint: Blueprint, stack: str) -> GcsState | LocalState:
    """Where the state of a stack is: in a bucket of the foundation's, in a named one, or in a file.

    A prefix is used once in either case, so that no two states can meet. Without a foundation and without
    ``state:`` there is no bucket; a real run then wants ``state: {local: true}``.
    """
    prefix = f"{blueprint.name}/{stack}"
    if blueprint.state.local:
        return LocalState()
    if blueprint.state.bucket:
        return GcsState(blueprint.state.bucket, prefix)
    if blueprint.foundation:
        return GcsState(shorten(f"{blueprint.foundation.project}-state-{stack}", BUCKET_LIMIT), prefix)
    return LocalState()


def frame(
    blueprint: Blueprint, name: str, graph: Graph, *, written: Mapping[str, Any] | None = None
) -> Stack:
    """The stack of a graph, or of a written configuration: its state, and the versions that are wanted."""
    google = blueprint.providers.google
    return Stack(
        name,
        graph,
        state(blueprint, name),
        providers={"google": google, "google-beta": google},
        engine_version=blueprint.engine.version,
        written=written,
    )
