"""``groundplan synth``: the Terraform configuration of each stack as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundplan.cli.blueprint import write
from groundplan.cli.options import blueprint_option, environments, output_options
from groundplan.cli.output import Output
from groundplan.cli.project import Project

if TYPE_CHECKING:
    from groundplan.modules.graph import Stack

KUBERNETES = "kubernetes"  #: folder of the objects beside a stack's main.tf.json


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
@click.option(
    "--engine",
    type=click.Choice(["terraform", "cdktf", "cdktn"]),
    default="terraform",
    show_default=True,
    help="What writes it: groundplan itself, or a real cdktf or cdktn app (slower, same content).",
)
@blueprint_option
@output_options
def synth(names: tuple[str, ...], out: Path, engine: str, blueprint: str | None, output: Output) -> None:
    """Write DIR/STACK/main.tf.json for the foundation and each environment. Twice gives identical bytes.

    Kubernetes objects that belong to node pools (compute classes, GPU networks) go to DIR/ENV/kubernetes/.

    \b
    Example:
      groundplan synth -o terraform && ls terraform/ml-prod
    """
    from groundplan.engines.terraform.writer import FILE_NAME

    project = Project.load(blueprint, output, offline=False)
    stacks = project.stacks(project.select(names))
    written: dict[str, dict[str, Any]] = {}
    for stack, text in zip(stacks, rendered(stacks, engine), strict=True):
        path = out / stack.name / FILE_NAME
        write(path, text)
        written[stack.name] = {"file": str(path), "resources": len(stack.graph)}
        if files := kubernetes(project, stack.name, out / stack.name / KUBERNETES):
            written[stack.name]["kubernetes"] = files
    if output.as_json:
        output.document(written)
        return
    width = max(len(str(entry["file"])) for entry in written.values())
    for entry in written.values():
        output.result(f"{entry['file']!s:<{width}}  {entry['resources']:>4} resources")
        for file in entry.get("kubernetes", ()):
            output.result(file)


def kubernetes(project: Project, stack: str, folder: Path) -> list[str]:
    """Write the Kubernetes objects of an environment; the files, none for the foundation."""
    from groundplan.engines.kubernetes import manifests

    env = project.blueprint.environments.get(stack)
    files = manifests(project.blueprint, env) if env else {}
    for name, text in files.items():
        write(folder / name, text)
    return [str(folder / name) for name in files]


def rendered(stacks: Sequence[Stack], engine: str) -> list[str]:
    """The text of each stack's ``main.tf.json``, written by an engine."""
    from groundplan.engines.terraform.writer import document, encode

    if engine == "terraform":
        return [encode(document(stack)).decode() for stack in stacks]
    from groundplan.engines.cdktf import render_all

    return [encode(one).decode() for one in render_all(stacks, "cdktf" if engine == "cdktf" else "cdktn")]
