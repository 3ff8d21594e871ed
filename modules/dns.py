"""Private DNS zones that lead the names of Google's APIs to the addresses that a network can reach.

Public DNS gives other addresses, to which there is no route. Each domain gets a zone that only this VPC
sees, as Google's guides have it ("Set up private connectivity to Google APIs and services", "Configure
restricted access for GKE private clusters"): in ``googleapis.com`` every name is an alias of
``restricted.`` or ``private.googleapis.com``, in the others of the domain itself. Images come from
``pkg.dev`` and ``gcr.io``, so without these zones no node starts; ``gke.goog`` has the names of control
planes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import cloud_name, terraform_name
from groundplan.facts.google_apis import domains
from groundplan.modules.graph import Graph, Lifecycle, Resource
from groundplan.modules.routes import GoogleApis
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment

APIS = "googleapis.com"
TTL = 300  #: seconds


def add_zones(
    graph: Graph, env: Environment, vpc: Resource, apis: GoogleApis, used: Iterable[str], services: Services
) -> tuple[Resource, ...]:
    """Add a zone for each domain; the records that must exist before a node looks one up.

    Args:
        graph: where to.
        env: the environment.
        vpc: its network, the only one that sees the zones.
        apis: where Google's APIs are.
        used: the APIs that the environment uses, by full name.
        services: the APIs, enabled.
    """
    return tuple(
        record for domain in domains(set(used)) for record in _zone(graph, env, vpc, domain, apis, services)
    )


def _zone(
    graph: Graph, env: Environment, vpc: Resource, domain: str, apis: GoogleApis, services: Services
) -> tuple[Resource, Resource]:
    key = domain.replace(".", "-")
    zone = graph.add(
        "google_dns_managed_zone",
        key,
        name=cloud_name(env, key),
        dns_name=f"{domain}.",
        description=f"{domain} at addresses that the network reaches",
        visibility="private",
        private_visibility_config={"networks": [{"network_url": vpc["id"]}]},
        depends_on=services.needs("dns"),
    )
    host = f"{apis.vip}.{domain}." if domain == APIS else f"{domain}."
    addresses = graph.add(
        "google_dns_record_set",
        terraform_name(key, apis.vip if domain == APIS else "addresses"),
        managed_zone=zone["name"],
        name=host,
        type="A",
        ttl=TTL,
        rrdatas=sorted(apis.addresses),
        # Another set of APIs has another name: first the new one, then the alias, then the old one goes.
        lifecycle=Lifecycle(create_before_destroy=True),
    )
    alias = graph.add(
        "google_dns_record_set",
        terraform_name(key, "names"),
        managed_zone=zone["name"],
        name=f"*.{domain}.",
        type="CNAME",
        ttl=TTL,
        rrdatas=[addresses["name"]],
    )
    return addresses, alias
