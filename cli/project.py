"""A blueprint with everything that belongs to it: its lock file, its stacks, its work directory."""

from __future__ import annotations

import difflib
import functools
import signal
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from groundplan.cli import render
from groundplan.cli.output import Output
from groundplan.errors import BlueprintError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundplan.blueprints.document import Document
    from groundplan.blueprints.lock import Lock
    from groundplan.blueprints.model import Blueprint
    from groundplan.engines.terraform.process import Interrupt
    from groundplan.modules.graph import Stack

WORK_DIRECTORY = ".groundplan"
FOUNDATION = "foundation"


@dataclass(frozen=True)
class Project:
    """A blueprint that was read without errors.

    Args:
        document: what the reader returned.
        offline: whether the stand-in's cloud is meant; it has learned ids of its own.
        work_directory: where work files live.
    """

    document: Document
    offline: bool
    work_directory: Path

    @classmethod
    def load(
        cls, blueprint: str | None, output: Output, *, offline: bool = True, work_dir: Path | None = None
    ) -> Project:
        """Find and read the blueprint; warnings go to stderr.

        Raises:
            InputError: there is no blueprint, or it has errors.
        """
        from groundplan.blueprints.files import STDIN, discover
        from groundplan.blueprints.reader import read

        path = discover(Path(), blueprint)
        document = read(path)
        if not output.as_json:
            render.diagnostics(document.diagnostics, quiet=output.quiet)
        beside = Path() if str(path) == STDIN else path.parent
        return cls(document, offline, work_dir or beside / WORK_DIRECTORY)

    @property
    def blueprint(self) -> Blueprint:
        """The typed blueprint."""
        return self.document.blueprint

    @property
    def file(self) -> str:
        """The blueprint's path, as positions name it."""
        return self.document.written.source.name

    @property
    def lock_path(self) -> Path:
        """The lock file beside the blueprint."""
        from groundplan.blueprints.lock import lock_path

        return lock_path(Path(self.file))

    @property
    def versions_path(self) -> Path | None:
        """The dependency lock file beside the blueprint; None for a blueprint from stdin."""
        from groundplan.engines.terraform.dependency_lock import beside

        return None if self.file.startswith("<") else beside(Path(self.file)).absolute()

    @property
    def learned_path(self) -> Path:
        """What the stand-in's cloud made known; never committed, since its numbers are made up."""
        return self.work_directory / "offline" / "learned.lock.yaml"

    @functools.cached_property
    def committed(self) -> Lock:
        """The lock file as it is."""
        from groundplan.blueprints.lock import read_lock

        return read_lock(self.lock_path)

    @functools.cached_property
    def allocated(self) -> Lock:
        """The lock file with ranges for everything that has none yet."""
        from groundplan.blueprints.lock import allocate

        return allocate(self.blueprint, self.committed)

    @property
    def lock(self) -> Lock:
        """What stacks are made with: committed, allocated, and, offline, what the stand-in's cloud taught."""
        from groundplan.blueprints.lock import merged, read_lock

        return merged(self.allocated, read_lock(self.learned_path)) if self.offline else self.allocated

    @property
    def founded(self) -> bool:
        """Did a foundation teach the lock file something already?"""
        return any(kept.project_number for kept in self.committed.environments.values())

    @property
    def named_buckets(self) -> list[str]:
        """The stacks that can see whether the bucket that ``state:`` names is versioned.

        With a foundation that is only its administrator: an environment's identities see their own folder.
        """
        if not self.blueprint.state.bucket:
            return []
        return [FOUNDATION] if self.blueprint.foundation else self.stack_names

    def forget_lock(self) -> None:
        """The lock file changed on disk: read it anew when it is asked for."""
        for name in ("committed", "allocated"):
            self.__dict__.pop(name, None)

    @property
    def pruned(self) -> Lock:
        """The lock file with ranges for everything in the blueprint, and with nothing else."""
        from groundplan.blueprints.lock import allocate, prune

        return allocate(self.blueprint, prune(self.blueprint, self.committed))

    def write_lock(self, lock: Lock | None = None) -> bool:
        """Write newly allocated ranges (or another lock) into the lock file; True if it changed."""
        from groundplan.blueprints.lock import write_lock

        return not self.file.startswith("<") and write_lock(self.lock_path, lock or self.allocated)

    @property
    def stack_names(self) -> list[str]:
        """Every stack of the blueprint: foundation first, environments in tier order."""
        from groundplan.stacks.catalog import stack_names

        return list(stack_names(self.blueprint))

    def select(self, names: Sequence[str]) -> list[str]:
        """The stacks that a person means, in apply order; all for no name.

        Raises:
            UsageError: there is no such environment.
        """
        known = self.stack_names
        for name in names:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                missing = (
                    "the blueprint has no `foundation:`"
                    if name == FOUNDATION
                    else f"there is no environment `{name}`"
                )
                raise UsageError(
                    missing,
                    hint=(f"Did you mean `{close[0]}`? " if close else "")
                    + f"There are: {', '.join(known)}.",
                )
        return [name for name in known if not names or name in names]

    def stacks(self, names: Sequence[str]) -> list[Stack]:
        """The stacks of these names, built, in apply order; none for no name."""
        from groundplan.stacks.catalog import stacks

        return stacks(self.blueprint, self.lock, names) if names else []

    def require_provisioned(self) -> None:
        """A real run refuses what is modelled but not made yet: it would leave it out silently.

        Raises:
            BlueprintError: with one error per such key.
        """
        from groundplan.blueprints.provisioned import provisioned_later

        problems = provisioned_later(self.document)
        if problems:
            raise BlueprintError(problems)


@contextmanager
def stopping(output: Output) -> Iterator[Interrupt]:
    """Ctrl-C and SIGTERM while an engine runs: once finishes the running operations, twice abandons them."""
    from groundplan.engines.terraform.process import Interrupt

    def tell(count: int) -> None:
        if count == 1:
            output.warn("stopping after the running operations; state is safe; press again to abandon")
        else:
            output.warn("abandoning the running operations")

    interrupt = Interrupt()
    try:
        with interrupt.listening(tell):
            yield interrupt
    finally:
        if interrupt.count:  # what comes now is the report; one more Ctrl-C must not cut it off
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
