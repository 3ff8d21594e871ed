"""Running an engine as a child process that survives us, and stopping it without losing its state.

The child writes its output to a file and we follow that file. So nothing can deadlock on a full pipe, the
whole output is there when something fails, and an apply goes on to its end (and writes its state) even if
groundplan is killed. The child has a process group of its own: Ctrl-C in a terminal reaches only
groundplan, which passes it on exactly once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from groundplan.errors import Interrupted

POLL_SECONDS = 0.05  # how late an event may arrive

#: After a second interrupt an engine needs up to 5 s to give up its running operations.
GRACE_SECONDS = 8.0

Notify = Callable[[int], None]


class Interrupt:
    """How often the person asked to stop; shared by everything that runs at a time.

    Signals reach only the main thread. It counts here, and each thread that follows a child looks at the
    count and tells its child.
    """

    def __init__(self) -> None:
        self.count = 0

    def trigger(self) -> None:
        """Ask once more: first to finish what is running, then to abandon it, then to kill it."""
        self.count += 1

    def check(self) -> None:
        """Start nothing new after the person asked to stop.

        Raises:
            Interrupted: if asked.
        """
        if self.count:
            raise Interrupted("stopped; the state is safe", hint="Run the same command again to go on.")

    @contextlib.contextmanager
    def listening(self, notify: Notify = lambda count: None) -> Iterator[Interrupt]:
        """Count SIGINT and SIGTERM while inside. Only for the main thread.

        Args:
            notify: called with the count after each signal, to tell the person what happens now.
        """

        def handle(number: int, frame: FrameType | None) -> None:
            self.trigger()
            notify(self.count)

        former = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


class Ended(NamedTuple):
    """How a child ended: exit code (negative for a signal), and how often it was told to stop (3: killed)."""

    code: int
    interrupts: int


def run(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    output: Path,
    on_line: Callable[[bytes], None],
    interrupt: Interrupt,
) -> Ended:
    """Run ``command`` to its end.

    Args:
        command: the words of the command.
        directory: its working directory.
        environment: its whole environment.
        output: file for its standard output and error; it is overwritten.
        on_line: called with each line, at most ``POLL_SECONDS`` after it was written.
        interrupt: passed on to the child.

    Raises:
        Interrupted: before anything ran, if the person had asked to stop already.
    """
    interrupt.check()
    with private(output) as sink, output.open("rb") as source:
        child = subprocess.Popen(
            command,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            process_group=0,
            umask=0o077,  # plan files and state hold secrets
        )
        lines = _Lines(source.read, on_line)
        try:
            interrupts = _follow(child, lines.pump, interrupt)
        except BaseException:
            _finish(child)
            raise
        lines.pump(final=True)
    return Ended(child.returncode, interrupts)


@contextlib.contextmanager
def private(path: Path) -> Iterator[int]:
    """A new empty file that only its owner can read, open for writing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Lines:
    """Complete lines out of a file that is still being written."""

    def __init__(self, read: Callable[[], bytes], on_line: Callable[[bytes], None]) -> None:
        self.read = read
        self.on_line = on_line
        self.rest = b""

    def pump(self, *, final: bool = False) -> None:
        *lines, self.rest = (self.rest + self.read()).split(b"\n")
        if final and self.rest:
            lines.append(self.rest)
        for line in lines:
            if line.strip():
                self.on_line(line)


def _follow(child: subprocess.Popen[bytes], pump: Callable[[], None], interrupt: Interrupt) -> int:
    """Hand out lines until the child has ended; pass interrupts on, the third or a long wait kills.

    Returns how many were passed on; killing it counts as the third.
    """
    passed_on = 0
    deadline = float("inf")
    while not _ended(child):
        pump()
        if passed_on < min(interrupt.count, 2):  # one a round: two pending signals would become one
            child.send_signal(signal.SIGINT)
            passed_on += 1
            deadline = time.monotonic() + GRACE_SECONDS if passed_on == 2 else deadline
        if interrupt.count > 2 or time.monotonic() > deadline:
            _kill(child)
            passed_on = 3
    return passed_on


def _ended(child: subprocess.Popen[bytes]) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(POLL_SECONDS)
    return child.returncode is not None


def _finish(child: subprocess.Popen[bytes]) -> None:
    """Something went wrong on our side: let the child write its state first. A further Ctrl-C kills it."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait()
    except BaseException:
        _kill(child)
        raise


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and what it started (providers, provisioners)."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
