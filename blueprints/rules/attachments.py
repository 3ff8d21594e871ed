"""Which node pools a workload runs on, and so which disks and buckets are used on which machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groundplan.blueprints.model import Disk, Workload
from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import EnvironmentView
from groundplan.blueprints.tree import Path


@dataclass(frozen=True)
class Attachment:
    """A disk that a workload uses on a node pool.

    Attributes:
        disk: the disk.
        name: its key.
        pool: the pool.
        path: of the reference in the workload.
        runs_on: of the name of the pool in the workload.
    """

    disk: Disk
    name: str
    pool: PoolView
    path: Path
    runs_on: Path

    @property
    def disk_path(self) -> Path:
        """The path of the disk."""
        return ("storage", "disks", self.name)


def pools_of(view: EnvironmentView, workload: Workload) -> Iterator[tuple[int, PoolView]]:
    """The pools that a workload runs on, each with the number of the name in ``runs_on`` that leads to it."""
    for index, target in enumerate(workload.runs_on):
        cluster, _, name = target.rpartition("/")
        for pool in view.pool_views:
            classes = pool.cluster.compute_classes.get(name, ())
            if cluster in ("", pool.path[1]) and (pool.key == name or pool.key in classes):
                yield index, pool


def attachments(view: EnvironmentView) -> Iterator[Attachment]:
    """Every disk on every pool that a workload uses it on."""
    disks = view.environment.storage.disks
    for key, workload in view.environment.workloads.items() if disks else ():
        for field in ("reads", "writes"):
            for number, reference in enumerate(getattr(workload, field)):
                kind, _, name = reference.partition("/")
                if kind != "disks" or name not in disks:
                    continue
                for index, pool in pools_of(view, workload):
                    path: Path = ("workloads", key)
                    yield Attachment(
                        disks[name], name, pool, (*path, field, number), (*path, "runs_on", index)
                    )
