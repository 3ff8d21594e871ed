"""``groundplan isolation``: do two environments meet, and if so, how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundplan.cli.blueprint import write
from groundplan.cli.columns import beside
from groundplan.cli.isolation_picture import picture, short
from groundplan.cli.options import blueprint_option, output_options
from groundplan.cli.output import Output
from groundplan.cli.project import FOUNDATION, Project
from groundplan.errors import PolicyError

if TYPE_CHECKING:
    from groundplan.stacks.isolation import Holdings, Isolation, Meeting


@click.command(short_help="Prove that no environment can reach another, or show how it can.")
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also draw it: each environment with what it has, and every way between two.",
)
@blueprint_option
@output_options
def isolation(svg: Path | None, blueprint: str | None, output: Output) -> int:
    """Prove that environments share no principal, network, key, bucket, dataset, perimeter or state.

    The proof reads every attribute of every resource that groundplan would make. The declared doors
    (`external`, `crossings`, pipelines) are listed. Exit 3, with the chain, if two environments meet.

    \b
    Example:
      groundplan isolation
      groundplan isolation --json --svg isolation.svg
    """
    from groundplan.stacks.isolation import isolation as prove

    project = Project.load(blueprint, output)
    proof = prove(project.blueprint, project.stacks(project.stack_names), project.lock)
    if svg is not None:
        write(svg, picture(project.blueprint.name, proof))
    if output.as_json:
        meetings = [
            {**one, **_line(project, found)}
            for one, found in zip(proof.as_json()["meetings"], proof.meetings, strict=True)
        ]
        output.document({**proof.as_json(), "meetings": meetings})
    else:
        output.result("\n".join(_lines(project, proof, output)))
    return 0 if proof.holds else PolicyError.exit_code


def _lines(project: Project, proof: Isolation, output: Output) -> Iterator[str]:
    paint = output.out
    for name, one in proof.environments.items():
        yield paint(name, "heading") + f"  project {one.project}, perimeter {one.perimeter}"
        yield from _holdings(one)
    if proof.doors:
        yield paint("declared doors", "heading")
        yield from (f"  {door}" for door in proof.doors)
    for meeting in proof.meetings:
        yield ""
        yield paint(f"{' and '.join(meeting.environments)} meet", "error") + f" ({meeting.kind})"
        yield from (f"  {step}" for step in meeting.chain)
        place = _place(project, meeting)
        yield f"  = {place}" if place else f"  = stack {meeting.stack}"
    names = " and ".join(
        filter(None, (", ".join(list(proof.environments)[:-1]), list(proof.environments)[-1]))
    )
    number = len(proof.meetings)
    yield ""
    yield (
        f"isolated: {names} share nothing"
        if proof.holds
        else f"not isolated: {number} way{'s' if number > 1 else ''} between environments"
    )


def _holdings(one: Holdings) -> Iterator[str]:
    kinds = (
        *one.things.items(),
        ("machines", one.machines),
        ("people", one.people),
        ("outside", one.outside),
    )
    for kind, names in kinds:
        if names:
            yield from beside(f"  {kind}", ", ".join(map(short, names)), indent=17, rows=3)


def _place(project: Project, meeting: Meeting) -> str:
    """``file:line:column`` of the key that asks for it; empty where no key does."""
    if not meeting.address:
        return ""
    environment = None if meeting.stack == FOUNDATION else meeting.stack
    return str(project.document.position_of(environment, meeting.origin))


def _line(project: Project, meeting: Meeting) -> dict[str, str | None]:
    return {"position": _place(project, meeting) or None}
