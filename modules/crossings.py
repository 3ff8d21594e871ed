"""Crossings: the only ways from one environment into another, each of them one workload that reads one thing.

The environment that is read grants the role, on the single bucket or dataset, to the workload's principal in
the other environment's project; so nothing outside can open a crossing, and a role that writes cannot be
expressed. It is taken back by taking the crossing out of the blueprint, like every other grant.

IAM knows the workload only when the reading project has its workload identity pool, which comes with its
first cluster (GKE docs, "Workload Identity Federation for GKE"). So the environment that reads is applied
before the one that is read.

Reading a dataset with queries takes leave to run them, too: ``roles/bigquery.jobUser`` in the project that
the reading workload is in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.naming import terraform_name
from groundplan.facts.roles import roles
from groundplan.modules.graph import Graph, Reference
from groundplan.modules.identity import principal
from groundplan.modules.targets import GRANTS, Targets

if TYPE_CHECKING:
    from groundplan.blueprints.model import Crossing, Environment


def add_crossing(
    graph: Graph,
    key: str,
    crossing: Crossing,
    targets: Targets,
    reader: Environment,
    number: str | Reference,
) -> None:
    """Let one workload of another environment read one thing of this one.

    Args:
        graph: of the environment that is read.
        key: of the crossing.
        crossing: from this environment.
        targets: what this environment has.
        reader: the environment that reads.
        number: of the reader's project.
    """
    kind, _, name = crossing.read.partition("/")
    by = crossing.by.partition("/")[2]
    for role in roles().things[kind]["read"]:
        graph.add(
            GRANTS[kind],
            terraform_name("crossing", key, reader.name, by),
            role=role,
            member=principal(reader, by, reader.workloads[by], number),
            **targets[kind][name].attributes,
        )
