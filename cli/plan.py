"""``groundplan plan``: what would change, in the blueprint's words."""

from __future__ import annotations

from pathlib import Path

import click

from groundplan.cli import runs
from groundplan.cli.options import blueprint_option, environments, output_options, run_options
from groundplan.cli.output import Output
from groundplan.cli.project import Project

CHANGES = 2  #: exit code with --detailed-exitcode


@click.command(short_help="Plan environments with Terraform and say what would change.")
@environments()
@click.option(
    "--resources", is_flag=True, help="Also list Terraform's addresses with the attributes that change."
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit 2 if anything would change.")
@run_options
@blueprint_option
@output_options
def plan(
    names: tuple[str, ...],
    resources: bool,
    detailed_exitcode: bool,
    offline: bool,
    engine_binary: Path | None,
    work_dir: Path | None,
    blueprint: str | None,
    output: Output,
) -> int:
    """Plan the foundation and all environments, or those that are named, in parallel.

    Offline, real Terraform plans against a stand-in for Google Cloud: no account, no network. What only
    Google knows (quota, free capacity, permissions) stays unknown, and the plan says so.

    \b
    Example:
      groundplan plan ml-dev --offline
      groundplan plan ml-prod --offline --resources
    """
    project = Project.load(blueprint, output, offline=offline, work_dir=work_dir)
    stacks = project.stacks(project.select(names))
    if project.allocated != project.committed:
        output.say("Address ranges are not in the lock file yet; `groundplan lock` or an apply writes them.")
    with runs.opened(project, stacks, output, engine_binary=engine_binary) as run:
        shown = run.plan(stacks)
    if output.as_json:
        output.document({"stacks": [one.summary.as_json() for one in shown]})
    else:
        run.show(shown, resources=resources)
    changed = any(one.raw.changes for one in shown)
    return CHANGES if changed and detailed_exitcode else 0
