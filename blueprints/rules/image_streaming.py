"""Images that are on the nodes before a pod asks for them."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import Problem
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.versions import older
from groundplan.facts.accelerators import catalog


@pool_rule("IS003", "a node has at most 127 secondary boot disks", basis="api", sources="TF")
def preloaded(view: PoolView) -> Iterator[Problem]:
    """Each preloaded image is a disk, and the provider refuses more."""
    most, count = catalog().limits.secondary_boot_disks.max, len(view.pool.preload)
    if count > most:
        yield Problem(
            view.at("preload"),
            f"{count} images are preloaded; a node has at most {most} secondary boot disks",
            "Put several images onto one disk image.",
            at_key=True,
        )


@pool_rule("IS004", "the cluster is new enough for preloaded images", basis="api", sources="TF")
def too_old(view: PoolView) -> Iterator[Problem]:
    """GKE reads images from secondary boot disks since 1.28.3."""
    least, version = catalog().features["secondary_boot_disks"].min_gke, view.cluster.min_version
    if view.pool.preload and version is not None and older(version, least):
        yield Problem(
            view.cluster_at("min_version"),
            f"GKE {version} is too old for the preloaded images of `{view.key}`",
            f"Raise `min_version` to {least} or newer.",
            view.because("asked for here", "preload"),
        )
