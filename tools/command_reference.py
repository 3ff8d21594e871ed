"""Writes the generated part of ``docs/commands.md`` and the table in README from the commands themselves.

Usage: ``python tools/command_reference.py``.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

import click
from generated_part import rewrite

from groundplan.cli.main import COMMANDS, cli, commands

TOOL = Path(__file__).name
SHARED_BY = 3  #: an option that so many commands have is described once


def main() -> None:
    """Write the pages."""
    for page, part in generated().items():
        rewrite(page, TOOL, part)


def generated() -> dict[str, str]:
    """The generated part of each page."""
    lines = [f"| `{name}` | {help_line} |" for name, (_, help_line) in COMMANDS.items()]
    return {
        "README.md": "\n".join(["| command | |", "|---|---|", *lines]),
        "docs/commands.md": reference(),
    }


def reference() -> str:
    """Every command with its text, its options and its example; what many have in common stands first."""
    found = commands()
    counted = Counter(row for command in found.values() for row in _rows(command.params))
    shared = [row for row, number in counted.items() if number >= SHARED_BY]
    sections = [
        "## Before the command\n\n" + _table(_rows(cli.params)),
        "## Options of several commands\n\n" + _table(shared),
        *(_section(name, command, shared) for name, command in found.items()),
    ]
    return "\n\n".join(sections)


def _section(name: str, command: click.Command, shared: Collection[str]) -> str:
    text, example = help_parts(command)
    arguments = [one.metavar or str(one.name).upper() for one in _arguments(command)]
    rows = _rows(command.params)
    also = ", ".join(row.split(" | ")[0].removeprefix("| ") for row in rows if row in shared)
    parts = [
        f"## {name}",
        f"`{' '.join(['groundplan', name, *arguments])}`",
        text,
        f"```sh\n{example}\n```",
        _table([row for row in rows if row not in shared]),
        f"Also {also}." if also else "",
    ]
    return "\n\n".join(part for part in parts if part)


def help_parts(command: click.Command) -> tuple[str, str]:
    """The text of a command's help, and its example."""
    text, _, example = inspect.cleandoc(command.help or "").partition("\b\nExample:\n")
    return text.strip(), inspect.cleandoc(example)


def _arguments(command: click.Command) -> list[click.Argument]:
    return [one for one in command.params if isinstance(one, click.Argument)]


def _rows(params: Iterable[click.Parameter]) -> list[str]:
    return [_row(one) for one in params if isinstance(one, click.Option)]


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    value = "" if option.is_flag else f" {(option.metavar or option.type.name).upper()}"
    default = f" Default: `{option.default}`." if option.show_default and option.default is not None else ""
    variable = f" Or the variable `{option.envvar}`." if option.envvar else ""
    return f"| {names}{value} | {option.help}{default}{variable} |"


def _table(rows: Collection[str]) -> str:
    return "\n".join(["| option | |", "|---|---|", *rows]) if rows else ""


if __name__ == "__main__":
    main()
