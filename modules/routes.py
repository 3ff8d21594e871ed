"""How nodes without external addresses reach Google's APIs, and nothing else outside of their network.

Google's APIs answer at two small ranges that only Google's network routes: one for all APIs, and one for
those that VPC Service Controls can protect (VPC docs, "Configure Private Google Access"). An environment
with a perimeter uses the second, even in a dry run: what would not work when it is enforced does not work
before. A Private Service Connect endpoint serves the same two sets from an address inside the VPC, without
a route.

Google allows gRPC and Cloud Storage clients to connect past its front ends, at a range of its own that
keeps to perimeters too; without a route to it they are slower.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import cloud_name
from groundplan.errors import InputError
from groundplan.facts.google_apis import Vip, google_apis
from groundplan.modules.graph import Graph, Resource
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment

GATEWAY = "default-internet-gateway"
ENDPOINT_LIMIT = 20  #: VPC docs: an endpoint for Google's APIs has 1 to 20 lower-case letters and digits


@dataclass(frozen=True, slots=True)
class GoogleApis:
    """Where Google's APIs are for a network.

    Attributes:
        vip: all APIs, or those that a perimeter can protect.
        addresses: what names resolve to.
        ranges: what traffic must be let out to.
        ways: what must exist before somebody can get there.
    """

    vip: Vip
    addresses: tuple[str, ...]
    ranges: tuple[str, ...]
    ways: tuple[Resource, ...]


def vip(env: Environment) -> Vip:
    """Which APIs the network reaches."""
    chosen = env.network.google_apis
    if chosen in ("private-vip", "restricted-vip"):
        return "private" if chosen == "private-vip" else "restricted"
    return "private" if env.perimeter.mode == "none" else "restricted"


def add_google_apis(
    graph: Graph,
    env: Environment,
    vpc: Resource,
    taken: Iterable[tuple[str, IPv4Network]],
    services: Services,
) -> GoogleApis:
    """Add the routes to Google's APIs, or the endpoint.

    Args:
        graph: where to.
        env: the environment.
        vpc: its network.
        taken: the address ranges in use, each with whose it is.
        services: the APIs.

    Raises:
        InputError: the address of the endpoint is in somebody's range.
    """
    known, chosen = google_apis(), vip(env)
    target = known.vips[chosen]
    direct = [_route(graph, env, vpc, _numbered("direct", n), cidr) for n, cidr in enumerate(known.direct)]
    if env.network.google_apis == "psc":
        address = str(psc_address(env, taken))
        endpoint = _endpoint(graph, env, vpc, address, target.bundle, services)
        return GoogleApis(chosen, (address,), (f"{address}/32", *known.direct), (endpoint, *direct))
    route = _route(graph, env, vpc, chosen, target.range)
    return GoogleApis(chosen, tuple(target.addresses), (target.range, *known.direct), (route, *direct))


def add_default_route(graph: Graph, env: Environment, vpc: Resource) -> Resource:
    """Add the route to everywhere, for Cloud NAT; without NAT nothing would come back along it."""
    return _route(graph, env, vpc, "default", "0.0.0.0/0")


def psc_address(env: Environment, taken: Iterable[tuple[str, IPv4Network]]) -> IPv4Address:
    """The endpoint's address: as written, else the last one that can be used of the address space.

    Raises:
        InputError: it is in somebody's range, where an endpoint cannot be (VPC docs, "IP address
            requirements" of endpoints).
    """
    address = env.network.psc_address or env.network.address_space.broadcast_address - 1
    owner = next((owner for owner, network in taken if address in network), None)
    if owner:
        raise InputError(
            f"the endpoint for Google's APIs of {env.name} would have the address {address}, which is in the "
            f"range of {owner}",
            hint="Write a free one outside of all ranges: `network: {psc_address: 10.255.255.254}`.",
        )
    return address


def _route(graph: Graph, env: Environment, vpc: Resource, name: str, cidr: str) -> Resource:
    return graph.add(
        "google_compute_route",
        name,
        name=cloud_name(env, name),
        network=vpc["name"],
        dest_range=cidr,
        next_hop_gateway=GATEWAY,
    )


def _numbered(name: str, number: int) -> str:
    return f"{name}-{number}" if number else name


def _endpoint(
    graph: Graph, env: Environment, vpc: Resource, address: str, bundle: str, services: Services
) -> Resource:
    reserved = graph.add(
        "google_compute_global_address",
        "google-apis",
        name=cloud_name(env, "google-apis"),
        address_type="INTERNAL",
        purpose="PRIVATE_SERVICE_CONNECT",
        address=address,
        network=vpc["id"],
    )
    return graph.add(
        "google_compute_global_forwarding_rule",
        "google-apis",
        name=re.sub(r"[^a-z0-9]", "", env.platform)[: ENDPOINT_LIMIT - 4] + "apis",
        target=bundle,
        ip_address=reserved["id"],
        network=vpc["id"],
        load_balancing_scheme="",
        depends_on=services.needs("servicedirectory"),
    )
