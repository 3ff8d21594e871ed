"""Terraform's command line as methods: one object per root directory."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from groundplan.engines.terraform import process
from groundplan.engines.terraform.engine import Engine
from groundplan.engines.terraform.events import Diagnostic, Event, parse, readable
from groundplan.engines.terraform.known_errors import explain
from groundplan.engines.terraform.process import Interrupt
from groundplan.errors import EngineError, Interrupted

OnEvent = Callable[[Event], None]

SHOWN_ERRORS = 5
SHOWN_LINES = 12  # of an engine that died without a diagnostic

ABANDONED_HINT = (
    "Objects that were being created may exist without being in the state. Run the same command again: what "
    "exists already is reported then, and can be imported. A state lock that was left behind is named too."
)


KILLED_HINT = "Somebody, or the system when memory ran out, killed the engine. Run the same command again."


class RunError(EngineError):
    """An engine's command failed.

    Args:
        command: Terraform's word for it: ``init``, ``plan``, ``apply`` …
        diagnostics: the errors, in the engine's words.
        log: file with the whole output.
        last_words: the end of the output, for an engine that died without a diagnostic.
        code: the engine's exit code; negative for the signal that ended it.
    """

    def __init__(
        self,
        command: str,
        diagnostics: Sequence[Diagnostic],
        log: Path,
        last_words: str,
        code: int = 1,
    ) -> None:
        errors = [d for d in diagnostics if d.severity == "error"]
        errors.sort(key=lambda error: error.range is None and not error.address)  # the specific ones first
        shown = [str(error) for error in errors[:SHOWN_ERRORS]]
        if len(errors) > SHOWN_ERRORS:
            shown.append(f"… and {len(errors) - SHOWN_ERRORS} more errors")
        known = [explain(f"{error.summary} {error.detail}") for error in errors]
        advice: dict[str, None] = dict.fromkeys(entry.action for entry in known if entry)
        message = f"{command} failed"
        if errors:
            message += f": {errors[0].summary.splitlines()[0]}"
        elif code < 0:
            message = f"{command} was ended by {signal.Signals(-code).name}"
            advice[KILLED_HINT] = None
        super().__init__(
            message,
            hint="\n".join([*advice, f"The whole output is in {log}"]),
            detail="\n".join(shown) or last_words,
        )
        self.command = command
        self.diagnostics = tuple(errors)
        self.log = log


@dataclass(frozen=True, slots=True)
class Terraform:
    """One root directory and the engine that works on it.

    Args:
        engine: the engine.
        directory: the root, with ``main.tf.json``.
        environment: the whole environment of the engine (module ``environment``).
        logs: existing directory for the output of each command.
        on_event: called with every event of a command while it runs, from the thread that called the method.
        interrupt: how a person stops it.

    Methods raise RunError if the engine fails and Interrupted if a person stopped it.
    """

    engine: Engine
    directory: Path
    environment: Mapping[str, str]
    logs: Path
    on_event: OnEvent = lambda event: None
    interrupt: Interrupt = field(default_factory=Interrupt)

    def init(self, *, migrate_state: bool = False, upgrade: bool = False) -> None:
        """Prepare backend, providers and modules.

        Args:
            migrate_state: copy the state from the former backend to the present one.
            upgrade: take the newest providers that the constraints allow.
        """
        migration = ["-migrate-state", "-force-copy"] if migrate_state else []
        # Terraform does not migrate a state with -json.
        newest = ["-upgrade"] if upgrade else []
        self._stream("init", "-no-color", *migration, *newest, json=not migrate_state)

    def validate(self) -> list[Diagnostic]:
        """Check the configuration against the provider's schema; the warnings are returned."""
        code, output, errors = self._capture("validate", "-json")
        try:
            diagnostics = msgspec.json.decode(output, type=_Validation).diagnostics
        except msgspec.MsgspecError:
            raise self._failure("validate", [], output + errors) from None
        if code != 0:
            raise self._failure("validate", diagnostics, output)
        return diagnostics

    def plan(
        self,
        out: Path,
        *,
        destroy: bool = False,
        refresh_only: bool = False,
        targets: Sequence[str] = (),
        lock_timeout_seconds: int | None = 0,
    ) -> bool:
        """Write a plan file; does it change anything?

        Args:
            out: the plan file. It holds sensitive values in clear.
            destroy: plan to destroy everything.
            refresh_only: only compare the state with the cloud.
            targets: addresses to limit the plan to.
            lock_timeout_seconds: how long to wait for a state that someone else works on; None: take no lock.
        """
        flags = [
            f"-out={out}",
            "-detailed-exitcode",
            "-lock=false" if lock_timeout_seconds is None else f"-lock-timeout={lock_timeout_seconds}s",
            *(["-destroy"] if destroy else []),
            *(["-refresh-only"] if refresh_only else []),
            *(f"-target={address}" for address in targets),
        ]
        return self._stream("plan", *flags, accept=(0, 2)) == 2

    def apply(self, plan: Path, *, lock_timeout_seconds: int = 0) -> None:
        """Apply a plan file. The state is saved as objects are made, also when it fails or is interrupted."""
        self._stream("apply", f"-lock-timeout={lock_timeout_seconds}s", str(plan))

    def show_plan(self, plan: Path) -> bytes:
        """A plan file as JSON. Sensitive values stand in it in clear."""
        return self._document("show", "-json", str(plan))

    def show_state(self) -> dict[str, Any]:
        """The state as ``terraform show -json`` gives it. Sensitive values stand in it in clear."""
        return self._decoded("show", "-json")

    def state(self) -> bytes:
        """The raw state as it is stored; empty if there is none yet."""
        return self._document("state", "pull")

    def state_list(self) -> list[str]:
        """The addresses in the state."""
        return self._document("state", "list").decode().split() if self.state().strip() else []

    def output(self) -> dict[str, Any]:
        """The values of the outputs by name."""
        return {name: output["value"] for name, output in self._decoded("output", "-json").items()}

    def import_(self, address: str, id: str, *, lock_timeout_seconds: int = 0) -> None:
        """Take an existing object into the state."""
        self._stream("import", "-no-color", f"-lock-timeout={lock_timeout_seconds}s", address, id, json=False)

    def untaint(self, address: str, *, lock_timeout_seconds: int = 0) -> None:
        """Keep an object whose creation failed midway, instead of replacing it."""
        self._document("untaint", f"-lock-timeout={lock_timeout_seconds}s", address)

    def providers_schema(self) -> bytes:
        """The schema of all providers in use, as JSON."""
        return self._document("providers", "schema", "-json")

    def _stream(self, command: str, *arguments: str, accept: Sequence[int] = (0,), json: bool = True) -> int:
        diagnostics: list[Diagnostic] = []

        def on_line(line: bytes) -> None:
            event = parse(line)
            if isinstance(event, Diagnostic):
                diagnostics.append(event)
            self.on_event(event)

        output = self.logs / f"{command}.jsonl"
        code, interrupts = process.run(
            [*self.engine.command, command, *(["-json"] if json else []), "-input=false", *arguments],
            directory=self.directory,
            environment=self.environment,
            output=output,
            on_line=on_line,
            interrupt=self.interrupt,
        )
        if code not in accept:
            raise self._failure(command, diagnostics, output.read_bytes(), interrupts, code)
        return code

    def _document(self, *words: str) -> bytes:
        code, output, errors = self._capture(*words)
        if code != 0:
            raise self._failure(words[0], [], errors)
        return output

    def _decoded(self, *words: str) -> dict[str, Any]:
        return msgspec.json.decode(self._document(*words), type=dict[str, Any])

    def _capture(self, *words: str) -> tuple[int, bytes, bytes]:
        """Exit code, standard output and standard error of a command that only reads and is done soon."""
        self.interrupt.check()
        ended = subprocess.run(
            [*self.engine.command, *words],
            cwd=self.directory,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            process_group=0,
            check=False,
        )
        return ended.returncode, ended.stdout, ended.stderr

    def _failure(
        self,
        command: str,
        diagnostics: Sequence[Diagnostic],
        output: bytes,
        interrupts: int = 0,
        code: int = 1,
    ) -> EngineError | Interrupted:
        """The exception for a failed command, after its output was written to a readable log."""
        log = self.logs / f"{command}.log"
        text = "\n".join(readable(line) for line in output.splitlines())
        with contextlib.suppress(OSError), process.private(log), log.open("w", encoding="utf-8") as file:
            file.write(text + "\n")  # a full disk must not hide what failed
        if interrupts > 1:
            return Interrupted(f"{command} was abandoned; its output is in {log}", hint=ABANDONED_HINT)
        if interrupts:
            return Interrupted(
                f"{command} was stopped after the running operations; the state is safe",
                hint="Run the same command again to go on.",
            )
        return RunError(command, diagnostics, log, "\n".join(text.splitlines()[-SHOWN_LINES:]), code)


class _Validation(msgspec.Struct):
    diagnostics: list[Diagnostic]
