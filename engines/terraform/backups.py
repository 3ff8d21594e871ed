"""Copies of a stack's state from before each apply, and mending a state file that was cut off.

Terraform writes a local state over the old one, so a full disk or a kill at that moment leaves half a file.
In Cloud Storage a write is whole or not at all; there a backup serves people who want to see what was.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from groundplan.engines.terraform.state import Identity, identity, replace
from groundplan.engines.terraform.unsaved_state import NAME as UNSAVED
from groundplan.engines.terraform.workspace import Workspace
from groundplan.engines.terraform.writer import STATE_FILE
from groundplan.errors import EngineError
from groundplan.modules.graph import GcsState, Stack

DIRECTORY = "backups"
KEPT = 10
CUT_OFF = ".cut-off"  #: suffix of a broken state that was set aside

_NAME = re.compile(r"(\d+)-\d{8}T\d{6}Z\.tfstate")


def back_up(root: Path, state: bytes) -> Path | None:
    """Keep a copy of a state; the newest ``KEPT`` stay.

    Args:
        root: the stack's root directory.
        state: the state as it is stored.

    Returns:
        ``backups/<serial>-<time>.tfstate`` in the root, or None if there is no state yet.

    Raises:
        EngineError: it is not a Terraform state.
        OSError: it cannot be written.
    """
    found = identity(state)
    if found is None:
        return None
    directory = root / DIRECTORY
    directory.mkdir(mode=0o700, exist_ok=True)
    path = directory / f"{found.serial}-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}.tfstate"
    replace(path, state)
    for old in _newest_first(directory)[KEPT:]:
        old.unlink(missing_ok=True)
    return path


class Mended(NamedTuple):
    """A state file that was cut off: where the restored state came from, and where the broken one is now."""

    source: Path
    broken: Path

    def __str__(self) -> str:
        """For the person."""
        return (
            f"the state was cut off while it was written; restored from {self.source}. What was made since "
            f"exists without being in the state; the next apply names it. The broken file: {self.broken}"
        )


def is_local(workspace: Workspace, stack: Stack) -> bool:
    """Is the stack's state a file in its root?"""
    return workspace.offline or not isinstance(stack.state, GcsState)


def mend(workspace: Workspace, stack: Stack) -> Mended | None:
    """Put a readable state in the place of a local one that was cut off while it was written.

    Of what is readable (the state Terraform could not save, its own backup, groundplan's backups) the newest
    by serial is taken. Nothing is thrown away.

    Args:
        workspace: where the stack's root is.
        stack: whose state.

    Returns:
        None if the file is well, or if there is none.

    Raises:
        EngineError: it is cut off, and there is nothing to restore.
    """
    root = workspace.path / stack.name
    state = root / STATE_FILE
    if not is_local(workspace, stack) or not state.exists() or _readable(state):
        return None
    copies = list(_copies(root, state))
    if not copies:
        raise EngineError(
            f"the state in {state} was cut off while it was written, and there is no copy of it",
            hint="If it never held anything, delete the file. Else restore it from your own backup.",
        )
    _, source = max(copies, key=lambda copy: copy[0].serial)
    broken = state.with_name(state.name + CUT_OFF)
    content = source.read_bytes()
    state.replace(broken)
    replace(state, content)
    if source.name == UNSAVED:
        source.unlink()  # it is the state now
    return Mended(source, broken)


def _copies(root: Path, state: Path) -> Iterator[tuple[Identity, Path]]:
    candidates = [root / UNSAVED, state.with_name(f"{state.name}.backup"), *_newest_first(root / DIRECTORY)]
    for path in candidates:
        found = _readable(path)
        if found:
            yield found, path


def _readable(path: Path) -> Identity | None:
    """The identity of the state in a file; None for no file, an empty one, or half of one."""
    try:
        found = identity(path.read_bytes())
    except (OSError, EngineError):
        return None
    return found if found and found.lineage else None


def _newest_first(directory: Path) -> list[Path]:
    found = [path for path in directory.glob("*.tfstate") if _NAME.fullmatch(path.name)]
    return sorted(found, key=lambda path: path.stat().st_mtime_ns, reverse=True)
