"""The network lets nothing out but what is asked for; and networks of others."""

from ipaddress import IPv4Network

import pytest
from blueprint_factory import SYSTEM, blueprint, dev, lock, only, platform, stack

from groundplan.engines.terraform.writer import document
from groundplan.errors import InputError
from groundplan.facts.google_apis import google_apis
from groundplan.modules.graph import Text
from groundplan.stacks.administrator import administrator_grants
from groundplan.stacks.catalog import stacks

ZONE, RECORD = "google_dns_managed_zone", "google_dns_record_set"
ROUTE, FIREWALL = "google_compute_route", "google_compute_firewall"
CLUSTER = "google_container_cluster"
RESTRICTED = ["199.36.153.4", "199.36.153.5", "199.36.153.6", "199.36.153.7"]
PRIVATE = ["199.36.153.8", "199.36.153.9", "199.36.153.10", "199.36.153.11"]
DIRECT = "34.126.0.0/18"
CLOSED = {"perimeter": {"mode": "dry-run", "access_policy": "1"}}
OPEN = platform({"ml-dev": {}}, foundation=False)
SHARED = {"existing": {"host_project": "acme-host", "network": "ml"}}


def records(graph):
    """Name → addresses or aliases."""
    return {r.attributes["name"]: r.attributes["rrdatas"] for r in graph.of_type(RECORD)}


def egress(graph):
    """Destination range → priority, what is allowed, what is denied; of rules for outgoing traffic."""
    rules = [r.attributes for r in graph.of_type(FIREWALL) if r.attributes["direction"] == "EGRESS"]
    return {
        cidr: (rule.get("priority"), rule.get("allow"), rule.get("deny"))
        for rule in rules
        for cidr in rule["destination_ranges"]
    }


# Google's APIs


@pytest.mark.parametrize(
    ("changes", "vip", "addresses"),
    [
        ({}, "private", PRIVATE),
        (CLOSED, "restricted", RESTRICTED),
        ({"perimeter": {"mode": "enforced", "access_policy": "1"}}, "restricted", RESTRICTED),
        ({"network": {"google_apis": "restricted-vip"}}, "restricted", RESTRICTED),
        ({**CLOSED, "network": {"google_apis": "private-vip"}}, "private", PRIVATE),
    ],
)
def test_p15_names_of_apis_lead_to_the_restricted_addresses_with_a_perimeter(changes, vip, addresses):
    graph = dev(**changes)
    found = records(graph)
    assert sorted(found[f"{vip}.googleapis.com."]) == sorted(addresses)
    alias = graph[f"{RECORD}.googleapis-com_names"].attributes["rrdatas"]
    assert alias == [graph[f"{RECORD}.googleapis-com_{vip}"]["name"]]
    for domain in ("gcr.io", "pkg.dev", "gke.goog"):
        assert sorted(found[f"{domain}."]) == sorted(addresses)
        assert f"*.{domain}." in found
    other = {"private": "restricted", "restricted": "private"}[vip]
    assert f"{other}.googleapis.com." not in found


def test_zones_are_seen_by_this_network_only():
    graph = dev()
    vpc = only(graph, "google_compute_network")
    zones = graph.of_type(ZONE)
    assert {zone.attributes["dns_name"] for zone in zones} == {
        "gcr.io.", "gke.goog.", "googleapis.com.", "pkg.dev.",
    }  # fmt: skip
    for zone in zones:
        assert zone.attributes["visibility"] == "private"
        assert zone.attributes["private_visibility_config"] == {"networks": [{"network_url": vpc["id"]}]}


def test_domains_of_notebooks_come_with_notebooks():
    names = {zone.attributes["dns_name"] for zone in dev(apis=["notebooks"]).of_type(ZONE)}
    assert {
        "kernels.googleusercontent.com.", "notebooks.cloud.google.com.", "notebooks.googleusercontent.com.",
    } <= names  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "ranges"),
    [
        ({}, {"199.36.153.8/30", DIRECT}),
        (CLOSED, {"199.36.153.4/30", DIRECT}),
        ({"network": {"nat": True}}, {"0.0.0.0/0", "199.36.153.8/30", DIRECT}),
        ({"network": {"google_apis": "psc"}}, {DIRECT}),
    ],
)
def test_routes_lead_nowhere_else(changes, ranges):
    routes = dev(**changes).of_type(ROUTE)
    assert {route.attributes["dest_range"] for route in routes} == ranges
    assert len(routes) == len(ranges)
    assert {route.attributes["next_hop_gateway"] for route in routes} == {"default-internet-gateway"}


def test_an_endpoint_serves_what_the_perimeter_protects():
    graph = dev(network={"google_apis": "psc"}, **CLOSED)
    address = only(graph, "google_compute_global_address").attributes
    assert (address["purpose"], address["address_type"]) == ("PRIVATE_SERVICE_CONNECT", "INTERNAL")
    assert address["address"] == "10.127.255.254"
    endpoint = only(graph, "google_compute_global_forwarding_rule")
    assert endpoint.attributes["target"] == "vpc-sc"
    assert endpoint.attributes["load_balancing_scheme"] == ""
    assert endpoint.attributes["name"].isalnum() and len(endpoint.attributes["name"]) <= 20
    assert records(graph)["restricted.googleapis.com."] == ["10.127.255.254"]
    assert endpoint in graph.ancestors(only(graph, CLUSTER))
    assert "10.127.255.254/32" in egress(graph)
    open_ = dev(network={"google_apis": "psc", "psc_address": "10.255.0.1"})
    assert only(open_, "google_compute_global_forwarding_rule").attributes["target"] == "all-apis"
    assert records(open_)["private.googleapis.com."] == ["10.255.0.1"]


def test_names_of_endpoints_fit():
    clusters = {"main": {"node_pools": {"system": SYSTEM}}}
    spec = {"clusters": clusters, "network": {"google_apis": "psc"}}
    built = blueprint({"ml-dev": spec}, name="a-very-long-platform")
    name = only(stack(built).graph, "google_compute_global_forwarding_rule").attributes["name"]
    assert name == "averylongplatforapis"
    assert len(name) == 20


def test_an_endpoint_keeps_out_of_ranges():
    with pytest.raises(InputError, match=r"10\.64\.0\.9, which is in the range of ml-dev/main \(pods\)"):
        dev(network={"google_apis": "psc", "psc_address": "10.64.0.9"})


# Ways out


def test_nothing_gets_out_but_to_google_and_to_nodes_and_pods():
    rules = egress(dev())
    assert rules.pop("0.0.0.0/0") == (65530, None, [{"protocol": "all"}])
    https = [{"protocol": "tcp", "ports": ["443"]}]
    assert rules.pop("199.36.153.8/30") == rules.pop(DIRECT) == (65430, https, None)
    assert set(rules) == {"10.64.0.0/14", "10.68.0.0/20"}, "nodes and pods; control planes are among nodes"
    assert {allowed for _, allowed, _ in map(str_allow, rules.values())} == {"[{'protocol': 'all'}]"}


def str_allow(rule):
    return rule[0], str(rule[1]), rule[2]


def test_what_is_refused_is_logged():
    (rule,) = [r for r in dev().of_type(FIREWALL) if r.attributes.get("deny")]
    assert rule.attributes["log_config"] == {"metadata": "INCLUDE_ALL_METADATA"}


def test_nat_opens_the_way_to_the_internet():
    graph = dev(network={"nat": True})
    internet = graph[f"{FIREWALL}.internet"].attributes
    assert internet["destination_ranges"] == ["0.0.0.0/0"]
    assert internet["priority"] < 65530
    assert f"{FIREWALL}.internet" not in dev()


def test_nothing_starts_before_the_ways_out_are_there():
    graph = dev(network={"nat": True})
    before = graph.ancestors(only(graph, CLUSTER))
    for kind in (ROUTE, FIREWALL, RECORD, "google_compute_router_nat"):
        assert set(graph.of_type(kind)) <= before


def test_moving_into_a_perimeter_replaces_nothing_that_nodes_stand_on():
    closed = platform({"ml-dev": {}}, foundation=False, **CLOSED)
    before, after = (document(stack(one))["resource"] for one in (OPEN, closed))
    gone = []
    for kind, name in ((kind, name) for kind, names in before.items() for name in names):
        if name not in after[kind]:
            gone.append(f"{kind}.{name}")
            continue
        for key, item in stack(OPEN).graph[f"{kind}.{name}"].schema.block.attributes.items():
            same = before[kind][name].get(key) == after[kind][name].get(key)
            assert same or not item.force_new, f"{kind}.{name}.{key}"
    assert sorted(gone) == [f"{ROUTE}.private", f"{RECORD}.googleapis-com_private"]


def test_the_addresses_are_googles():
    for vip in google_apis().vips.values():
        network = IPv4Network(vip.range)
        assert network.subnet_of(IPv4Network("199.36.153.0/24"))
        assert len(vip.addresses) == 4


# Networks of others


def hosted(name="foundation", foundation=True, **network):
    shared = {"existing": {**SHARED["existing"], **network}}
    return stack(platform({"ml-dev": {}}, foundation=foundation, network=shared), name).graph


def test_somebody_elses_network_is_used_and_left_alone():
    graph = hosted("ml-dev")
    assert not graph.of_type(
        "google_compute_network", "google_compute_subnetwork", ROUTE, FIREWALL, ZONE, "google_compute_router"
    )
    cluster = only(graph, CLUSTER).attributes
    assert cluster["network"] == "projects/acme-host/global/networks/ml"
    assert cluster["subnetwork"] == "projects/acme-host/regions/us-central1/subnetworks/llm-main"
    assert cluster["ip_allocation_policy"]["cluster_secondary_range_name"] == "pods"


def test_subnets_are_called_as_their_owner_says():
    subnet = {"name": "gke-dev", "pods": "gke-pods", "services": "gke-services"}
    cluster = only(hosted("ml-dev", subnets={"main": subnet}), CLUSTER).attributes
    assert cluster["subnetwork"].endswith("/subnetworks/gke-dev")
    assert cluster["ip_allocation_policy"]["cluster_secondary_range_name"] == "gke-pods"
    assert cluster["ip_allocation_policy"]["services_secondary_range_name"] == "gke-services"


def grants(graph):
    """Role → member, project or subnet, of what is granted in the host project."""
    return {
        (r.attributes["role"], where(r.attributes["member"]), r.attributes.get("subnetwork")): r
        for r in graph.of_type("google_project_iam_member", "google_compute_subnetwork_iam_member")
        if r.attributes["project"] == "acme-host"
    }


def where(member):
    if isinstance(member, Text):
        first, number, last = member.parts
        return f"{first}{number if isinstance(number, str) else 'NUMBER'}{last}"
    return member if isinstance(member, str) else member.resource.address


def test_u29_the_foundation_grants_what_gke_needs_in_the_host_project():
    graph = hosted()
    subnet = "projects/acme-host/regions/us-central1/subnetworks/llm-main"
    gke = "google_project_service_identity.ml-dev_gke"
    assert set(grants(graph)) == {
        ("roles/container.hostServiceAgentUser", gke, None),
        ("roles/compute.networkUser", gke, subnet),
        ("roles/compute.networkUser", "serviceAccount:NUMBER@cloudservices.gserviceaccount.com", subnet),
    }
    attachment = only(graph, "google_compute_shared_vpc_service_project")
    assert attachment.attributes["host_project"] == "acme-host"
    assert attachment.attributes["service_project"] == graph["google_project.ml-dev"]["project_id"]
    for grant in grants(graph).values():
        assert attachment in graph.ancestors(grant), "U30: grants go before the attachment"
    identity = graph[gke]
    assert identity.provider == "google-beta"
    assert graph["google_project_service.ml-dev_container"] in graph.ancestors(identity), "no agent before it"
    assert not grants(hosted("ml-dev"))


def test_u29_without_a_foundation_the_environment_grants_before_its_clusters():
    graph = hosted("ml-dev", foundation=False)
    found = grants(graph)
    assert len(found) == 3
    assert set(found.values()) <= graph.ancestors(only(graph, CLUSTER))
    assert "google_project_service.ml-dev_container" not in graph
    known = platform({"ml-dev": {}}, foundation=False, network=SHARED)
    members = {
        where(r.attributes["member"]) for r in grants(stack(known, "ml-dev", {"ml-dev": "5"}).graph).values()
    }
    assert "serviceAccount:5@cloudservices.gserviceaccount.com" in members


def test_a_network_of_the_own_project_needs_no_grants():
    own = {"existing": {"host_project": "llm-ml-dev", "network": "ml"}}
    for foundation in (True, False):
        built = platform({"ml-dev": {}}, foundation=foundation, network=own)
        for one in stacks(built, lock(built)):
            assert not one.graph.of_type("google_compute_shared_vpc_service_project")
            assert not one.graph.of_type("google_compute_subnetwork_iam_member")


def test_the_administrator_is_told_what_a_shared_network_takes():
    shared = platform({"ml-dev": {}}, network=SHARED)
    found = {(grant.role, grant.where) for grant in administrator_grants(stack(shared, "foundation"))}
    assert ("roles/compute.xpnAdmin", "organizations/123456789012") in found
    assert ("roles/resourcemanager.projectIamAdmin", "projects/acme-host") in found
