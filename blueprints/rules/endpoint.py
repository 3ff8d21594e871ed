"""How the control plane of a cluster is reached."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule

GKE = "Google Cloud docs, About network isolation in GKE"


@environment_rule("EP001", "authorized_networks belong to a private endpoint", source=GKE)
def networks_without_private_endpoint(view: EnvironmentView) -> Iterator[Problem]:
    """A DNS endpoint is guarded by IAM and looks at no address.

    Worse than useless: authorized networks beside it, even none of them, switch the IP endpoint on.
    """
    for path, cluster in view.clusters():
        if cluster.endpoint.kind == "dns" and cluster.endpoint.authorized_networks:
            yield Problem(
                (*path, "endpoint", "authorized_networks"),
                "a dns endpoint has no authorized networks",
                "Remove them, or write `kind: private`.",
                at_key=True,
            )


@environment_rule("EP002", "only a dns endpoint is reachable from outside the VPC", source=GKE)
def external_private_endpoint(view: EnvironmentView) -> Iterator[Problem]:
    """A private endpoint is an address inside the VPC; nothing outside reaches it."""
    for path, cluster in view.clusters():
        if cluster.endpoint.kind == "private" and cluster.endpoint.external:
            yield Problem(
                (*path, "endpoint", "external"),
                "a private endpoint is not reachable from outside",
                "Remove `external`, or write `kind: dns`.",
            )
