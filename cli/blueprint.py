"""Commands about the blueprint alone: validate, show, schema, lock. None of them imports an engine."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import click

from groundplan.cli import render
from groundplan.cli.options import blueprint_option, environments, output_options
from groundplan.cli.output import Output
from groundplan.cli.project import Project
from groundplan.errors import BlueprintError, InputError


@click.command(short_help="Check a blueprint: every problem, with its line.")
@blueprint_option
@output_options
def validate(blueprint: str | None, output: Output) -> int:
    """Check a blueprint and report every problem at once, each with its line and what to write instead.

    \b
    Example:
      groundplan validate
      groundplan validate --json < groundplan.yaml -f -
    """
    try:
        project = Project.load(blueprint, Output(as_json=True))
        _ = project.allocated
    except BlueprintError as error:
        if output.as_json:
            output.document([d.as_json() for d in error.diagnostics])  # type: ignore[attr-defined]
        else:
            render.diagnostics(error.diagnostics, quiet=output.quiet)
            output.warn(render.count(error.diagnostics))  # type: ignore[arg-type]
        return BlueprintError.exit_code
    found = project.document.diagnostics
    if output.as_json:
        output.document([d.as_json() for d in found])
        return 0
    render.diagnostics(found, quiet=output.quiet)
    number = len(project.blueprint.environments)
    output.result(f"{project.file}: {render.count(found)} in {number} environment{'s' if number > 1 else ''}")
    return 0


@click.command(short_help="Show an environment after merging; --origins says where values come from.")
@environments()
@click.option("--origins", is_flag=True, help="Add the file and line that each value comes from.")
@blueprint_option
@output_options
def show(names: tuple[str, ...], origins: bool, blueprint: str | None, output: Output) -> None:
    """Show environments as they are after `defaults` were merged in; all without a name.

    \b
    Example:
      groundplan show ml-prod --origins
    """
    from groundplan.blueprints.show import as_data, as_text

    project = Project.load(blueprint, output)
    chosen = [name for name in project.select(names) if name != "foundation"]
    if output.as_json:
        output.document({name: as_data(project.document, name, origins=origins) for name in chosen})
    else:
        output.result("\n".join(as_text(project.document, name, origins=origins).rstrip() for name in chosen))


@click.command(short_help="Print the JSON Schema of the blueprint language, for editors.")
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write it to a file instead."
)
def schema(out: Path | None) -> None:
    """Print the JSON Schema of the blueprint language.

    An editor with a YAML language server completes and checks a blueprint that begins with
    `# yaml-language-server: $schema=groundplan.schema.json`.

    \b
    Example:
      groundplan schema -o groundplan.schema.json
    """
    from groundplan.blueprints.json_schema import json_schema

    text = json.dumps(json_schema(), indent=2) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return
    write(out, text)


@click.command(short_help="Allocate address ranges into the lock file.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if the lock file is not complete.")
@click.option("--prune", is_flag=True, help="Also forget what is not in the blueprint any more.")
@blueprint_option
@output_options
def lock(check: bool, prune: bool, blueprint: str | None, output: Output) -> int:
    """Allocate address ranges for everything that has none yet, and write them to the lock file.

    What is in the lock file never changes by itself. Commit it with the blueprint. With --prune, ranges of
    clusters that are gone may be used again, and environments that are gone are not asked about any more.

    \b
    Example:
      groundplan lock
      groundplan lock --check
      groundplan lock --prune
    """
    project = Project.load(blueprint, output)
    wanted = project.pruned if prune else project.allocated
    if check and wanted != project.committed:
        raise InputError(
            f"{project.lock_path} is not complete", hint="Run `groundplan lock` and commit the file."
        )
    changed = project.write_lock(wanted)
    if output.as_json:
        output.document(
            {
                "file": str(project.lock_path),
                "changed": changed,
                "lock": wanted.model_dump(mode="json"),
            }
        )
    else:
        output.result(f"{project.lock_path}: {'written' if changed else 'complete, nothing to do'}")
    return 0


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
