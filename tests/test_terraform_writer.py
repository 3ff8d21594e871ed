import json
import os
import subprocess
import time

import pytest

from groundplan.engines.terraform import environment
from groundplan.engines.terraform.engine import find_engines
from groundplan.engines.terraform.writer import document, dumps, encode, escape, render
from groundplan.modules.graph import GcsState, Graph, Lifecycle, Stack, text

LABELS = {"team": "ml-platform", "env": "dev"}


def graph(*, reverse=False):
    """A small graph with everything the writer knows; ``reverse`` adds what can be added in another order."""
    graph = Graph(project="llm-ml-dev", region="us-central1", labels=LABELS)
    names = ["alpha", "beta"]
    networks = {
        name: graph.add("google_compute_network", name, name=f"llm-{name}", auto_create_subnetworks=False)
        for name in (reversed(names) if reverse else names)
    }
    network = networks["alpha"]
    cluster = graph.add(
        "google_container_cluster",
        "main",
        name="main",
        location="us-central1",
        network=network["id"],
        node_pool={"name": "default", "node_config": {"machine_type": "e2-standard-4"}},
        initial_node_count=1,
        resource_labels={"b": "2", "a": "1"},
        lifecycle=Lifecycle(prevent_destroy=True, ignore_changes=("node_pool", "initial_node_count")),
        depends_on=[networks["beta"], network],
    )
    graph.add(
        "google_container_node_pool",
        "pool",
        provider="google-beta",
        cluster=cluster["id"],
        name="pool",
        lifecycle=Lifecycle(create_before_destroy=True, ignore_changes=("all",)),
    )
    project = graph.data("google_project", "this", project_id="llm-ml-dev")
    graph.add(
        "google_project_iam_member",
        "node",
        project="llm-ml-dev",
        role="roles/container.defaultNodeServiceAccount",
        member=text(
            "serviceAccount:service-", project["number"], "@container-engine.iam.gserviceaccount.com"
        ),
    )
    graph.output("network", network["id"], "where ${nodes} live")
    graph.output("secret", {"k": [cluster["id"]]}, sensitive=True)
    graph.move("google_compute_network.old", network)
    graph.adopt(networks["beta"], "projects/llm-ml-dev/global/networks/llm-beta")
    graph.forget("google_storage_bucket.gone")
    return graph


def stack(**changes):
    settings = {
        "graph": graph(),
        "state": GcsState("llm-seed-state", "ml-dev"),
        "providers": {"google": "~> 8.7"},
        "engine_version": ">= 1.13",
    }
    return Stack("ml-dev", **{**settings, **changes})


def test_the_whole_document():
    content = document(stack())
    assert list(content) == [
        "terraform", "provider", "data", "resource", "moved", "import", "removed", "output",
    ]  # fmt: skip
    assert content["terraform"] == [
        {
            "required_version": ">= 1.13",
            "required_providers": {
                "google": {"source": "hashicorp/google", "version": "~> 8.7"},
                "google-beta": {"source": "hashicorp/google-beta", "version": "~> 8.7"},
            },
            "backend": {"gcs": {"bucket": "llm-seed-state", "prefix": "ml-dev"}},
        }
    ]
    configured = [{"default_labels": LABELS, "project": "llm-ml-dev", "region": "us-central1"}]
    assert content["provider"] == {"google": configured, "google-beta": configured}
    assert content["data"] == {"google_project": {"this": {"project_id": "llm-ml-dev"}}}
    assert content["resource"]["google_container_cluster"]["main"] == {
        "initial_node_count": 1,
        "location": "us-central1",
        "name": "main",
        "network": "${google_compute_network.alpha.id}",
        "node_pool": [{"name": "default", "node_config": [{"machine_type": "e2-standard-4"}]}],
        "resource_labels": {"a": "1", "b": "2"},
        "depends_on": ["google_compute_network.alpha", "google_compute_network.beta"],
        "lifecycle": [{"ignore_changes": ["initial_node_count", "node_pool"], "prevent_destroy": True}],
    }
    assert content["resource"]["google_container_node_pool"]["pool"] == {
        "cluster": "${google_container_cluster.main.id}",
        "name": "pool",
        "provider": "google-beta",
        "lifecycle": [{"create_before_destroy": True, "ignore_changes": "all"}],
    }
    member = content["resource"]["google_project_iam_member"]["node"]["member"]
    assert member == (
        "serviceAccount:service-${data.google_project.this.number}@container-engine.iam.gserviceaccount.com"
    )
    assert content["moved"] == [{"from": "google_compute_network.old", "to": "google_compute_network.alpha"}]
    assert content["import"] == [
        {"id": "projects/llm-ml-dev/global/networks/llm-beta", "to": "google_compute_network.beta"}
    ]
    assert content["removed"] == [{"from": "google_storage_bucket.gone", "lifecycle": [{"destroy": False}]}]
    assert content["output"] == {
        "network": {"value": "${google_compute_network.alpha.id}", "description": "where ${nodes} live"},
        "secret": {"value": {"k": ["${google_container_cluster.main.id}"]}, "sensitive": True},
    }


def test_the_text_is_the_same_however_the_graph_was_built():
    assert dumps(stack()) == dumps(stack(graph=graph(reverse=True)))
    assert dumps(stack()).endswith("}\n")
    assert '\n  "terraform": [\n    {\n' in dumps(stack())
    assert json.loads(dumps(stack())) == document(stack())


def test_types_and_names_are_sorted():
    resources = document(stack(graph=graph(reverse=True)))["resource"]
    assert list(resources) == sorted(resources)
    assert list(resources["google_compute_network"]) == ["alpha", "beta"]


def test_google_beta_only_where_it_is_used():
    small = Graph(project="p")
    small.add("google_compute_network", "n", name="n")
    content = document(stack(graph=small))
    assert list(content["provider"]) == list(content["terraform"][0]["required_providers"]) == ["google"]
    assert "output" not in content


def test_an_empty_stack_can_still_destroy():
    content = document(stack(graph=Graph(project="p")))
    assert content["provider"] == {"google": [{"project": "p"}]}
    assert "resource" not in content


def test_offline_the_state_is_always_local_and_any_engine_serves():
    settings = document(stack(), offline=True)["terraform"][0]
    assert settings["backend"] == {"local": {"path": "terraform.tfstate"}}
    assert "required_version" not in settings


#: What a module means, and how Terraform must be told.
LITERALS = [
    "plain", "${x}", "$${x}", "$$${x}", "%{if}", "%%{if}", "$", "$$", "100%", "%${x}", "$%{x}",
    'quote " back \\ line\nend', "ü \u2028",
]  # fmt: skip


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """What a real engine makes of the rendered literals, keys, and texts around a reference."""
    root = tmp_path_factory.mktemp("escaping")
    graph = Graph()
    network = graph.add("google_compute_network", "n", name="n")
    texts = [
        text(before, network["name"], after)
        for before in ("$", "$$", "a$", "%", "${", "")
        for after in ("{", "")
    ]
    rendered = [render(t).replace("google_compute_network.n.name", "terraform_data.n.output") for t in texts]
    content = {
        "resource": {"terraform_data": {"n": {"input": "n"}}},
        "output": {
            "literals": {"value": render(LITERALS)},
            "keys": {"value": render(dict.fromkeys(LITERALS, 1))},
            "texts": {"value": rendered},
            "seam": {"value": render(text("$", "{x}"))},
        },
    }
    (root / "main.tf.json").write_bytes(encode(content))
    (root / "engine.tfrc").touch()
    variables = environment.offline(os.environ, root / "engine.tfrc", {})
    command = find_engines()[0].command
    for words in (["init"], ["apply", "-auto-approve"]):
        subprocess.run([*command, *words], cwd=root, env=variables, check=True, capture_output=True)
    shown = subprocess.run(
        [*command, "output", "-json"], cwd=root, env=variables, check=True, capture_output=True
    )
    return {name: output["value"] for name, output in json.loads(shown.stdout).items()}


@pytest.mark.terraform
def test_terraform_reads_literals_as_they_were_meant(evaluated):
    assert evaluated["literals"] == LITERALS
    assert set(evaluated["keys"]) == set(LITERALS)


@pytest.mark.terraform
def test_terraform_reads_texts_around_references_as_they_were_meant(evaluated):
    expected = [f"{before}n{after}" for before in ("$", "$$", "a$", "%", "${", "") for after in ("{", "")]
    assert evaluated["texts"] == expected
    assert evaluated["seam"] == "${x}"


def test_escaping_is_done_once():
    graph = Graph()
    resource = graph.add("google_compute_network", "n", name="n", description="${d} $${d}")
    attributes = document(Stack("s", graph))["resource"]["google_compute_network"]["n"]
    assert attributes == {"name": "n", "description": "$${d} $$${d}"}
    assert resource.attributes["description"] == "${d} $${d}", "the graph keeps what was meant"
    assert escape("no templates") == "no templates"


def test_a_thousand_resources_take_no_time():
    large = Graph(project="p")
    network = large.add("google_compute_network", "n", name="n")
    for number in range(1000):
        large.add(
            "google_compute_firewall", f"f{number}", name=f"f{number}", network=network["id"],
            allow=[{"protocol": "tcp", "ports": ["443"]}], source_ranges=["10.0.0.0/8"],
        )  # fmt: skip
    began = time.process_time()
    dumps(Stack("s", large))
    assert time.process_time() - began < 0.3
