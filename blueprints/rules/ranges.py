"""Address ranges that are written: apart from each other, inside the address space, large enough."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from groundplan.blueprints.model import Cluster
from groundplan.blueprints.rules.base import (
    BlueprintView,
    EnvironmentView,
    Problem,
    blueprint_rule,
    environment_rule,
)
from groundplan.blueprints.tree import Path

GKE = "Google Cloud docs, VPC-native clusters, IP address ranges"
HERE = "The blueprint language"

#: The longest prefix that each range may have. Pods: one node of 110 pods takes a /24.
LONGEST_PREFIX = {"nodes": 29, "pods": 24, "services": 27}


@blueprint_rule("IP001", "ranges do not overlap", source=HERE)
def overlaps(view: BlueprintView) -> Iterator[Problem]:
    """Ranges are kept apart over all environments, so that their networks can be connected one day."""
    seen: list[tuple[Path, IPv4Network]] = []
    for name, environment in view.environments.items():
        for path, cluster in environment.clusters():
            for kind, network in _written(cluster):
                place = ("environments", name, *path, "ranges", kind)
                other = next((one for one in seen if one[1].overlaps(network)), None)
                if other:
                    yield Problem(
                        place,
                        f"{network} overlaps {other[1]} of {other[0][1]}/{other[0][3]}",
                        "Leave `ranges` out, and `groundplan lock` finds free ones.",
                        related=(("the other one", other[0]),),
                    )
                seen.append((place, network))


@environment_rule("IP002", "ranges are inside the address space", source=HERE)
def outside(view: EnvironmentView) -> Iterator[Problem]:
    """What is allowed inside an environment's network is allowed by its address space."""
    space = view.environment.network.address_space
    if view.environment.network.existing:
        return
    for path, cluster in view.clusters():
        for kind, network in _written(cluster):
            if not network.subnet_of(space):
                yield Problem(
                    (*path, "ranges", kind),
                    f"{network} is outside the address space {space}",
                    "Choose one inside it, or widen `network.address_space`.",
                    related=(("the address space", ("network", "address_space")),),
                )


@environment_rule("IP003", "ranges are large enough for GKE", source=GKE)
def too_small(view: EnvironmentView) -> Iterator[Problem]:
    """GKE refuses a cluster whose ranges cannot hold one node."""
    for path, cluster in view.clusters():
        for kind, network in _written(cluster):
            longest = LONGEST_PREFIX[kind]
            if network.prefixlen > longest:
                yield Problem(
                    (*path, "ranges", kind),
                    f"{network} is too small for {kind}",
                    f"GKE wants a /{longest} or larger.",
                )


def _written(cluster: Cluster) -> Iterator[tuple[str, IPv4Network]]:
    for kind in LONGEST_PREFIX:
        network = getattr(cluster.ranges, kind)
        if network is not None:
            yield kind, network
