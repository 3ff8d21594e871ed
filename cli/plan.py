"""``groundplan plan``: what would change, in the blueprint's words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundplan.cli import runs
from groundplan.cli.options import blueprint_option, environments, output_options, run_options
from groundplan.cli.output import Output
from groundplan.cli.project import Project
from groundplan.cli.runs import Run, Shown
from groundplan.errors import UsageError

if TYPE_CHECKING:
    from groundplan.cli.base import Gone

CHANGES = 2  #: exit code with --detailed-exitcode


@click.command(short_help="Plan environments with Terraform and say what would change.")
@environments()
@click.option(
    "--resources", is_flag=True, help="Also list Terraform's addresses with the attributes that change."
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit 2 if anything would change.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Save the plans as bundles in DIR, for `apply --plan DIR`.",
)
@click.option(
    "--base",
    metavar="REF",
    help="With --offline: plan against what the blueprint of this git revision makes.",
)
@run_options
@blueprint_option
@output_options
def plan(
    names: tuple[str, ...],
    resources: bool,
    detailed_exitcode: bool,
    out: Path | None,
    base: str | None,
    offline: bool,
    engine_binary: Path | None,
    work_dir: Path | None,
    blueprint: str | None,
    output: Output,
) -> int:
    """Plan the foundation and all environments, or those that are named, in parallel.

    Offline, real Terraform plans against a stand-in for Google Cloud: no account, no network. What only
    Google knows (quota, free capacity, permissions) stays unknown, and the plan says so.

    A bundle holds a plan file with sensitive values in clear (mode 0600), the plan as redacted JSON, and a
    manifest; only these two may be uploaded for others to see.

    \b
    Example:
      groundplan plan ml-dev --offline
      groundplan plan ml-prod --offline --resources
      groundplan plan ml-prod --offline --base main
    """
    if base is not None and (not offline or out):
        raise UsageError(
            "--base makes a plan to look at, in a throw-away stand-in: with --offline and without --out"
        )
    project = Project.load(blueprint, output, offline=offline, work_dir=work_dir)
    if project.allocated != project.committed:
        output.say("Address ranges are not in the lock file yet; `groundplan lock` or an apply writes them.")
    gone: list[Gone] = []
    if base is not None:
        from groundplan.cli.base import compare

        compared = compare(project, names, base, output, engine_binary)
        run, shown, gone, more = compared.run, compared.shown, compared.gone, compared.as_json()
    else:
        run, shown, more = present(project, names, out, output, engine_binary)
    if output.as_json:
        output.document({"stacks": [one.summary.as_json() for one in shown], **more})
    else:
        run.show(shown, resources=resources)
        for one in gone:
            output.result("\n".join(one.lines(resources=resources)) + "\n")
    if out is not None:
        output.say(f"The plans are in {out}; `groundplan apply --plan {out}` applies exactly these.")
    changed = gone or any(one.raw.changes for one in shown)
    return CHANGES if changed and detailed_exitcode else 0


def present(
    project: Project, names: Sequence[str], out: Path | None, output: Output, engine_binary: Path | None
) -> tuple[Run, list[Shown], dict[str, Any]]:
    """Plan stacks against their states, and save the plans if they are wanted.

    Returns:
        The run, which is over; the plans; and what ``--json`` prints beside them.
    """
    from groundplan.cli import tombstones

    gone, others = tombstones.split(project, names)
    tombstones.tell(project, output)
    removed = tombstones.stacks(project, gone)
    stacks = project.stacks(project.select(others) if others or not names else [])
    if out is None:
        with runs.opened(project, [*removed, *stacks], output, engine_binary=engine_binary) as run:
            tombstones.check(run, removed)
            return run, [*run.plan(removed, destroy=True), *run.plan(stacks)], {}
    if removed:
        raise UsageError(f"{', '.join(gone)} left the blueprint: `destroy` plans and asks, without --out")
    from groundplan.cli import bundles
    from groundplan.engines.terraform.bundle.store import refuse_others

    refuse_others(out, [stack.name for stack in stacks])
    with runs.opened(project, stacks, output, engine_binary=engine_binary) as run:
        shown = run.plan(stacks)
        return run, shown, {"bundles": bundles.write(run, shown, out)}
