"""Copies of a stack's state from before each apply."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

from groundplan.engines.terraform.state import identity, replace

DIRECTORY = "backups"
KEPT = 10

_NAME = re.compile(r"\d+-\d{8}T\d{6}Z\.tfstate")


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
    for old in newest_first(root)[KEPT:]:
        old.unlink(missing_ok=True)
    return path


def newest_first(root: Path) -> list[Path]:
    """The copies of a stack's state."""
    found = [path for path in (root / DIRECTORY).glob("*.tfstate") if _NAME.fullmatch(path.name)]
    return sorted(found, key=lambda path: path.stat().st_mtime_ns, reverse=True)
