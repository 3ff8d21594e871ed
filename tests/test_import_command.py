"""What exists already is found, shown and taken into the state; nothing else changes."""

import json
import shutil

import pytest
from cli_factory import cloud, edit, groundplan, project
from plan_factory import change, plan

from groundplan.engines.terraform.adoption import _about, candidates, predicted_id
from groundplan.engines.terraform.events import Diagnostic
from groundplan.engines.terraform.offline.templates import import_readings
from groundplan.facts.import_ids import import_id
from groundplan.facts.schema import resource_type, type_names
from groundplan.modules.graph import Graph

BUCKET = "google_storage_bucket"
BLUEPRINT = """\
apiVersion: groundplan/v1
name: tiny
environments:
  ml-dev:
    storage: {buckets: {a: {}, b: {}}}
"""


def run(folder, *words):
    return groundplan(folder, *words, "--offline")


def root(folder):
    return folder / ".groundplan" / "offline"


def bucket(folder, key):
    return root(folder) / "cloud" / BUCKET / f"tiny-ml-dev-{key}.json"


@pytest.mark.terraform
def test_a_lost_state_is_found_again(tmp_path):
    folder = project(tmp_path, BLUEPRINT)
    assert run(folder, "apply", "ml-dev", "--auto-approve", "--no-verify").code == 0
    shutil.rmtree(root(folder) / "ml-dev")
    bucket(folder, "b").unlink()
    content = json.loads(bucket(folder, "a").read_text())
    content["attributes"]["storage_class"] = "NEARLINE"
    bucket(folder, "a").write_text(json.dumps(content))
    objects = cloud(folder)

    asked = run(folder, "import", "ml-dev")
    assert (asked.code, "there is no terminal to ask on" in asked.err) == (64, True)
    assert "~ bucket a" in asked.out and "bucket b" not in asked.out
    done = run(folder, "import", "ml-dev", "--auto-approve", "--json")
    assert done.code == 0, done.both
    (found,) = done.json["stacks"]
    adopted = {one["address"]: one for one in found["adopted"]}
    assert adopted[f"{BUCKET}.a"] == {
        "address": f"{BUCKET}.a", "id": "tiny-ml-dev-a", "differs": ["storage_class"],
    }  # fmt: skip
    assert adopted["google_project_service.storage"]["id"] == "tiny-ml-dev/storage.googleapis.com"
    assert found["missing"] == [f"{BUCKET}.b"]
    assert found["unknown"] == []
    assert cloud(folder) == objects, "only the state changes"
    left = run(folder, "plan", "ml-dev")
    assert "~ bucket a" in left.out and "+ bucket b" in left.out
    assert "1 to add, 1 to change, 0 to replace, 0 to destroy" in left.out
    assert "nothing of what it would make exists already" in run(folder, "import", "ml-dev").out


@pytest.mark.terraform
def test_what_the_blueprint_says_exists_is_used_and_never_made(tmp_path):
    text = BLUEPRINT.replace("a: {}, b: {}", "raw: {existing: acme-raw}")
    folder = project(tmp_path, text.replace("  ml-dev:\n", "  ml-dev:\n    project: {existing: acme-dev}\n"))
    done = run(folder, "apply", "ml-dev", "--auto-approve")
    assert done.code == 0, done.both
    assert {path.partition("/")[0] for path in cloud(folder)} == {"google_project_service"}
    assert "buckets: {'raw': 'acme-raw'}" in run(folder, "output", "ml-dev").out
    gone = run(folder, "destroy", "ml-dev", "--auto-approve")
    assert gone.code == 0, gone.both


@pytest.mark.terraform
def test_one_resource_with_an_id_of_its_own(tmp_path):
    folder = project(tmp_path, BLUEPRINT.replace(", b: {}", ""))
    assert run(folder, "apply", "ml-dev", "--auto-approve", "--no-verify").code == 0
    edit(folder, "a: {}", "a: {}, other: {name: somewhere-else}")
    one = ("import", "ml-dev", "--address", f"{BUCKET}.other", "--auto-approve")
    refused = run(folder, *one)
    assert (refused.code, "nothing has the id somewhere-else" in refused.err) == (4, True)
    content = json.loads(bucket(folder, "a").read_text())
    content["attributes"]["name"] = content["id"] = "made-by-hand"
    bucket(folder, "a").with_name("made-by-hand.json").write_text(json.dumps(content))
    edit(folder, "name: somewhere-else", "name: made-by-hand")
    done = run(folder, *one, "--id", "made-by-hand", "--resources")
    assert done.code == 0, done.both
    assert f"= {BUCKET}.other  made-by-hand" in done.out
    refused = run(folder, *one)
    assert (refused.code, "is in the state of ml-dev already" in refused.err) == (64, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ml-dev", "--id", "x"], "--id needs --address"),
        (["ml-dev", "--address", f"{BUCKET}.aa"], f"Did you mean {BUCKET}.a?"),
        ([], "Missing argument"),
    ],
)
def test_what_cannot_be_meant(tmp_path, words, message):
    result = run(project(tmp_path, BLUEPRINT), "import", *words)
    assert (result.code, message in result.err) == (64, True), result.err


IDS = [
    (BUCKET, {"name": "n"}, "n"),
    ("google_project", {"project_id": "p"}, "p"),
    ("google_project_service", {"project": "p", "service": "x.googleapis.com"}, "p/x.googleapis.com"),
    ("google_compute_network", {"project": "p", "name": "n"}, "projects/p/global/networks/n"),
    (
        "google_container_node_pool",
        {"project": "p", "location": "l", "cluster": "projects/p/locations/l/clusters/c", "name": "n"},
        "projects/p/locations/l/clusters/c/nodePools/n",
    ),
    (
        "google_storage_bucket_iam_member",
        {"bucket": "b", "role": "r", "member": "m", "condition": [{"title": "only so"}]},
        "b/b r m only so",
    ),
    (
        "google_storage_managed_folder",
        {"bucket": "b", "name": "llm/ml-dev/"},
        "b/managedFolders/llm/ml-dev/",
    ),
    ("google_folder", {"display_name": "x", "parent": "folders/1"}, ""),
    ("google_project_default_service_accounts", {"project": "p", "action": "DEPRIVILEGE"}, ""),
]


def created(address, attributes):
    """The change that makes a resource."""
    return plan(change(address, "create", None, attributes)).changes[0]


@pytest.mark.parametrize(("kind", "attributes", "expected"), IDS, ids=[kind for kind, *_ in IDS])
def test_ids_follow_from_what_the_plan_knows(kind, attributes, expected):
    assert predicted_id(created(f"{kind}.x", attributes), Graph()) == expected


def test_what_the_plan_leaves_out_comes_from_the_provider_settings():
    made = created("google_compute_subnetwork.x", {"name": "n"})
    assert predicted_id(made, Graph(project="p", region="r")) == "projects/p/regions/r/subnetworks/n"
    assert predicted_id(made, Graph(project="p")) == "n", "the provider fills in the rest"


def test_the_stand_in_reads_every_id_that_can_be_predicted():
    checked = 0
    for name in sorted(type_names("google-beta")):
        kind = resource_type(name, "google-beta")
        found = import_id(kind, lambda attribute: "" if "." in attribute else f"v-{attribute}")
        if found:
            checked += 1
            assert any(True for _ in import_readings(kind, found)), (name, found)
    assert checked > 300


def test_only_what_would_be_made_is_asked_for():
    found = candidates(
        plan(
            change(f"{BUCKET}.new", "create", None, {"name": "n"}),
            change(f"{BUCKET}.changed", "update", {"name": "a"}, {"name": "a"}),
            change(f"{BUCKET}.replaced", "delete+create", {"name": "a"}, {"name": "b"}),
            change("google_folder.new", "create", None, {"display_name": "x"}),
        ),
        Graph(),
    )
    assert found == {f"{BUCKET}.new": "n", "google_folder.new": ""}


def diagnostic(summary, detail="", address=""):
    return Diagnostic(severity="error", summary=summary, detail=detail, address=address)


def test_an_error_is_about_the_address_that_it_names():
    graph = Graph()
    made = graph.add(BUCKET, "a", name="acme-a", location="US")
    graph.adopt(made, "acme-a")
    wanted = [made.address]
    real = diagnostic(
        "Cannot import non-existent remote object",
        f'While attempting to import an existing object to "{made.address}", the provider detected that no '
        "object exists with the given id.",
    )
    assert _about(real, wanted, graph) == made.address
    standin = diagnostic(f"Cannot import non-existent remote object: {BUCKET} acme-a")
    assert _about(standin, wanted, graph) == made.address
    assert _about(diagnostic("Error 403: no", address=made.address), wanted, graph) == made.address
    assert _about(diagnostic("Error 403: no", address="google_project.x"), wanted, graph) is None
    assert _about(diagnostic("Invalid provider configuration"), wanted, graph) is None
