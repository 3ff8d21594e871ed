"""The network of an environment: ways to Google's APIs, and networks of others."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.rules.base import (
    BlueprintView,
    EnvironmentView,
    Problem,
    blueprint_rule,
    environment_rule,
)
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import did_you_mean

ENDPOINTS = "Google Cloud docs, VPC, About accessing Google APIs through endpoints"
CONNECTIVITY = "Google Cloud docs, VPC Service Controls, Set up private connectivity"
SCOPED = "Google Cloud docs, Access Context Manager, Scoped policies"
HERE = "The blueprint language"


@environment_rule("VN001", "an endpoint's address is outside of all ranges", source=ENDPOINTS)
def endpoint_address(view: EnvironmentView) -> Iterator[Problem]:
    """Google Cloud refuses an endpoint for its APIs in a range of a subnet."""
    address = view.environment.network.psc_address
    if address is None:
        return
    for path, cluster in view.clusters():
        for kind, network in cluster.ranges:
            if network is not None and address in network:
                yield Problem(
                    ("network", "psc_address"),
                    f"{address} is in the range of the {kind} of `{path[-1]}`",
                    "Write an address outside of all ranges: 10.255.255.254.",
                    related=(("the range", (*path, "ranges", kind)),),
                )


@environment_rule("VN002", "an endpoint's address belongs to an endpoint", source=HERE)
def no_endpoint(view: EnvironmentView) -> Iterator[Problem]:
    """The address would silently do nothing."""
    network = view.environment.network
    if network.psc_address and network.google_apis != "psc" and not network.existing:
        yield Problem(
            ("network", "psc_address"),
            "there is no endpoint that could have the address",
            "Write `google_apis: psc`, or leave the address out.",
            at_key=True,
        )


@environment_rule(
    "VN003", "inside a perimeter only protected APIs are reached", source=CONNECTIVITY, severity="warning"
)
def all_apis(view: EnvironmentView) -> Iterator[Problem]:
    """Through an API that a perimeter cannot protect, data may leave it unseen."""
    env = view.environment
    if env.perimeter.mode != "none" and env.network.google_apis == "private-vip":
        yield Problem(
            ("network", "google_apis"),
            f"`{env.name}` has a perimeter, and its nodes reach APIs that it cannot protect",
            "Leave `google_apis` out: with a perimeter it is restricted-vip.",
        )


@environment_rule("VN004", "a network of somebody else is used as it is", source=HERE)
def not_ours(view: EnvironmentView) -> Iterator[Problem]:
    """Routes, DNS and NAT of another project's network are made by its owner."""
    network = view.environment.network
    if network.existing is None:
        return
    written = {"nat": network.nat, "google_apis": network.google_apis, "psc_address": network.psc_address}
    for key, value in written.items():
        if value:
            hint = "The network's owner decides on that."
            yield Problem(("network", key), f"`{key}` cannot be beside `existing`", hint, at_key=True)


@environment_rule("VN005", "subnets are for clusters of the environment", source=HERE)
def subnets(view: EnvironmentView) -> Iterator[Problem]:
    """A misspelt cluster would look for a subnet of another name."""
    shared = view.environment.network.existing
    known = view.names("clusters")
    for key in shared.subnets if shared and known is not None else ():
        if key not in (known or ()):
            yield Problem(
                ("network", "existing", "subnets", key),
                f"there is no cluster `{key}`",
                did_you_mean(key, known or ()),
                at_key=True,
            )


@blueprint_rule("VN006", "environments do not share networks", source=HERE, severity="warning")
def shared_networks(view: BlueprintView) -> Iterator[Problem]:
    """In one network, only firewall rules keep the nodes of two environments apart."""
    taken: dict[tuple[str, str], Path] = {}
    for name, environment in view.blueprint.environments.items():
        shared = environment.network.existing
        if shared is None:
            continue
        path: Path = ("environments", name, "network", "existing")
        first = taken.setdefault((shared.host_project, shared.network), path)
        if first != path:
            yield Problem(
                path,
                f"the network {shared.network} of {shared.host_project} is that of `{first[1]}` too",
                "Give each environment a network of its own in the host project.",
                related=(("the other one", first),),
            )


@environment_rule(
    "VN007", "a network in a perimeter is under its access policy", source=SCOPED, severity="warning"
)
def out_of_scope(view: EnvironmentView) -> Iterator[Problem]:
    """The foundation's policy is scoped to the environment's folder. A network outside of it is refused."""
    env = view.environment
    own = env.perimeter.mode != "none" and not env.perimeter.existing and not env.perimeter.access_policy
    shared = env.network.existing
    if own and shared and shared.host_project != env.project_id:
        yield Problem(
            ("network", "existing", "host_project"),
            f"the perimeter of `{env.name}` can hold a network of {shared.host_project} only if that is in "
            "the same folder",
            "Else write the number of a policy over both: `perimeter: {access_policy: …}`.",
        )
