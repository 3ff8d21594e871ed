from blueprint_factory import SYSTEM, dev, only

SUBNET = "google_compute_subnetwork"


def test_the_network_is_made_by_hand():
    graph = dev()
    vpc = only(graph, "google_compute_network")
    assert vpc.attributes["auto_create_subnetworks"] is False
    assert vpc.attributes["delete_default_routes_on_create"] is True
    subnet = only(graph, SUBNET).attributes
    assert subnet["private_ip_google_access"] is True
    assert [r["range_name"] for r in subnet["secondary_ip_range"]] == ["pods", "services"]
    assert subnet["log_config"]["metadata"] == "INCLUDE_ALL_METADATA"


def test_ranges_come_from_the_lock_and_the_cluster_uses_their_names():
    graph = dev()
    subnet = only(graph, SUBNET).attributes
    assert subnet["ip_cidr_range"] == "10.68.0.0/20"
    assert {r["range_name"]: r["ip_cidr_range"] for r in subnet["secondary_ip_range"]} == {
        "pods": "10.64.0.0/14",
        "services": "10.68.16.0/20",
    }
    policy = only(graph, "google_container_cluster").attributes["ip_allocation_policy"]
    assert policy["cluster_secondary_range_name"] == "pods"
    assert policy["services_secondary_range_name"] == "services"


def test_nodes_find_googles_apis_before_they_start():
    graph = dev()
    cluster = only(graph, "google_container_cluster")
    for kind in ("google_compute_route", "google_dns_record_set"):
        assert graph.of_type(kind)
        assert set(graph.of_type(kind)) <= graph.ancestors(cluster)


def test_there_is_no_way_to_the_internet_unless_it_is_asked_for():
    assert not dev().of_type("google_compute_router", "google_compute_router_nat")
    graph = dev(
        network={"nat": True},
        clusters={"second": {"region": "europe-west4", "node_pools": {"system": SYSTEM}}},
    )
    nats = graph.of_type("google_compute_router_nat")
    assert [nat.attributes["region"] for nat in nats] == ["europe-west4", "us-central1"]
    assert all(nat.attributes["log_config"] == {"enable": True, "filter": "ERRORS_ONLY"} for nat in nats)
    for cluster in graph.of_type("google_container_cluster"):
        assert set(nats) <= graph.ancestors(cluster)


def test_only_nodes_and_pods_of_one_cluster_reach_each_other():
    graph = dev(clusters={"second": {"node_pools": {"system": SYSTEM}}})
    rules = [r for r in graph.of_type("google_compute_firewall") if r.attributes["direction"] == "INGRESS"]
    assert len(rules) == 2
    sources = [set(rule.attributes["source_ranges"]) for rule in rules]
    assert sources[0].isdisjoint(sources[1])
    for rule, source in zip(rules, sources, strict=True):
        assert set(rule.attributes["destination_ranges"]) == source


def test_a_second_cluster_has_a_subnet_of_its_own_in_the_same_network():
    graph = dev(clusters={"second": {"region": "europe-west4", "node_pools": {"system": SYSTEM}}})
    only(graph, "google_compute_network")
    assert {s.name: s.attributes["region"] for s in graph.of_type(SUBNET)} == {
        "main": "us-central1",
        "second": "europe-west4",
    }
