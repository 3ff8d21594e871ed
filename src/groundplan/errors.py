"""The one exception tree. Everything a person may see derives from GroundplanError.

Only ``cli`` prints and exits. Every other room raises one of these; the exit code is the class's
(docs/exit-codes.md lists them). An exception outside this tree is a bug of ours: exit code 70.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class GroundplanError(Exception):
    """A problem to show a person: what is wrong, and what to do instead.

    Args:
        message: one sentence, without the word "error" and without a full stop at its end.
        hint: what to do or write instead, one or more sentences; empty where nothing helps.
        detail: longer text (an engine's own words), shown below the message.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail


class InputError(GroundplanError):
    """What the person gave cannot be used: a blueprint, a plan file, a lock file."""

    exit_code = 1


class BlueprintError(InputError):
    """A blueprint has problems; all of them are in ``diagnostics``.

    Args:
        diagnostics: ``groundplan.blueprints.diagnostics.Diagnostic`` objects, at least one an error.
    """

    def __init__(self, diagnostics: Sequence[object]) -> None:
        super().__init__("the blueprint has problems")
        self.diagnostics = tuple(diagnostics)


class EngineError(GroundplanError):
    """The engine (Terraform, OpenTofu) or the cloud refused, or no engine could be found."""

    exit_code = 4


class PolicyError(GroundplanError):
    """A guard or a policy stops what was asked for."""

    exit_code = 3


class UsageError(GroundplanError):
    """The command line itself is wrong."""

    exit_code = 64


class Interrupted(GroundplanError):
    """The person pressed Ctrl-C (or a TERM signal came), and the state is safe."""

    exit_code = 130


class InternalError(GroundplanError):
    """A mistake in groundplan's own code, found by one of its checks."""

    exit_code = 70
