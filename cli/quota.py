"""``groundplan quota``: what the environments need at most, before anybody asks Google for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from groundplan.cli import render
from groundplan.cli.columns import aligned, beside
from groundplan.cli.options import blueprint_option, environments, output_options
from groundplan.cli.output import Output
from groundplan.cli.project import FOUNDATION, Project
from groundplan.errors import UsageError

if TYPE_CHECKING:
    from groundplan.stacks.quota import ClusterUse, Need

ROWS = 2  #: lines of pools beside one quota; --json has all of them
PREEMPTIBLE = (
    "Spot, flex-start and queued machines count against preemptible quota, and against the standard one only "
    "in a project that has none."
)


@dataclass(frozen=True)
class Report:
    """What is said of one environment."""

    project: str
    needs: list[Need]
    clusters: list[ClusterUse]
    uncounted: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """The documented shape of an environment in ``groundplan quota --json``."""
        return {
            "project": self.project,
            "quotas": [need.as_json() for need in self.needs],
            "clusters": [cluster.as_json() for cluster in self.clusters],
            "uncounted": self.uncounted,
        }


@click.command(short_help="Say which quota the environments need at most.")
@environments()
@blueprint_option
@output_options
def quota(names: tuple[str, ...], blueprint: str | None, output: Output) -> int:
    """Say which quota of Compute Engine each environment needs at most, and how full its address ranges get.

    Every pool is counted at its largest, with the nodes that upgrades add. What a reservation holds is listed
    apart. A range that the pools can exhaust is an error.

    \b
    Example:
      groundplan quota ml-prod
    """
    from groundplan.blueprints.rules.exhaustion import in_lock
    from groundplan.facts.quotas import checked

    project = Project.load(blueprint, output)
    chosen = [name for name in project.select(names) if name != FOUNDATION]
    if not chosen:
        raise UsageError("the foundation has no machines", hint="Name an environment, or none for all.")
    reports = {name: _report(project, name) for name in chosen}
    problems = in_lock(project.document, project.allocated, chosen)
    if output.as_json:
        output.document(
            {
                "checked": str(checked()),
                "environments": {name: report.as_json() for name, report in reports.items()},
                "diagnostics": [problem.as_json() for problem in problems],
            }
        )
    else:
        _print(reports, output)
        output.say(f"Names of quotas as of {checked()}. Quota is no promise of free capacity.")
        render.diagnostics(problems, quiet=output.quiet)
    return 1 if problems else 0


def _report(project: Project, name: str) -> Report:
    from groundplan.stacks import quota as view

    env = project.blueprint.environments[name]
    return Report(env.project_id, view.quota(env), view.clusters(env, project.allocated), view.uncounted(env))


def _print(reports: dict[str, Report], output: Output) -> None:
    for name, report in reports.items():
        output.result(f"{output.out(name, 'heading')}  project {report.project}, at most")
        for line in (*_needs(report.needs), *_clusters(report.clusters), ""):
            output.result(line)
    needs = [need for report in reports.values() for need in report.needs]
    if not all(need.confirmed for need in needs):
        output.result("?  no source confirms the name or the number\n")
    for report in reports.values():
        for pool, why in report.uncounted.items():
            output.say(f"Not counted, {pool}: {why}.")
    if any(need.metric.startswith("PREEMPTIBLE") for need in needs):
        output.say(PREEMPTIBLE)


def _needs(needs: list[Need]) -> Iterator[str]:
    """A block for each region, for all regions together, and for what each reservation holds."""
    if not needs:
        yield "  no machines"
        return
    lines = list(aligned([(_metric(need), f"{need.amount:,}", need.unit) for need in needs], right=(1,)))
    indent = max(map(len, lines)) + 6
    for where, block in groupby(zip(needs, lines, strict=True), key=lambda row: _where(row[0])):
        yield f"  {where}"
        for need, line in block:
            yield from beside(f"    {line}", _by(need), indent=indent, rows=ROWS)


def _where(need: Need) -> str:
    region = need.region or "all regions together"
    if need.reservation:
        return f"{region}: reservation {need.reservation} of {need.project} has it, nothing to ask for"
    return region


def _metric(need: Need) -> str:
    """``GPUS_PER_GPU_FAMILY gpu_family=NVIDIA_H100``, with a mark if no source confirms it."""
    dimensions = [f"{name}={value}" for name, value in need.dimensions.items()]
    return " ".join([need.metric, *dimensions, *([] if need.confirmed else ["?"])])


def _by(need: Need) -> str:
    """What takes it, the most first; with how much of it, where it is more than one."""
    if len(need.by) == 1:
        return next(iter(need.by))
    most_first = sorted(need.by.items(), key=lambda item: -item[1])
    return ", ".join(f"{path} {amount:,}" for path, amount in most_first)


def _clusters(clusters: list[ClusterUse]) -> Iterator[str]:
    rows = [
        (
            f"    {cluster.name}" if use is cluster.ranges[0] else "",
            f"{cluster.total:,} nodes" if use is cluster.ranges[0] else "",
            use.kind,
            str(use.network),
            f"{use.needs:,}",
            f"of {use.holds:,} addresses" + (": too few" if use.exhausted else ""),
        )
        for cluster in clusters
        for use in cluster.ranges
    ]
    if rows:
        yield "  clusters and their address ranges"
        yield from aligned(rows, right=(1, 4))
