"""A state that somebody else has locked: who, since when, and the command that releases a dead lock.

In Cloud Storage the lock is an object. Its *generation* is what releases it, so that nobody releases a lock
that was taken anew in the meantime; the UUID inside the object is refused ("Lock ID should be numerical
value"). Terraform 1.11 and 1.15 print the generation as ``ID``. A local state is locked by the system as long
as a process has it: there is nothing to release, and nothing is left behind.
"""

from __future__ import annotations

import datetime as dt
import getpass
import re
import shlex
import socket
from dataclasses import dataclass
from pathlib import Path

from groundplan.engines.terraform.engine import Engine
from groundplan.engines.terraform.runner import RunError
from groundplan.errors import EngineError

#: The lines of "Lock Info", as they are or drawn into a box.
FIELD = re.compile(r"^[\s│|]*(ID|Path|Operation|Who|Version|Created):[ \t]*(.*?)\s*$", re.MULTILINE)
LOCK_OBJECT = re.compile(r"gs://[^\s\"]+\.tflock")
FORBIDDEN = re.compile(r'writing "gs://\S+\.tflock" failed: googleapi: Error 403')
TIME = re.compile(r"(?!0001)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")  # year 1: Go's word for no time

RELEASED = ("object doesn't exist", "-9223372036854775808")  # the lock went away before it could be read


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHeld:
    """What an engine said about a lock. What it could not find out is empty."""

    id: str = ""
    path: str = ""  #: ``gs://BUCKET/PREFIX/default.tflock``, or the file of a local state
    operation: str = ""  #: ``apply``, ``plan`` …
    who: str = ""  #: ``user@host``
    version: str = ""
    created: dt.datetime | None = None
    released: bool = False  #: it is gone already
    left_behind: bool = False  #: it is our own, and could not be released

    @property
    def generation(self) -> str:
        """The generation of the lock object; empty if it is not in Cloud Storage, or not known."""
        return self.id if self.path.startswith("gs://") and self.id.isdecimal() else ""

    @property
    def holder(self) -> str:
        """``ci@runner-7 (apply since 2026-11-30 10:15 +0100, Terraform 1.15.5)``, as far as it is known."""
        since = f" since {self.created.astimezone():%Y-%m-%d %H:%M %z}" if self.created else ""
        doing = ", ".join(
            filter(None, [self.operation + since, self.version and f"Terraform {self.version}"])
        )
        return f"{self.who or 'somebody'} ({doing})" if doing else self.who or "somebody"


def explain(text: str) -> LockHeld | None:
    """The lock that an engine's error is about; None if it is about something else.

    Args:
        text: a diagnostic's summary and detail, or the output of a command.
    """
    fields = dict(FIELD.findall(text))
    words = " ".join(text.replace("│", " ").split())
    lock_object = LOCK_OBJECT.search(words)
    refused = lock_object is not None and "Error 412" in words
    if not refused and not fields.keys() >= {"ID", "Path", "Operation"}:
        return None
    released = any(sign in words for sign in RELEASED)
    created = TIME.search(fields.get("Created", ""))
    return LockHeld(
        id="" if released else fields.get("ID", ""),
        path=fields.get("Path") or (lock_object[0] if lock_object else ""),
        operation=fields.get("Operation", "").removeprefix("OperationType").lower(),
        who="" if released else fields.get("Who", ""),
        version=fields.get("Version", ""),
        created=dt.datetime.fromisoformat(f"{created[0]}+00:00") if created else None,
        released=released,
        left_behind="releasing the state lock" in words,
    )


def is_forbidden(error: RunError) -> bool:
    """Did a command fail only because this identity may not write the lock into its bucket?"""
    texts = [f"{one.summary} {one.detail}" for one in error.diagnostics]
    return bool(texts) and all(FORBIDDEN.search(" ".join(text.split())) for text in texts)


def translated(error: RunError, stack: str, engine: Engine, root: Path) -> EngineError:
    """An engine's error in groundplan's words if it is about a lock; any other error as it is.

    Args:
        error: what the engine's command raised.
        stack: whose state it is.
        engine: the engine that ran.
        root: the stack's root directory, from which the lock can be released.
    """
    texts = [f"{d.summary}\n{d.detail}" for d in error.diagnostics] or [error.detail]
    locks = [explain(text) for text in texts]
    lock = next((found for found in locks if found), None)
    if lock is None:
        return error
    hint = _hint(lock, release_command(lock, engine, root))
    if not all(locks):  # something else went wrong too, and matters more
        return EngineError(error.message, hint=f"{hint}\n{error.hint}", detail=error.detail)
    return EngineError(_message(lock, stack, error.command), hint=hint, detail=error.detail)


def release_command(lock: LockHeld, engine: Engine, root: Path) -> str:
    """The shell command that deletes exactly this lock; empty where there is no such command."""
    if not lock.generation:
        return ""
    if engine.kind == "binary":
        return shlex.join([str(engine.path), f"-chdir={root}", "force-unlock", lock.generation])
    return shlex.join(["gcloud", "storage", "rm", f"{lock.path}#{lock.generation}"])


def _message(lock: LockHeld, stack: str, command: str) -> str:
    if lock.left_behind:
        return f"{command} of {stack} did its work, but could not release the lock on the state"
    if lock.released:
        return f"the lock on the state of {stack} was released while it was being read"
    return f"the state of {stack} is locked by {lock.holder}"


def _hint(lock: LockHeld, release: str) -> str:
    if lock.released:
        return "Run the same command again."
    if lock.left_behind:
        return f"Release it:\n  {release}"
    if not lock.path.startswith("gs://"):
        return "The lock ends with the process that holds it: wait for that, or stop it."
    if not release:
        return (
            f"Nothing was changed. Who holds it stands in {lock.path}, which could not be read: "
            "the identity of this run needs storage.objects.get on it."
        )
    own = (
        "It bears your own name: another run of yours, or one that died. " if lock.who == _own_name() else ""
    )
    return (
        f"{own}Nothing was changed. Wait until that run is done. If it is dead, this releases its lock "
        f"and no later one:\n  {release}"
    )


def _own_name() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"
