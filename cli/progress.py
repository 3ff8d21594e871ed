"""What a person sees while stacks are being worked on.

On a terminal one moving line per stack; in CI one line per event and no control characters.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundplan.cli.output import Output, interactive

if TYPE_CHECKING:
    from groundplan.engines.terraform.events import Event, Phase, ResourceEvent

VERBS = {
    "create": "creating",
    "update": "changing",
    "delete": "destroying",
    "replace": "replacing",
    "read": "reading",
    "import": "importing",
}
DOING = {
    "init": "preparing",
    "plan": "planning",
    "show": "reading the plan",
    "apply": "applying",
    "validate": "checking",
}


@dataclass
class _Line:
    """One stack's line: what it is doing, since when, and how many resources were applied."""

    doing: str = "waiting"
    done: int = 0
    started: float | None = None
    ended: float | None = None

    @property
    def seconds(self) -> str:
        if self.started is None:
            return ""
        return f"{(self.ended or time.monotonic()) - self.started:.1f} s"


class Progress:
    """Receives events of all stacks, from several threads, and shows them.

    Args:
        output: how this run talks; quiet shows nothing.
        stacks: names of the stacks in the order of their lines.
    """

    def __init__(self, output: Output, stacks: list[str]) -> None:
        self.output = output
        self.lines = {name: _Line() for name in stacks}
        self.lock = threading.Lock()
        self.moving = interactive() and not output.quiet
        self.width = max((len(name) for name in stacks), default=0)

    def event(self, stack: str, event: Event) -> None:
        """Take note of an event; may be called from any thread."""
        from groundplan.engines.terraform.events import Message, Phase, ResourceEvent

        with self.lock:
            line = self.lines.setdefault(stack, _Line())
            if isinstance(event, Phase):
                self._phase(stack, line, event)
            elif isinstance(event, ResourceEvent):
                self._resource(stack, line, event)
            elif isinstance(event, Message) and event.kind == "news":
                self.output.say(f"{stack}: {event.text}")

    def _phase(self, stack: str, line: _Line, phase: Phase) -> None:
        if phase.state == "started":
            line.doing, line.started, line.ended, line.done = DOING[phase.step], time.monotonic(), None, 0
        else:
            applied = f", {line.done} resources" if line.done else ""
            line.doing = f"{DOING[phase.step]}: {phase.state}{applied}"
            line.ended = time.monotonic()
        if not self.moving and (phase.state != "done" or phase.step == "apply"):
            self.output.say(f"{stack}: {line.doing}")

    def _resource(self, stack: str, line: _Line, event: ResourceEvent) -> None:
        if event.kind in ("apply_start", "apply_progress", "refresh_start"):
            line.doing = f"{VERBS.get(event.action, 'reading')} {event.address}"
        elif event.kind == "apply_complete" and event.action != "read":
            line.done += 1
        elif event.kind == "apply_errored":
            line.doing = f"failed: {event.address}"
        if not self.moving and event.kind.startswith("apply_") and event.kind != "apply_progress":
            self.output.detail(f"{stack}: {event.kind.removeprefix('apply_')} {event.address}")

    def rendered(self) -> str:
        """All lines as text, for the moving display."""
        with self.lock:
            return "\n".join(
                f"  {name:<{self.width}}  {line.seconds:>7}  {line.doing}"
                for name, line in self.lines.items()
            )

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Show the lines while inside. At the end they disappear: the result says it all."""
        if not self.moving:
            yield self
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        class Lines:
            """What rich draws anew ten times a second."""

            def __init__(self, progress: Progress) -> None:
                self.progress = progress

            def __rich__(self) -> Text:
                return Text(self.progress.rendered(), no_wrap=True, overflow="ellipsis")

        with Live(Lines(self), console=Console(stderr=True), refresh_per_second=10, transient=True):
            yield self
