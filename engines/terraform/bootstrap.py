"""A stack that makes the bucket of its own state: it begins with a local state, which moves there.

The foundation is such a stack. As long as its bucket does not exist, its state is a file in its root; the
first ``init`` that finds the bucket saves the file there. So a crash between the apply and the move needs no
care of its own: the next run finds the bucket and a file, and saves it.

Terraform's ``init -migrate-state -force-copy`` would overwrite whatever is in the bucket. So before ``init``
the file is put where a state waits that could not be saved (``unsaved_state``), and from there it is saved
wherever the state is now: with ``state push``, which refuses to overwrite a state that is newer or of another
lineage. Until then it is kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundplan.engines.terraform import backups, state_bucket, unsaved_state
from groundplan.engines.terraform.runner import RunError
from groundplan.engines.terraform.state import identity, resource_types
from groundplan.engines.terraform.workspace import Root
from groundplan.engines.terraform.writer import STATE_FILE
from groundplan.errors import EngineError
from groundplan.modules.graph import GcsState, LocalState, Stack

if TYPE_CHECKING:
    from groundplan.plans.model import Plan


def makes_own_bucket(stack: Stack) -> bool:
    """Is the bucket of the stack's state one of its resources?"""
    return isinstance(stack.state, GcsState) and any(
        bucket.attributes.get("name") == stack.state.bucket
        for bucket in stack.graph.of_type("google_storage_bucket")
    )


def loses_own_state(stack: Stack, plan: Plan) -> bool:
    """Would the plan delete or replace the bucket that holds the stack's state?"""
    return isinstance(stack.state, GcsState) and any(
        change.deletes and change.before["name"].raw == stack.state.bucket
        for change in plan.of_type("google_storage_bucket")
    )


def initialize(
    stack: Stack, root: Root, init: Callable[[], None], write: Callable[[Stack], None], *, known: bool
) -> str:
    """``init`` of a stack that makes its own bucket, for where its state is now.

    Args:
        stack: the stack, as it is written in its root: with its state in the bucket.
        root: its root.
        init: runs ``init``.
        write: writes another form of the stack into the root.
        known: the stack was applied before, by whomever; then a missing bucket is no reason to begin anew.

    Returns:
        What a person should know; empty if the state is in the bucket and was before.

    Raises:
        EngineError: the bucket is gone.
        RunError: ``init`` failed for any other reason. A refusal or a broken line tells nothing about the
            bucket, and a second state would be worse than none.
    """
    waiting = _put_aside(root)
    try:
        init()
    except RunError as error:
        if not state_bucket.is_missing(error):
            raise
        if _backend(root) == "gcs" or (known and not waiting):
            raise _gone(stack) from None
    else:
        return f"the state moves into {state_bucket.place(stack)}" if waiting else ""
    write(dataclasses.replace(stack, state=LocalState()))
    init()
    return f"the bucket for the state does not exist yet; until it does, the state is in {root.state}"


def _put_aside(root: Root) -> bool:
    """Let a local state wait to be saved, where engines do not see it: they would move it by themselves.

    Returns:
        Is there a state that waits?
    """
    record = _record(root)
    if _backend(root) == "local":
        record.unlink()
    if root.state.exists():
        content = root.state.read_bytes()
        if _unsaved(root).exists():  # the engine could not write the file, so this is the newer one
            backups.back_up(root.path, content)
            root.state.unlink()
        elif identity(content) and resource_types(content):
            root.state.replace(_unsaved(root))
        else:
            root.state.unlink()
    return _unsaved(root).exists()


def _unsaved(root: Root) -> Path:
    return root.path / unsaved_state.NAME


def _gone(stack: Stack) -> EngineError:
    return EngineError(
        f"{stack.name} was applied before, but the bucket with its state does not exist: "
        f"{state_bucket.place(stack)}",
        hint="If `foundation.project` or the blueprint's `name` was changed, change it back: the state is "
        "found by them. A deleted bucket can be restored for a while: gcloud storage restore --help\n"
        "If this blueprint is the copy of another one, remove its project numbers from the lock file.",
    )


# -- what ``init`` remembers


class _Backend(msgspec.Struct, frozen=True):
    type: str = ""


class _Record(msgspec.Struct):
    backend: _Backend = _Backend()


def _record(root: Root) -> Path:
    return root.path / ".terraform" / STATE_FILE


def _backend(root: Root) -> str:
    """The kind of backend that the last successful ``init`` was for; empty if there was none."""
    record = _record(root)
    return msgspec.json.decode(record.read_bytes(), type=_Record).backend.type if record.exists() else ""
