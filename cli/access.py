"""``groundplan access``: who can do what, and which line of the blueprint says so."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import click

from groundplan.cli.columns import aligned
from groundplan.cli.options import blueprint_option, environments, output_options
from groundplan.cli.output import Output
from groundplan.cli.project import FOUNDATION, Project
from groundplan.errors import InputError

if TYPE_CHECKING:
    from groundplan.blueprints.diagnostics import Position
    from groundplan.stacks.access import Grant


@click.command(short_help="Say who can do what, and which line of the blueprint says so.")
@environments()
@click.option(
    "--who", metavar="PRINCIPAL", help="Only principals with this in their name: ml-eng@example.com."
)
@click.option("--what", metavar="RESOURCE", help="Only things and roles with this in their name: secret.")
@blueprint_option
@output_options
def access(
    names: tuple[str, ...], who: str | None, what: str | None, blueprint: str | None, output: Output
) -> None:
    """Say who can do what in each environment, and which line of the blueprint says so.

    People, pipelines, nodes, workloads and service agents; everything that groundplan grants. What others
    granted by hand stays as it is and is not shown.

    \b
    Example:
      groundplan access ml-prod
      groundplan access --who nodes --json
    """
    from groundplan.stacks.access import access as view

    project = Project.load(blueprint, output)
    chosen = project.select(names)
    found = [
        grant
        for stack in project.stacks(project.stack_names)
        for grant in view(stack)
        if (grant.environment or FOUNDATION) in chosen and _asked(grant, who, what)
    ]
    if not found and (who or what):
        asked = " and ".join(filter(None, (who, what)))
        raise InputError(
            f"no grant has `{asked}` in it", hint="`groundplan access` without --who and --what lists all."
        )
    if output.as_json:
        output.document([{**grant.as_json(), **_line(_place(project, grant))} for grant in found])
        return
    for name in chosen:
        of_one = [grant for grant in found if (grant.environment or FOUNDATION) == name]
        if of_one:
            output.result(output.out(name, "heading"))
            for line in (*_table(project, of_one), ""):
                output.result(line)


def _asked(grant: Grant, who: str | None, what: str | None) -> bool:
    thing = f"{grant.resource} {grant.role}".lower()
    return (who or "").lower() in grant.principal.lower() and (what or "").lower() in thing


def _table(project: Project, grants: list[Grant]) -> Iterator[str]:
    """A block for each principal: role, thing, line."""
    ordered = sorted(grants)
    rows = [
        (
            f"    {grant.role}",
            grant.resource,
            f"{_place(project, grant)}" + (f"  if {grant.condition}" if grant.condition else ""),
        )
        for grant in ordered
    ]
    lines = iter(aligned(rows))
    for principal, block in groupby(ordered, key=lambda grant: grant.principal):
        yield f"  {principal}"
        for _ in block:
            yield next(lines)


def _place(project: Project, grant: Grant) -> Position:
    """Where the blueprint asks for it, or where it stands instead."""
    environment = None if grant.stack == FOUNDATION else grant.stack
    return project.document.position_of(environment, grant.origin)


def _line(place: Position) -> dict[str, str | int]:
    return {"file": place.file, "line": place.line}
