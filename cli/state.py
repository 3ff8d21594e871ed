"""Commands that look at what is there: output, engines."""

from __future__ import annotations

from pathlib import Path

import click

from groundplan.cli import runs
from groundplan.cli.options import blueprint_option, environments, output_options, run_options
from groundplan.cli.output import Output
from groundplan.cli.project import Project


@click.command(short_help="Print the outputs of applied stacks.")
@environments()
@run_options
@blueprint_option
@output_options
def output(
    names: tuple[str, ...],
    offline: bool,
    engine_binary: Path | None,
    work_dir: Path | None,
    blueprint: str | None,
    output: Output,
) -> None:
    """Print what applied stacks tell the world: endpoints, bucket names, identities; nothing sensitive.

    \b
    Example:
      groundplan output ml-dev --offline
    """
    from groundplan.engines.terraform.state_owner import OUTPUT

    project = Project.load(blueprint, output, offline=offline, work_dir=work_dir)
    stacks = project.stacks(project.select(names))
    with runs.opened(project, stacks, output, engine_binary=engine_binary) as run:
        run.session.prepare(stacks)
        values = {
            stack.name: {
                name: value
                for name, value in run.session.terraform(stack.name).output().items()
                if name != OUTPUT
                and not (name in stack.graph.outputs and stack.graph.outputs[name].sensitive)
            }
            for stack in stacks
        }
    if output.as_json:
        output.document(values)
        return
    for name, outputs in values.items():
        output.result(output.out(name, "heading") + ("" if outputs else "  not applied yet"))
        for key, value in outputs.items():
            output.result(f"  {key}: {value}")


@click.command(short_help="List the Terraform engines found and what each can do.")
@click.option(
    "--engine-binary",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Look at this executable instead of searching.",
)
@output_options
def engines(engine_binary: Path | None, output: Output) -> None:
    """List every engine that runs on this machine, in the order of preference.

    \b
    Example:
      groundplan engines
    """
    from groundplan.engines.terraform.engine import INSTALL_HINT, find_engines

    found = find_engines(engine_binary)
    if output.as_json:
        output.document(
            [
                {
                    "name": engine.name,
                    "version": engine.version,
                    "kind": engine.kind,
                    "path": str(engine.path),
                    "offline": engine.usable,
                    "real": engine.usable,
                    "licence": engine.licence,
                }
                for engine in found
            ]
        )
        return
    for engine in found:
        called = "names it" if engine.kind == "binary" else "says `name: embedded`"
        use = f"offline; real runs where the blueprint's `engine:` {called}"
        output.result(
            f"{engine!s:<32} {use if engine.usable else 'too old'}  {engine.licence}  {engine.path}"
        )
    if not found:
        output.result(f"none. {INSTALL_HINT}")
