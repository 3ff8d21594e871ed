"""The work files beside a blueprint: one directory per mode, one root per stack.

    .groundplan/
      offline/          mode, lock, engine.tfrc
        cloud/          the stand-in's cloud, one for all stacks, so that collisions between them show
        STACK/          main.tf.json, applied.json, terraform.tfstate, plan.tfplan, logs/
      run/
        STACK/          the same for real runs; the state is here only if the blueprint says so

All of it is private (directories 0700, files 0600): plans and states hold sensitive values in clear.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from groundplan.engines.terraform import environment
from groundplan.engines.terraform.state import (
    Identity,
    begin_offline,
    check_kind,
    identity,
    replace,
    resource_types,
)
from groundplan.engines.terraform.writer import FILE_NAME, STATE_FILE, Json, encode
from groundplan.errors import EngineError

DIRECTORY = ".groundplan"


@dataclass(frozen=True, slots=True)
class Root:
    """The root directory of one stack."""

    path: Path

    @property
    def plan(self) -> Path:
        """Terraform's plan file."""
        return self.path / "plan.tfplan"

    @property
    def logs(self) -> Path:
        """Directory with the output of each command."""
        return self.path / "logs"

    @property
    def state(self) -> Path:
        """The state, where it is kept in a file."""
        return self.path / STATE_FILE

    @property
    def applied(self) -> Path:
        """The configuration of the last apply. Not called ``.tf.json``, which Terraform would read."""
        return self.path / "applied.json"

    def write(self, content: Json) -> None:
        """Write ``main.tf.json``."""
        replace(self.path / FILE_NAME, encode(content))

    def keep_applied(self) -> None:
        """Remember the configuration that was applied just now."""
        replace(self.applied, (self.path / FILE_NAME).read_bytes())

    def identity(self) -> Identity | None:
        """Lineage and serial of the state file; None if there is none."""
        return identity(self.state.read_bytes()) if self.state.exists() else None

    @property
    def _stamp(self) -> Path:
        return self.path / ".terraform" / "groundplan"

    def is_initialized(self, stamp: str) -> bool:
        """Was ``init`` run with the same engine, backend and providers?"""
        return self._stamp.exists() and self._stamp.read_text(encoding="utf-8") == stamp

    def set_initialized(self, stamp: str) -> None:
        """Remember what ``init`` was run with."""
        self._stamp.parent.mkdir(mode=0o700, exist_ok=True)
        replace(self._stamp, stamp.encode())


@dataclass(frozen=True, slots=True)
class Workspace:
    """The directory of one mode. Made by ``opened``, which holds its lock."""

    path: Path
    offline: bool

    @property
    def cloud(self) -> Path:
        """The stand-in's cloud."""
        return self.path / "cloud"

    @property
    def cli_config(self) -> Path:
        """Terraform's CLI configuration for offline runs."""
        return self.path / "engine.tfrc"

    def resource_types(self) -> set[str]:
        """The types of everything in the states of all stacks here."""
        return set().union(*(resource_types(path.read_bytes()) for path in self.path.glob(f"*/{STATE_FILE}")))

    def root(self, stack: str) -> Root:
        """The root of a stack, made if need be.

        Raises:
            EngineError: a state file of the other mode is in it.
        """
        root = Root(self.path / stack)
        root.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.path.chmod(0o700)
        if self.offline:
            begin_offline(root.state)
        check_kind(root.identity(), offline=self.offline, where=str(root.path))
        return root


@contextlib.contextmanager
def opened(work_directory: Path, *, offline: bool, stacks: Iterable[str] = ()) -> Iterator[Workspace]:
    """The workspace of one mode, for one groundplan process at a time.

    An offline workspace is locked whole, since its stacks share a cloud. Of a real one only the named stacks
    are, so that one environment can be planned while another is applied.

    Args:
        work_directory: ``.groundplan`` beside the blueprint, or what ``--work-dir`` says.
        offline: which mode.
        stacks: the stacks that will be worked on.

    Raises:
        EngineError: another process has it, or the directory belongs to the other mode.
    """
    if not work_directory.exists():
        work_directory.mkdir(mode=0o700, parents=True)
        replace(work_directory / ".gitignore", b"*\n")
    workspace = Workspace((work_directory / ("offline" if offline else "run")).absolute(), offline)
    workspace.path.mkdir(mode=0o700, exist_ok=True)
    _claim(workspace)
    locks = [workspace.path / "lock"]
    if offline:
        workspace.cloud.mkdir(mode=0o700, exist_ok=True)
        replace(workspace.cli_config, environment.OFFLINE_CLI_CONFIG.encode())
    else:
        locks = [workspace.path / f"{stack}.lock" for stack in sorted(set(stacks))]
    with contextlib.ExitStack() as held:
        for lock in locks:
            held.enter_context(_locked(lock))
        yield workspace


def _claim(workspace: Workspace) -> None:
    """Say once what the directory is for; refuse one that says otherwise."""
    mode, marker = "offline" if workspace.offline else "real", workspace.path / "mode"
    if not marker.exists():
        replace(marker, f"{mode}\n".encode())
    elif marker.read_text(encoding="utf-8").strip() != mode:
        raise EngineError(
            f"{workspace.path} is not for {mode} runs: its file `mode` says so",
            hint="Use another --work-dir. Offline and real files must never mix.",
        )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold ``path`` as a lock; the system drops it when the process ends, however it ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 1000).decode(errors="replace").strip()
            raise EngineError(
                f"another groundplan works in {path.parent}: {holder or 'just started'}",
                hint="Wait until it is done, or use another --work-dir.",
            ) from None
        since = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}, since {since}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
