"""The command line as tests call it: in this process where that is enough, as a process where it is not."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from groundplan.cli.main import run

#: What a test must not inherit from the person who runs it.
FOREIGN = ("GOOGLE_", "GCLOUD_", "CLOUDSDK_", "GCE_", "GROUNDPLAN_", "TF_", "NO_COLOR", "CI", "TERM")

#: The smallest blueprint that has everything: a cluster with GPUs, a bucket, a workload; protected or not.
BLUEPRINT = """\
apiVersion: groundplan/v1
name: tiny
defaults:
  clusters:
    main:
      zones: [a]
      node_pools:
        system: {machine: e2-standard-4, nodes: 1}
        l4: {machine: g2-standard-12, nodes: {min: 0, max: 4}}
  storage: {buckets: {data: {}}}
  workloads: {trainer: {writes: [buckets/data], runs_on: [l4]}}
environments:
  ml-dev:
"""
PROTECTED = BLUEPRINT.replace("  ml-dev:", "  ml-prod:")


@dataclass
class Result:
    """How a command ended and what it said; ``both`` is stdout and stderr as a terminal mixes them."""

    code: int
    out: str
    err: str
    both: str = ""

    @property
    def json(self):
        """The one document on stdout."""
        return json.loads(self.out)


class Tee(io.TextIOWrapper):
    """A text stream, as ``sys.stdout`` is one, that also writes to a second buffer."""

    def __init__(self, both):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self.second = both

    def write(self, text):
        self.second.write(text)
        return super().write(text)

    @property
    def text(self):
        return self.buffer.getvalue().decode()


class Person(io.TextIOWrapper):
    """Somebody at a terminal who types this."""

    def __init__(self, typed):
        super().__init__(io.BytesIO(typed.encode()))

    def isatty(self):
        return True


def environment(**changes):
    """The variables of this process without what would make a test depend on who runs it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    kept |= {"HOME": "/nonexistent", "COLUMNS": "100", "CI": "true", **changes}
    return {name: value for name, value in kept.items() if value is not None}


def groundplan(folder, *argv, stdin="", **variables):
    """Run ``groundplan ARGV`` in ``folder``, in this process. ``stdin`` is text, or a ``Person``."""
    if isinstance(stdin, str):
        stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    both = io.StringIO()
    out, err = Tee(both), Tee(both)
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, environment(**variables), clear=True),
        mock.patch.object(sys, "stdin", stdin),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run([str(word) for word in argv])
    return Result(code, out.text, err.text, both.getvalue())


def process(folder, *argv, stdin=subprocess.DEVNULL, **variables):
    """Run ``python -m groundplan ARGV`` in ``folder`` as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "groundplan", *map(str, argv)],
        cwd=folder,
        env=environment(**variables),
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def project(folder: Path, text: str = BLUEPRINT) -> Path:
    """A folder with ``groundplan.yaml``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "groundplan.yaml").write_text(text, encoding="utf-8")
    return folder


def edit(folder: Path, old: str, new: str) -> None:
    """Change the blueprint in ``folder``."""
    path = folder / "groundplan.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def cloud(folder: Path) -> dict[str, bytes]:
    """Every object of the stand-in's cloud by its file's path. Ids that stay reserved are none."""
    root = folder / ".groundplan" / "offline" / "cloud"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*.json"))
        if ".reserved" not in path.parts
    }
