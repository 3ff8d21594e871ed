"""The stand-in as others use it: a server in a child process for as long as it is needed."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from groundplan.errors import EngineError

_MODULE = "groundplan.engines.terraform.offline.server"
_START_SECONDS = 30.0
_STOP_SECONDS = 5.0


class Standin:
    """A running stand-in for the providers google and google-beta.

    ::

        with Standin(cloud_dir) as standin:
            subprocess.run(["terraform", "plan"], env={**os.environ, **standin.environment})

    One server can serve several Terraform commands, one after the other or at once. It runs in a
    session of its own: Ctrl-C in the terminal reaches Terraform, which may then finish what runs with
    a provider that still answers. It ends with this process, however that ends.

    Args:
        cloud_dir: folder of the stand-in's objects; made if it is missing.
        log: file that gets refusals and tracebacks.
        types: serve only these resource types and those that the cloud has objects of. Every type
            costs Terraform some CPU in every command; the state must not hold others.
    """

    def __init__(
        self, cloud_dir: Path, log: Path | None = None, *, types: Collection[str] | None = None
    ) -> None:
        self._cloud_dir = cloud_dir
        self._log = log
        self._types = types
        self._process: subprocess.Popen[bytes] | None = None
        self._files: list[IO[Any]] = []
        self._reattach = ""

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make Terraform and OpenTofu use the stand-in."""
        return {"TF_REATTACH_PROVIDERS": self._reattach}

    @property
    def alive(self) -> bool:
        """Does the server run? False explains Terraform's "plugin did not respond"."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the server.

        Raises:
            EngineError: it was not started.
        """
        if self._process is None:
            raise EngineError("the offline provider was not started")
        return self._process.pid

    def __enter__(self) -> Standin:
        errors = self._temporary_file()
        self._process = subprocess.Popen(
            self._command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        try:
            self._reattach = self._first_line()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            _end(self._process)
        for file in self._files:
            file.close()
        self._files.clear()

    def _command(self) -> list[str]:
        # -P: a file of the working directory must not shadow a module of ours.
        command = [sys.executable, "-P", "-m", _MODULE, "--cloud", str(self._cloud_dir)]
        if self._log is not None:
            command += ["--log", str(self._log)]
        if self._types is not None:
            listing = self._temporary_file()
            listing.write("\n".join(sorted(self._types)).encode())
            listing.flush()
            command += ["--types", listing.name]
        return command

    def _temporary_file(self) -> IO[bytes]:
        file = tempfile.NamedTemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._files.append(file)
        return file

    def _first_line(self) -> str:
        """The line that the server prints when it is ready."""
        assert self._process is not None and self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            ready = selector.select(_START_SECONDS)
        line = self._process.stdout.readline().decode() if ready else ""
        try:
            json.loads(line)
        except ValueError:
            why = "it ended at once" if ready else f"it was not ready after {_START_SECONDS:.0f} seconds"
            raise EngineError(
                f"the offline provider did not start: {why}",
                hint=f"Is {self._cloud_dir} writable, and is groundplan installed completely?",
                detail=Path(self._files[0].name).read_text(errors="replace").strip().rpartition("\n")[2],
            ) from None
        return line.strip()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Closing its standard input ends the server; the signals are for one that hangs."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    for stop in (process.terminate, process.kill):
        try:
            process.wait(_STOP_SECONDS)
            break
        except subprocess.TimeoutExpired:
            stop()
    process.wait()
    process.stdout.close()
