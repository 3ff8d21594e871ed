"""Buckets that are mounted as file systems."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.model import Mount
from groundplan.blueprints.rules.attachments import pools_of
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.sources import cited
from groundplan.blueprints.versions import numbers, older
from groundplan.facts.accelerators import catalog
from groundplan.facts.accelerators.model import FeatureName

#: What a profile needs of the driver, and what people call it.
NEEDS: dict[str, tuple[FeatureName, str]] = {
    "serving": ("gcsfuse_buffered_read", "the profile serving reads ahead in buffers, which"),
    "checkpointing": ("gcsfuse_read_ahead", "the profile checkpointing sets its read-ahead, which"),
}
CACHE: tuple[FeatureName, str] = ("gcsfuse_file_cache", "a cache of files")


@environment_rule("FU003", "clusters are new enough for what mounts ask for", source=cited("FUSE"))
def too_old(view: EnvironmentView) -> Iterator[Problem]:
    """GKE brings the driver with it, so features of the driver have a first version of GKE."""
    for key, workload in view.environment.workloads.items():
        clusters = {pool.path[1]: pool for _, pool in pools_of(view, workload)}
        for reference, mount in workload.mounts.items():
            for cluster, pool in clusters.items():
                version = pool.cluster.min_version
                for feature, what in _needs(mount) if version is not None else ():
                    least = catalog().features[feature].min_gke
                    if older(str(version), least):
                        yield Problem(
                            ("workloads", key, "mounts", reference),
                            f"{what} needs GKE {least}; `{cluster}` may have {version}",
                            f"Raise `min_version` of `{cluster}` to {least} or newer.",
                            (("the cluster", pool.cluster_at("min_version")),),
                        )
                        break


def _needs(mount: Mount) -> list[tuple[FeatureName, str]]:
    """What a mount needs, the newest first: one message is enough."""
    found = [NEEDS[mount.profile]] if mount.profile in NEEDS else []
    found += [CACHE] if mount.cache != "none" else []
    return sorted(found, key=lambda one: numbers(catalog().features[one[0]].min_gke), reverse=True)
