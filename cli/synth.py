"""``groundplan synth``: the Terraform configuration of each stack as files."""

from __future__ import annotations

from pathlib import Path

import click

from groundplan.cli.blueprint import write
from groundplan.cli.options import blueprint_option, environments, output_options
from groundplan.cli.output import Output
from groundplan.cli.project import Project


@click.command(short_help="Write the Terraform configuration of each stack.")
@environments()
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("terraform"),
    show_default=True,
    help="Folder that gets one Terraform root per stack.",
)
@blueprint_option
@output_options
def synth(names: tuple[str, ...], out: Path, blueprint: str | None, output: Output) -> None:
    """Write DIR/STACK/main.tf.json for the foundation and each environment. Twice gives identical bytes.

    \b
    Example:
      groundplan synth -o terraform && ls terraform/ml-prod
    """
    from groundplan.engines.terraform.writer import FILE_NAME, dumps

    project = Project.load(blueprint, output, offline=False)
    written = {}
    for stack in project.stacks(project.select(names)):
        path = out / stack.name / FILE_NAME
        write(path, dumps(stack))
        written[stack.name] = {"file": str(path), "resources": len(stack.graph)}
    if output.as_json:
        output.document(written)
        return
    width = max(len(str(entry["file"])) for entry in written.values())
    for entry in written.values():
        output.result(f"{entry['file']!s:<{width}}  {entry['resources']:>4} resources")
