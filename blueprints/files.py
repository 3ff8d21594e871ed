"""Which file is the blueprint, and reading it: one clear message for whatever can be wrong with a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from groundplan.blueprints.tree import Source
from groundplan.errors import InputError

STDIN = "-"
LARGEST_FILE = 2_000_000  #: bytes; the largest blueprint that makes sense is far below

#: Files beside a blueprint that are not blueprints.
COMPANIONS = (".lock.yaml", ".waivers.yaml")


def discover(folder: Path, given: str | Path | None = None) -> Path:
    """The blueprint to use: the one that is given, else the only one in its usual places below ``folder``.

    The usual places are ``blueprints/`` with everything below it and ``groundplan.yaml``. ``-`` is stdin.

    Raises:
        InputError: there is none, or more than one.
    """
    if given is not None:
        return Path(given)
    found = sorted(_candidates(folder))
    if len(found) == 1:
        return found[0]
    if found:
        names = "\n".join(str(path.relative_to(folder)) for path in found)
        raise InputError(
            f"there are {len(found)} blueprints here", hint="Say which one: -f FILE.", detail=names
        )
    raise InputError(
        "there is no blueprint here: no *.yaml under blueprints/, no groundplan.yaml",
        hint="`groundplan init FOLDER` writes one; -f FILE names one that is elsewhere.",
    )


def _candidates(folder: Path) -> Iterator[Path]:
    for path in (folder / "groundplan.yaml", *(folder / "blueprints").rglob("*.yaml")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden and not path.name.endswith(COMPANIONS):
            yield path


def read_source(path: str | Path) -> Source:
    """The text of a file, or of stdin where ``path`` is ``-``.

    Raises:
        InputError: it cannot be read, is too large, or is not UTF-8 text.
    """
    name = "<stdin>" if str(path) == STDIN else str(path)
    data = _bytes(path, name)
    if len(data) > LARGEST_FILE:
        raise InputError(f"{name} is larger than {LARGEST_FILE // 1_000_000} MB", hint="Is it a blueprint?")
    try:
        return Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name} is not UTF-8 text (line {line})", hint="Save the file with the encoding UTF-8."
        ) from None


def _bytes(path: str | Path, name: str) -> bytes:
    """At most one byte more than ``LARGEST_FILE``."""
    try:
        if str(path) == STDIN:
            return sys.stdin.buffer.read(LARGEST_FILE + 1)
        with Path(path).open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise InputError(f"{name} does not exist", hint="Check the path given with -f.") from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder", hint="Name the blueprint in it.") from None
    except PermissionError:
        raise InputError(f"{name} may not be read", hint="Check the permissions of the file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name} cannot be read: {reason}") from None
