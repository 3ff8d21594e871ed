"""What an engine says while it works: the lines of ``-json`` output as typed events.

The format is Terraform's "Machine-Readable UI" (OpenTofu writes the same). Nothing here holds a value of a
resource: the user interface of Terraform leaves them out, and snippets of diagnostics are dropped.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ResourceKind = Literal[
    "planned_change",
    "resource_drift",
    "refresh_start",
    "refresh_complete",
    "apply_start",
    "apply_progress",
    "apply_complete",
    "apply_errored",
]


class ResourceEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something happens, or is planned to happen, to one resource.

    ``action`` is Terraform's verb: create, update, delete, replace, read, import, move, forget, remove, noop;
    empty for a refresh. ``seconds`` is how long the operation has taken so far, ``id`` the object's id when
    it is done.
    """

    kind: ResourceKind
    address: str
    action: str = ""
    reason: str = ""
    seconds: float = 0
    id: str = ""


class Position(msgspec.Struct, frozen=True):
    """A place in the configuration, from 1."""

    line: int = 0
    column: int = 0


class Range(msgspec.Struct, frozen=True):
    """The part of a configuration file that a diagnostic is about."""

    filename: str = ""
    start: Position = Position()


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """An error or a warning in the engine's, a provider's or the cloud's own words."""

    severity: Literal["error", "warning"]
    summary: str
    detail: str = ""
    address: str = ""
    range: Range | None = None

    def __str__(self) -> str:
        """All of it, in lines: summary, what it is about, detail."""
        where = [self.address] if self.address else []
        if self.range is not None:
            where.append(f"{self.range.filename}:{self.range.start.line}")
        head = f"{self.severity}: {self.summary}"
        return "\n".join(
            part for part in (head, f"  in {', '.join(where)}" if where else "", self.detail) if part
        )


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How many resources a plan changes, or an apply or destroy has changed."""

    operation: Literal["plan", "apply", "destroy"]
    add: int = 0
    change: int = 0
    remove: int = 0
    imported: int = msgspec.field(name="import", default=0)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Any other line: free text. ``kind`` is its type, or ``text`` for a line that is not JSON."""

    kind: str
    text: str


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A stack begins or ends one step of a run; it comes from groundplan, not from the engine."""

    step: Literal["init", "plan", "show", "apply", "validate"]
    state: Literal["started", "done", "failed"]
    seconds: float = 0


Event = ResourceEvent | Diagnostic | Summary | Message | Phase


class _Address(msgspec.Struct, frozen=True):
    addr: str


class _Operation(msgspec.Struct):
    """The members ``hook`` and ``change``."""

    resource: _Address = _Address("")
    action: str = ""
    reason: str = ""
    elapsed_seconds: float = 0
    id_value: str = ""


class _Line(msgspec.Struct):
    type: str
    text: str = msgspec.field(name="@message", default="")
    change: _Operation | None = None
    hook: _Operation | None = None
    changes: Summary | None = None
    diagnostic: Diagnostic | None = None


_decode = msgspec.json.Decoder(_Line).decode
_RESOURCE_KINDS = frozenset(ResourceKind.__args__)  # type: ignore[attr-defined]


def readable(line: bytes) -> str:
    """One line of output as a person wants to read it in a log."""
    try:
        found = _decode(line)
    except msgspec.MsgspecError:
        return line.decode(errors="replace").rstrip()
    return str(found.diagnostic) if found.diagnostic is not None else found.text


def parse(line: bytes) -> Event:
    """One line of output. A line of another shape becomes a Message: no output of an engine is an error."""
    try:
        found = _decode(line)
    except msgspec.MsgspecError:
        return Message(kind="text", text=line.decode(errors="replace").rstrip())
    if found.diagnostic is not None:
        return found.diagnostic
    if found.changes is not None:
        return found.changes
    operation = found.hook or found.change
    if operation is not None and found.type in _RESOURCE_KINDS:
        return ResourceEvent(
            kind=found.type,  # type: ignore[arg-type]
            address=operation.resource.addr,
            action=operation.action,
            reason=operation.reason,
            seconds=operation.elapsed_seconds,
            id=operation.id_value,
        )
    return Message(kind=found.type, text=found.text)
