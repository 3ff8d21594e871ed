"""A state in a local file: wait until nobody writes it, and mend one that was cut off.

Terraform writes a local state over the old one, so a full disk or a kill at that moment leaves half a file.
It also outlives a groundplan that was killed, and goes on writing. In Cloud Storage a write is whole or not
at all.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from groundplan.engines.terraform import backups, unsaved_state
from groundplan.engines.terraform.state import Identity, identity, replace
from groundplan.engines.terraform.workspace import Workspace
from groundplan.engines.terraform.writer import STATE_FILE
from groundplan.errors import EngineError
from groundplan.modules.graph import GcsState, Stack

CUT_OFF = ".cut-off"  #: suffix of a broken state that was set aside
POLL_SECONDS = 0.1


class Mended(NamedTuple):
    """A state file that was cut off: whose, what it was restored from, and where the broken one is now."""

    stack: str
    source: Path
    broken: Path

    def __str__(self) -> str:
        """For the person."""
        return (
            f"the state of {self.stack} was cut off while it was written; restored from {self.source}. "
            "What was made since exists without being in the state; the next apply names it. "
            f"The broken file: {self.broken}"
        )


def is_local(workspace: Workspace, stack: Stack) -> bool:
    """Is the stack's state a file in its root?"""
    return workspace.offline or not isinstance(stack.state, GcsState)


def settle(workspace: Workspace, stacks: Iterable[Stack], *, patience_seconds: float) -> Iterator[Mended]:
    """Make the local states of a workspace safe to read: nobody writes them, and none is cut off.

    Args:
        workspace: the workspace. Offline all its states are looked at, since the stand-in needs them all.
        stacks: the stacks that will be worked on.
        patience_seconds: how long to wait for an engine that still works on a state.

    Raises:
        EngineError: an engine still works on one, or one is cut off and there is no copy of it.
    """
    names = {stack.name for stack in stacks}  # one whose bucket does not exist yet has a file too
    if workspace.offline:
        names |= {path.parent.name for path in workspace.path.glob(f"*/{STATE_FILE}")}
    for name in sorted(names):
        state = workspace.path / name / STATE_FILE
        if state.exists():
            _wait(state, name, patience_seconds)
            mended = mend(state, name)
            if mended:
                yield mended


def mend(state: Path, stack: str) -> Mended | None:
    """Put a readable state in the place of one that was cut off.

    Of what is readable (the state Terraform could not save, its own backup, groundplan's backups) the newest
    by serial is taken. Nothing is thrown away.

    Args:
        state: the state file in the stack's root.
        stack: the stack's name.

    Returns:
        None if the file is well, or if there is none.

    Raises:
        EngineError: it is cut off, and there is nothing to restore.
        OSError: the restored state cannot be written.
    """
    source = replacement(state, stack)
    if source is None:
        return None
    broken = state.with_name(state.name + CUT_OFF)
    broken.unlink(missing_ok=True)
    broken.hardlink_to(state)  # so there is a state at every moment, and a full disk changes nothing
    replace(state, source.read_bytes())
    if source.name == unsaved_state.NAME:
        source.unlink()  # it is the state now
    return Mended(stack, source, broken)


def replacement(state: Path, stack: str) -> Path | None:
    """The file that ``mend`` would restore a state from; None if the state is well.

    Raises:
        EngineError: it is cut off, and there is nothing to restore.
    """
    if not state.exists() or _readable(state):
        return None
    copies = list(_copies(state))
    if not copies:
        raise EngineError(
            f"the state of {stack} was cut off while it was written, and there is no copy of it: {state}",
            hint="If it never held anything, delete the file. Else restore it from your own backup.",
        )
    return max(copies, key=lambda copy: copy[0].serial)[1]


def _wait(state: Path, stack: str, patience_seconds: float) -> None:
    """Engines lock a local state with ``fcntl`` for as long as they work on it."""
    deadline = time.monotonic() + patience_seconds
    with state.open("rb") as file:
        while True:
            try:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:  # EACCES or EAGAIN, as the system likes
                if time.monotonic() > deadline:
                    raise EngineError(
                        f"an engine that an earlier run started still works on {stack}",
                        hint="It writes its state and ends by itself; run the same command again then. "
                        f"--lock-timeout waits longer than {patience_seconds:.0f} s.",
                    ) from None
                time.sleep(POLL_SECONDS)
            else:
                return


def _copies(state: Path) -> Iterator[tuple[Identity, Path]]:
    root = state.parent
    candidates = [root / unsaved_state.NAME, state.with_name(f"{state.name}.backup")]
    for path in [*candidates, *backups.newest_first(root)]:
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
