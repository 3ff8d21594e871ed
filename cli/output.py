"""What reaches a person: results on stdout, everything else on stderr, colours only where they are wanted."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import click

#: Style names used throughout, and what they look like on a terminal.
STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "note": {"fg": "blue", "bold": True},
    "heading": {"bold": True},
    "group": {"bold": True},
    "add": {"fg": "green"},
    "change": {"fg": "yellow"},
    "danger": {"fg": "magenta", "bold": True},
    "delete": {"fg": "red", "bold": True},
    "keep": {"fg": "cyan"},
    "dim": {"dim": True},
}

Style = Callable[[str, str], str]


@dataclass
class Output:
    """How this run talks: as JSON or as text, quietly or verbosely."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False

    def result(self, text: str) -> None:
        """Print a line (or lines) of the result to stdout."""
        click.echo(text)

    def document(self, document: Any) -> None:
        """Print the one JSON document of ``--json``."""
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))

    def say(self, text: str = "") -> None:
        """Tell something that is not the result, unless the person asked for quiet."""
        if not self.quiet:
            click.echo(text, err=True)

    def warn(self, text: str) -> None:
        """Tell something that matters even when quiet."""
        click.echo(text, err=True)

    def detail(self, text: str) -> None:
        """Tell what only the curious want to know."""
        if self.verbose:
            click.echo(text, err=True)

    @staticmethod
    def style_for(stream: IO[str]) -> Style:
        """``(text, style name) -> text``, which colours only if ``stream`` is a terminal that wants it."""
        if not wants_colour(stream):
            return lambda text, _name: text
        return lambda text, name: click.style(text, **STYLES.get(name, {}))

    @property
    def out(self) -> Style:
        """The style function for stdout."""
        return self.style_for(sys.stdout)

    @property
    def err(self) -> Style:
        """The style function for stderr."""
        return self.style_for(sys.stderr)


def wants_colour(stream: IO[str]) -> bool:
    """Colours go to terminals only, and never where ``NO_COLOR`` is set or ``TERM`` is ``dumb``."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def interactive() -> bool:
    """Whether there is somebody to ask, and a place for moving progress lines."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not os.environ.get("CI")


class Outlet:
    """A stream whose reader may go away (``| head``): the rest is dropped, and the command goes on.

    An apply must not stop because nobody reads what it says, nor end with a code that means something else.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write to the reader, if there still is one."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        """Hand over what was written, if there still is a reader."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        """From now on everything goes nowhere, also what the stream itself still holds."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
