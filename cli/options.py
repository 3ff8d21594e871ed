"""The options that many commands share, said once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from groundplan.cli.output import Output

F = TypeVar("F", bound=Callable[..., Any])


def environments(required: bool = False) -> Callable[[F], F]:
    """The positional environments. ``foundation`` is a reserved name; none means all."""
    return click.argument("names", metavar="[ENV]...", nargs=-1, required=required)


def output_options(command: F) -> F:
    """``--json``, ``--quiet`` and ``--verbose``, handed over as one ``Output``."""

    @click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else on stdout."
    )
    @click.option("-q", "--quiet", is_flag=True, help="Only results, warnings and errors.")
    @click.option("-v", "--verbose", is_flag=True, help="Also say what runs underneath.")
    @functools.wraps(command)
    def wrapper(*args: Any, as_json: bool, quiet: bool, verbose: bool, **kwargs: Any) -> Any:
        return command(*args, output=Output(as_json, quiet or as_json, verbose), **kwargs)

    return wrapper  # type: ignore[return-value]


def blueprint_option(command: F) -> F:
    """``-f`` after the command too; whichever is given."""

    @click.option("-f", "--file", "file", metavar="BLUEPRINT", help="The blueprint, as before the command.")
    @click.pass_context
    @functools.wraps(command)
    def wrapper(ctx: click.Context, /, *args: Any, file: str | None, **kwargs: Any) -> Any:
        return command(*args, blueprint=file or (ctx.obj or {}).get("blueprint"), **kwargs)

    return wrapper  # type: ignore[return-value]


def run_options(command: F) -> F:
    """Where and with what Terraform runs."""
    for option in (
        click.option(
            "--offline",
            is_flag=True,
            help="Run against the stand-in cloud: no account, no network, nothing real changes.",
        ),
        click.option(
            "--engine-binary",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="The terraform or tofu to run; else one is found.",
        ),
        click.option(
            "--work-dir",
            type=click.Path(file_okay=False, path_type=Path),
            help="Where work files live; else .groundplan/ beside the blueprint.",
        ),
    ):
        command = option(command)
    return command
