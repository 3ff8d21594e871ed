"""The command ``groundplan``: runs a command and turns every failure into a message and an exit code.

Commands live in the other files of this room and are imported when they are called. Their one-line helps
stand here, so that ``groundplan --help`` needs none of them.
"""

from __future__ import annotations

import errno
import importlib
import keyword
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

import click

from groundplan.cli.output import Outlet
from groundplan.errors import BlueprintError, GroundplanError, InputError, Interrupted, UsageError

#: How a person, or whoever runs groundplan, asks it to stop.
STOPPING = (signal.SIGINT, signal.SIGTERM)

#: What the system says about a disk when it names no file: it came from writing, not from opening.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)

#: name → (module, one line of help), in the order of a first day's work.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Write a new blueprint repository."),
    "validate": ("blueprint", "Check a blueprint: every problem, with its line."),
    "rules": ("rules", "List what is checked in a blueprint, and what each check rests on."),
    "explain": ("rules", "Say what a code means: why, who says so, examples, whether it can be waived."),
    "show": ("blueprint", "Show an environment after merging; --origins says where values come from."),
    "schema": ("blueprint", "Print the JSON Schema of the blueprint language, for editors."),
    "lock": ("blueprint", "Allocate address ranges into the lock file."),
    "synth": ("synth", "Write the Terraform configuration of each stack."),
    "plan": ("plan", "Plan environments with Terraform and say what would change."),
    "apply": ("apply", "Plan, show, ask, and apply."),
    "destroy": ("apply", "Destroy environments; protected ones are refused."),
    "import": ("imports", "Take over what exists already instead of making it."),
    "output": ("state", "Print the outputs of applied stacks."),
    "engines": ("state", "List the Terraform engines found and what each can do."),
    "machines": ("machines", "List the machines with GPUs or TPUs, and how they can be obtained."),
    "machine": ("machines", "Show everything known about a machine, with its sources."),
    "isolation": ("isolation", "Prove that no environment can reach another, or show how it can."),
    "access": ("access", "Say who can do what, and which line of the blueprint says so."),
    "quota": ("quota", "Say which quota the environments need at most."),
}


class Registry(click.Group):
    """A group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The command names, in the registry's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"groundplan.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; without any word the help, and the exit code of a wrong command line."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(UsageError.exit_code)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a misspelt command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean `{close[0]}`?" if close else " `groundplan --help` lists the commands."
            raise click.UsageError(f"there is no command `{args[0]}`.{hint}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=Registry,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 problems in the input, 2 changes (with --detailed-exitcode), 3 refused by "
    "a policy, 4 the engine or the cloud refused, 64 usage, 70 a bug of ours, 130 interrupted.",
)
@click.option(
    "-f",
    "--file",
    "blueprint",
    metavar="BLUEPRINT",
    envvar="GROUNDPLAN_BLUEPRINT",
    help="The blueprint; else the only one under ./blueprints/, or ./groundplan.yaml. - reads stdin.",
)
@click.version_option(package_name="groundplan", message="groundplan %(version)s")
@click.pass_context
def cli(ctx: click.Context, blueprint: str | None) -> None:
    """One YAML blueprint becomes isolated Google Cloud environments for machine learning.

    \b
    groundplan init my-platform && cd my-platform
    groundplan validate
    groundplan plan ml-dev --offline       # real Terraform, no account, no network
    """
    ctx.obj = {"blueprint": blueprint}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the documented code."""
    sys.stdout, sys.stderr = cast(TextIO, Outlet(sys.stdout)), cast(TextIO, Outlet(sys.stderr))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what Ctrl-C does, it does too
    try:
        code = run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:  # while the last words were printed
        code = Interrupted.exit_code
    for number in STOPPING:  # nothing is left to stop
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run the command line and return the exit code; nothing but messages reaches the person."""
    former = {number: signal.getsignal(number) for number in STOPPING}
    try:
        return _run(argv)
    finally:
        for number, handler in former.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def _run(argv: Sequence[str]) -> int:
    as_json = "--json" in argv
    try:
        result = cli.main(args=list(argv), prog_name="groundplan", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.exceptions.Abort as abort:
        stopped = isinstance(abort.__cause__, KeyboardInterrupt)  # else the answer to a question was no
        _error("interrupted", "Nothing was under way." if stopped else "Nothing was changed.")
        return 130
    except click.ClickException as error:
        return _usage(error)
    except KeyboardInterrupt:
        _error("interrupted", "")
        return 130
    except GroundplanError as error:
        return _failure(error, as_json)
    except OSError as error:
        ours = error.filename is None and error.errno not in DISK_ERRORS
        return _bug(error) if ours else _failure(_of_the_system(error), as_json)
    except Exception as error:
        return _bug(error)


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if context is not None:
        click.echo(context.get_usage(), err=True)
    _error(error.format_message(), "")
    return UsageError.exit_code


def _failure(error: GroundplanError, as_json: bool) -> int:
    from groundplan.cli import render

    if as_json:
        render.failure_document(error)
    elif isinstance(error, BlueprintError):
        render.diagnostics(error.diagnostics)
    else:
        _error(error.message, error.hint, error.detail)
    return error.exit_code


def _of_the_system(error: OSError) -> InputError:
    """A file or folder that cannot be used: no bug of ours, and nothing that the blueprint says is wrong."""
    where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    return InputError(
        f"{where}{error.strerror}",
        hint="The system refused this. Check the path, its permissions and the free space.",
    )


def _bug(error: Exception) -> int:
    """An exception of no known kind: one line for the person, the traceback in a file they can send."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="groundplan-crash-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        traceback.print_exception(error, file=file)
    _error(
        f"groundplan met a bug of its own: {type(error).__name__}: {error}".splitlines()[0],
        f"Please report it with {file.name}. Nothing tells that your input is wrong.",
    )
    return GroundplanError.exit_code


def _error(message: str, hint: str, detail: str = "") -> None:
    from groundplan.cli.output import Output

    style = Output().err
    click.echo(f"{style('error', 'error')}: {message}", err=True)
    for line in detail.strip().splitlines():
        click.echo(f"  {line}", err=True)
    for line in hint.splitlines():
        click.echo(f"  = {line}", err=True)


def module_of(command: str) -> Path:
    """The file that holds a command; the tests use it to see that every command is documented."""
    return Path(__file__).with_name(f"{COMMANDS[command][0]}.py")


def commands() -> dict[str, Any]:
    """All commands, imported; for the tests and the generated documentation."""
    context = click.Context(cli)
    return {name: cli.get_command(context, name) for name in COMMANDS}
