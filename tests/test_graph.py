import re

import pytest

from groundplan.facts.schema import resource_type
from groundplan.modules import check
from groundplan.modules.graph import Graph, GraphError, Lifecycle, Name, Reference, references, text

NODE_CONFIG = {"machine_type": "e2-standard-4", "service_account": "nodes@llm.iam.gserviceaccount.com"}


def pool(**attributes):
    return Graph().add("google_container_node_pool", "train", **{"cluster": "main", **attributes})


def problems(**attributes):
    """What is said about a node pool, without file, line and address."""
    with pytest.raises(GraphError) as caught:
        pool(**attributes)
    lines = str(caught.value).splitlines()
    start = r"tests/test_graph\.py:\d+: google_container_node_pool\.train: "
    assert all(re.match(start, line) for line in lines)
    return [re.sub(start, "", line) for line in lines]


def test_an_error_names_the_line_of_the_module_that_made_the_resource():
    with pytest.raises(GraphError) as caught:
        Graph().add("google_storage_bucket", "b", name="b", locatoin="US")
    line = int(re.match(r"tests/test_graph\.py:(\d+): ", str(caught.value))[1])
    assert line == caught.traceback[0].lineno + 1


def test_all_problems_of_a_resource_come_at_once():
    assert set(problems(clustr="x", node_count="many", node_config={"spot": 1})) == {
        "node_count: a number is wanted, not 'many'",
        "node_config.spot: a bool is wanted, not 1",
        "clustr: no such attribute. Did you mean cluster?",
    }


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"guest_accelerators": {"type": "nvidia-l4", "count": 1}},
            "node_config.guest_accelerators: no such attribute. Did you mean guest_accelerator?",
        ),
        (
            {"guest_accelerator": {"type": "nvidia-l4", "count": 1, "gpu_driver_instalation_config": {}}},
            "node_config.guest_accelerator.gpu_driver_instalation_config: no such attribute."
            " Did you mean gpu_driver_installation_config?",
        ),
        (
            {"taint": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}, {"key": "a", "valeu": "b"}]},
            "node_config.taint[1].valeu: no such attribute. Did you mean value?",
        ),
        (
            {"taint": "a=b"},
            "node_config.taint: a block is a mapping or a list of mappings, not 'a=b'",
        ),
        ({"taint": ["a=b"]}, "node_config.taint: a block is a mapping or a list of mappings, not ['a=b']"),
        ({"oauth_scopes": {"a": "b"}}, "node_config.oauth_scopes: a set is wanted, not {'a': 'b'}"),
        ({"labels": ["a"]}, "node_config.labels: a map is wanted, not ['a']"),
        ({"labels": {"a": 1}}, "node_config.labels: a string is wanted, not 1"),
        ({"gvnic": [{"enabled": True}, {"enabled": False}]}, "node_config.gvnic: at most 1 wanted, not 2"),
        ({"gvnic": {}}, "node_config.gvnic.enabled: required"),
        (
            {"workload_metadata_config": {"mode": "GKE_METADAT"}},
            "node_config.workload_metadata_config.mode: 'GKE_METADAT' is not one of"
            " MODE_UNSPECIFIED, GCE_METADATA, GKE_METADATA. Did you mean GKE_METADATA?",
        ),
        (
            {"host_maintenance_policy": {"maintenance_interval": "PERIODIC"}},
            "node_config.host_maintenance_policy: no such attribute. Only google-beta has it.",
        ),
        ({"effective_taints": []}, "node_config.effective_taints: only the provider sets it"),
    ],
)  # fmt: skip
def test_u43_a_nested_mistake_is_refused_with_its_path(config, said):
    assert said in problems(node_config={**NODE_CONFIG, **config})


def test_u43_a_block_may_be_an_object_or_a_list_and_both_keep_every_key():
    accelerator = {
        "type": "nvidia-l4",
        "count": 1,
        "gpu_driver_installation_config": {"gpu_driver_version": "LATEST"},
    }
    one = pool(node_config={**NODE_CONFIG, "guest_accelerator": accelerator})
    many = pool(node_config=[{**NODE_CONFIG, "guest_accelerator": [accelerator]}])
    assert one.attributes["node_config"]["guest_accelerator"] == accelerator
    assert many.attributes["node_config"][0]["guest_accelerator"] == [accelerator]


def test_google_beta_takes_what_only_it_has():
    config = {"host_maintenance_policy": {"maintenance_interval": "PERIODIC"}}
    assert pool(provider="google-beta", node_config={**NODE_CONFIG, **config})


def test_an_unknown_type_is_refused_with_a_suggestion():
    with pytest.raises(GraphError, match="Did you mean google_storage_bucket"):
        Graph().add("google_storage_bukket", "b")
    with pytest.raises(GraphError, match="Only google-beta has it"):
        Graph().add("google_project_service_identity", "gke", service="container.googleapis.com")
    with pytest.raises(GraphError, match="there is no data source google_storage_bukket"):
        Graph().data("google_storage_bukket", "b")


def test_attributes_that_exclude_each_other_are_refused():
    with pytest.raises(GraphError, match="these exclude each other"):
        Graph().add(
            "google_container_cluster",
            "main",
            name="main",
            binary_authorization={"enabled": True, "evaluation_mode": "DISABLED"},
        )
    with pytest.raises(GraphError, match=r"exactly one of .*recurring_window.* is required"):
        Graph().add(
            "google_container_cluster", "main", name="main", maintenance_policy={"disruption_budget": {}}
        )


def test_what_is_none_is_left_out_and_what_is_empty_stays():
    made = pool(node_count=None, node_config={"labels": None, "taint": []}, timeouts={})
    assert made.attributes == {"cluster": "main", "node_config": {"taint": []}, "timeouts": {}}


def test_a_reference_is_checked_and_becomes_text_only_in_an_engine():
    graph = Graph()
    network = graph.add("google_compute_network", "main", name="main")
    assert network["id"] == Reference(network, "id")
    with pytest.raises(GraphError, match=r"has no attribute selflink.*Did you mean self_link"):
        network["selflink"]
    with pytest.raises(TypeError, match="use text"):
        f"{network['id']}"
    joined = text("a/", text("b/", network["name"]), "/c")
    assert joined.parts == ("a/", "b/", Reference(network, "name"), "/c")
    assert list(references({"x": [joined, network["id"]]})) == [joined.parts[2], network["id"]]


def test_references_and_depends_on_make_the_order():
    graph = Graph()
    network = graph.add("google_compute_network", "main", name="main")
    subnet = graph.add("google_compute_subnetwork", "main", name="main", network=network["id"])
    topic = graph.add("google_pubsub_topic", "t", name="t", depends_on=[subnet])
    assert graph.references(subnet) == [network]
    assert graph.ancestors(topic) == {network, subnet}
    assert graph.of_type("google_pubsub_topic") == [topic]


def test_a_resource_of_another_graph_cannot_be_referred_to():
    network = Graph().add("google_compute_network", "main", name="main")
    with pytest.raises(GraphError, match=r"google_compute_network\.main is not part of this graph"):
        Graph().add("google_compute_subnetwork", "main", name="main", network=network["id"])


def test_an_address_exists_once():
    graph = Graph()
    graph.add("google_pubsub_topic", "t", name="t")
    with pytest.raises(GraphError, match="this address exists already"):
        graph.add("google_pubsub_topic", "t", name="u")


def test_a_renamed_resource_is_moved():
    graph = Graph()
    graph.add("google_pubsub_topic", Name("new", "old"), name="t")
    graph.add("google_pubsub_topic", Name("same", "same"), name="s")
    assert graph.moves == {"google_pubsub_topic.old": "google_pubsub_topic.new"}
    with pytest.raises(GraphError, match="this address exists already"):
        graph.add("google_pubsub_topic", "old", name="t")
    with pytest.raises(GraphError, match="the address is in use"):
        graph.add("google_pubsub_topic", Name("newer", "same"), name="s")


def test_resources_remember_the_blueprint_key_that_asked_for_them():
    graph = Graph()
    with graph.at("clusters", "main"), graph.at("node_pools", "train"):
        inner = graph.add("google_pubsub_topic", "a", name="a")
    outer = graph.add("google_pubsub_topic", "b", name="b", lifecycle=Lifecycle(prevent_destroy=True))
    assert inner.origin == ("clusters", "main", "node_pools", "train")
    assert outer.origin == ()


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"name": "UPPER"}, "does not match"),
        ({"max_pods_per_node": 8.5}, "max_pods_per_node: 8.5 is not a whole number"),
        ({"upgrade_settings": {"max_surge": -1}}, "upgrade_settings.max_surge: -1, but at least 0"),
    ],
)
def test_values_outside_of_what_the_provider_takes_are_refused(attributes, said):
    name = "google_compute_network" if "name" in attributes else "google_container_node_pool"
    found = list(check.resource(resource_type(name), attributes))
    assert any(said in problem for problem in found), found
