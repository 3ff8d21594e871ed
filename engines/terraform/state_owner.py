"""Whose state it is: an output that says which project a state is about, so that no other is planned over it.

Two blueprints with the same name and the same ``state: {bucket: …}`` mean the same object. Without a mark the
second one would plan to destroy what the first one made. A project id names one project in the world, and
each stack has its own, so that is the mark.
"""

from __future__ import annotations

import msgspec

from groundplan.engines.terraform.state_bucket import place
from groundplan.engines.terraform.writer import Json
from groundplan.errors import EngineError
from groundplan.modules.graph import Stack

OUTPUT = "groundplan"


class Owner(msgspec.Struct, frozen=True):
    """The value of the output."""

    stack: str = ""
    project: str | None = None


class _Output(msgspec.Struct):
    value: Owner


class _State(msgspec.Struct):
    outputs: dict[str, msgspec.Raw] = {}


def owner(stack: Stack) -> Owner:
    """What the state of a stack is marked with."""
    return Owner(stack.name, stack.graph.project)


def marked(content: Json, stack: Stack) -> Json:
    """The stack's document with the mark."""
    mark = {"value": msgspec.to_builtins(owner(stack))}
    return {**content, "output": {**content.get("output", {}), OUTPUT: mark}}


def check(state: bytes, stack: Stack) -> None:
    """Refuse the state of another stack. A state without a mark is nobody's yet.

    Args:
        state: as it is stored; empty if there is none.
        stack: who wants to use it.

    Raises:
        EngineError: it belongs to another one.
    """
    mark = msgspec.json.decode(state, type=_State).outputs.get(OUTPUT) if state.strip() else None
    found = msgspec.json.decode(mark, type=_Output).value if mark else None
    if found in (None, owner(stack)):
        return
    raise EngineError(
        f"the state in {place(stack)} is that of {_words(found)}, not of {_words(owner(stack))}",
        hint="Two blueprints must not share a place: give this one another `name` or another bucket. If the "
        "project was changed on purpose, first destroy what is in the old one, with the file as it was.",
    )


def _words(found: Owner) -> str:
    return f"{found.stack} in the project {found.project}"
