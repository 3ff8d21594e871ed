"""Diagnostics and failures as people and machines read them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from groundplan.cli.output import Output
from groundplan.errors import BlueprintError, GroundplanError

if TYPE_CHECKING:
    from groundplan.blueprints.diagnostics import Diagnostic


def diagnostics(found: Iterable[Any], *, quiet: bool = False) -> None:
    """Print problems with their lines to stderr, each followed by a blank line; quiet leaves out notes."""
    from groundplan.blueprints.diagnostics import render

    paint = Output.style_for(sys.stderr)
    for diagnostic in found:
        if not (quiet and diagnostic.severity == "note"):
            click.echo(render(diagnostic, paint=paint) + "\n", err=True)


def count(found: Iterable[Diagnostic]) -> str:
    """``9 errors, 2 warnings``; notes are not counted."""
    severities = [diagnostic.severity for diagnostic in found]
    parts = []
    for severity in ("error", "warning"):
        number = severities.count(severity)
        if number:
            parts.append(f"{number} {severity}{'s' if number > 1 else ''}")
    return ", ".join(parts) or "no problems"


def failure_document(error: GroundplanError) -> None:
    """What ``--json`` prints when a command fails: ``{"error": {…}, "diagnostics": […]}``."""
    found = [d.as_json() for d in error.diagnostics] if isinstance(error, BlueprintError) else []  # type: ignore[attr-defined]
    Output().document(
        {
            "error": {
                "message": error.message,
                "hint": error.hint,
                "detail": error.detail,
                "exit_code": error.exit_code,
            },
            "diagnostics": found,
        }
    )
