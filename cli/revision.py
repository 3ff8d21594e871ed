"""Files as they were at a git revision, read without touching the working tree."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from groundplan.errors import UsageError


@dataclass(frozen=True)
class Revision:
    """A commit of the repository that a folder is in.

    Args:
        ref: how the person named it.
        commit: its full id.
        folder: the folder from which paths are relative.
    """

    ref: str
    commit: str
    folder: Path

    @classmethod
    def named(cls, ref: str, folder: Path) -> Revision:
        """The commit that ``ref`` names.

        Raises:
            UsageError: there is no git, no repository, or no such commit in it.
        """
        inside = _git(folder, "rev-parse", "--git-dir")
        if inside.returncode:
            raise UsageError(
                f"--base needs a git repository, and {folder} is in none that git reads",
                detail=inside.stderr.decode(errors="replace"),
            )
        found = _git(folder, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        if found.returncode or ref.startswith("-"):
            raise UsageError(
                f"git knows no revision {ref!r} here",
                hint="A checkout in CI may hold one commit only: fetch the branch first, and name it as git "
                "does, as in --base origin/main.",
            )
        return cls(ref, found.stdout.decode().strip(), folder)

    def __str__(self) -> str:
        return self.ref if self.commit.startswith(self.ref) else f"{self.ref} ({self.commit[:7]})"

    def read(self, name: str) -> bytes | None:
        """The content of a file in the folder as it was; None if there was none."""
        found = _git(self.folder, "cat-file", "blob", f"{self.commit}:./{name}")
        return None if found.returncode else found.stdout


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What git says in a folder.

    Raises:
        UsageError: there is no git.
    """
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        )
    except FileNotFoundError:
        raise UsageError("--base needs git, and it is not installed") from None
