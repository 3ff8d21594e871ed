"""Which state is which: its lineage and serial, and the wall between offline and real state.

The stand-in serves the providers' real addresses, so nothing in a state file says that its objects never
existed. Offline states therefore begin with a lineage of their own kind, which Terraform keeps for the whole
life of a state; each mode refuses the other's.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import msgspec

from groundplan.errors import EngineError

OFFLINE = "offline-"

FORMAT_VERSION = 4
#: Recorded as the writer of an empty state; Terraform refuses states of a newer version than its own.
WRITTEN_BY = "1.11.0"


class Identity(msgspec.Struct, frozen=True):
    """What names one version of one state: two states are the same only if both values are."""

    lineage: str = ""
    serial: int = 0

    @property
    def offline(self) -> bool:
        """Does the state describe objects of the stand-in?"""
        return self.lineage.startswith(OFFLINE)


def identity(raw: bytes) -> Identity | None:
    """Lineage and serial of a stored state; None for no state.

    Raises:
        EngineError: it is not a Terraform state.
    """
    if not raw.strip():
        return None
    try:
        return msgspec.json.decode(raw, type=Identity)
    except msgspec.MsgspecError as problem:
        raise EngineError("the state cannot be read", detail=str(problem)) from None


class _Resource(msgspec.Struct):
    mode: str
    type: str


class _Content(msgspec.Struct):
    resources: list[_Resource] = []


def resource_types(raw: bytes) -> set[str]:
    """The types of the managed resources in a stored state."""
    content = msgspec.json.decode(raw, type=_Content)
    return {resource.type for resource in content.resources if resource.mode == "managed"}


def check_kind(found: Identity | None, *, offline: bool, where: str) -> None:
    """Refuse a state of the other kind.

    Raises:
        EngineError: an offline run met real state, or a real run offline state.
    """
    if found is None or found.offline == offline:
        return
    if offline:
        raise EngineError(
            f"the state in {where} belongs to a real run",
            hint="An offline run keeps its own state: remove what was copied there, or use --work-dir.",
        )
    raise EngineError(
        f"the state in {where} describes objects of the offline stand-in, which do not exist in Google Cloud",
        hint="Name the right `state:`, or remove that state if it was copied there by mistake.",
    )


def begin_offline(path: Path) -> None:
    """Write an empty offline state to ``path`` unless there is a state already."""
    if path.exists():
        return
    empty = {
        "version": FORMAT_VERSION,
        "terraform_version": WRITTEN_BY,
        "serial": 0,
        "lineage": f"{OFFLINE}{uuid.uuid4()}",
        "outputs": {},
        "resources": [],
    }
    replace(path, msgspec.json.format(msgspec.json.encode(empty), indent=2) + b"\n")


def replace(path: Path, content: bytes) -> None:
    """Write a private file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(content)
        temporary.replace(path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise OSError(problem.errno, problem.strerror, str(path)) from problem  # a full disk names no file
