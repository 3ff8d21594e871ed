"""An environment that left the file: told everywhere, destroyed by tombstone, its project only after it."""

import json
import re

import pytest
from blueprint_factory import platform, stack
from cli_factory import cloud, edit, groundplan, project
from plan_factory import change, plan

from groundplan.blueprints.lock import EnvironmentLock, Lock, read_lock, write_lock
from groundplan.blueprints.model import Tombstone
from groundplan.engines.terraform.leftovers import Held, held, leftovers, recorded
from groundplan.engines.terraform.workspace import Root
from groundplan.engines.terraform.writer import document
from groundplan.modules.graph import GcsState
from groundplan.stacks.tombstones import departed, lifted, only_lifts, tombstone

CLUSTER, BUCKET = "google_container_cluster", "google_storage_bucket"
BLUEPRINT = """\
apiVersion: groundplan/v1
name: tiny
organization: "123456789012"
foundation: {project: tiny-seed}
defaults:
  billing_account: 01AB23-CD45EF-678901
environments:
  ml-dev:
  ml-old:
    tier: staging
    clusters: {main: {zones: [a], node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}
    storage: {buckets: {data: {}}}
"""
OLD = BLUEPRINT.partition("  ml-old:\n")[2]
TOMBSTONE = "removed: {ml-old: {confirm: tiny-ml-old}}\n"


def run(folder, *words):
    return groundplan(folder, *words, "--offline")


def apply(folder, name):
    return run(folder, "apply", name, "--auto-approve", "--no-verify")


@pytest.mark.terraform
def test_the_life_after_an_environment_left_the_file(tmp_path):
    folder = project(tmp_path, BLUEPRINT)
    assert apply(folder, "foundation").code == 0
    assert apply(folder, "ml-old").code == 0
    edit(folder, f"  ml-old:\n{OLD}", "")

    refused = run(folder, "destroy", "ml-old", "--auto-approve")
    assert (refused.code, TOMBSTONE.strip() in refused.err) == (64, True)
    refused = apply(folder, "foundation")
    assert refused.code == 3
    told = r"warning: environment ml-old is gone from the blueprint: \d+ resources left behind unmanaged"
    assert re.search(told, refused.err)
    assert "its project tiny-ml-old would go: put it back, or write" in refused.err

    (folder / "groundplan.yaml").open("a").write(TOMBSTONE.replace("tiny-ml-old", "tiny-ml-dev"))
    refused = run(folder, "destroy", "ml-old", "--auto-approve")
    assert refused.code == 1
    assert "confirms tiny-ml-dev, but its resources are in another project" in refused.err
    edit(folder, "confirm: tiny-ml-dev", "confirm: tiny-ml-old")
    refused = apply(folder, "foundation")
    assert refused.code == 3
    assert "its own resources come first: groundplan destroy ml-old --offline" in refused.err
    refused = run(folder, "destroy", "ml-old", "--auto-approve")
    assert refused.code == 3
    assert "clusters/main (google_container_cluster.main): deletion_protection is true" in refused.err
    assert "`groundplan apply ml-old`" in refused.err

    before = cloud(folder)
    lifting = apply(folder, "ml-old")
    assert lifting.code == 0, lifting.both
    changed = {path.partition("/")[0] for path, content in cloud(folder).items() if content != before[path]}
    assert changed == {CLUSTER, BUCKET, "google_project", "google_folder"}
    assert "Next: groundplan destroy ml-old --offline" in lifting.err
    assert re.search(r"ml-old +\d+ resources +2 changed", lifting.out)

    done = run(folder, "destroy", "ml-old", "--auto-approve")
    assert done.code == 0, done.both
    assert not [path for path in cloud(folder) if path.startswith(CLUSTER) or "tiny-ml-old-data" in path]
    assert "Its project: groundplan apply foundation --offline" in done.err
    done = apply(folder, "foundation")
    assert done.code == 0, done.both
    assert "= bucket tiny-seed-state-ml-old      no longer managed" in done.out
    left = [path for path in cloud(folder) if "ml-old" in path and "project_service/" not in path]
    assert [path.partition("/")[0] for path in left] == [BUCKET], "the history of its state stays"

    # Google keeps the id of a deleted project for 30 days.
    edit(folder, TOMBSTONE, "")
    edit(folder, "  ml-dev:\n", f"  ml-dev:\n  ml-old:\n{OLD}")
    taken = apply(folder, "foundation")
    assert taken.code == 4
    assert "for 30 days by a project that was deleted" in taken.err
    assert "`project: {generation: 2}`" in taken.err
    edit(folder, "    tier: staging\n", "    tier: staging\n    project: {generation: 2}\n")
    adopt = f"--adopt={BUCKET}.state_ml-old=tiny-seed-state-ml-old"
    assert adopt in taken.err
    again = run(folder, "apply", "foundation", "--auto-approve", "--no-verify", adopt)
    assert again.code == 0, again.both
    assert "google_project/projects%2Ftiny-ml-old-g2.json" in cloud(folder)
    edit(folder, "generation: 2", "generation: 3")
    refused = apply(folder, "foundation")
    assert refused.code == 3
    assert "its project would be replaced, tiny-ml-old-g2 by tiny-ml-old-g3" in refused.err


@pytest.mark.terraform
def test_protection_is_lifted_only_with_what_was_applied_last(tmp_path):
    folder = project(tmp_path, BLUEPRINT.replace("foundation: {project: tiny-seed}\n", ""))
    edit(
        folder,
        "    clusters: {main: {zones: [a], node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}\n",
        "",
    )
    assert apply(folder, "ml-old").code == 0
    edit(folder, f"  ml-old:\n{OLD}".replace(OLD.splitlines()[1] + "\n", ""), TOMBSTONE)
    kept = folder / ".groundplan" / "offline" / "ml-old" / "applied.json"
    content = json.loads(kept.read_text())
    before = cloud(folder)

    content["resource"][BUCKET]["data"]["storage_class"] = "NEARLINE"
    kept.write_text(json.dumps(content))
    refused = apply(folder, "ml-old")
    assert (refused.code, "is not what its state is made from" in refused.err) == (4, True)
    kept.unlink()
    refused = apply(folder, "ml-old")
    assert (refused.code, "is not here" in refused.err) == (4, True)
    assert cloud(folder) == before


class TestLift:
    def test_everything_that_protects_and_nothing_else(self):
        made = stack(platform({"ml-prod": {}}), "ml-prod")
        written = document(made, guarded=False)
        free, addresses = lifted(written)
        assert addresses == [f"{CLUSTER}.main", f"{BUCKET}.checkpoints", f"{BUCKET}.datasets"]
        unprotected = document(stack(platform({"ml-prod": {"protect": False}}), "ml-prod"), guarded=False)
        assert free == unprotected
        assert document(made, guarded=False) == written, "what was written is not touched"

    def test_in_the_foundation_only_what_belongs_to_the_environments(self):
        written = document(stack(platform(), "foundation"), guarded=False)
        _, addresses = lifted(written, ["ml-prod"])
        assert addresses == ["google_folder.ml-prod", "google_project.ml-prod"]

    def test_what_protects_by_default(self):
        written = {"resource": {"google_folder": {"x": {"display_name": "x"}}, "unknown": {"y": {}}}}
        free, addresses = lifted(written)
        assert free["resource"]["google_folder"]["x"]["deletion_protection"] is False
        assert addresses == ["google_folder.x"]

    @pytest.mark.parametrize(
        ("changes", "only"),
        [
            (
                [
                    change(
                        f"{CLUSTER}.x",
                        "update",
                        {"deletion_protection": True},
                        {"deletion_protection": False},
                    )
                ],
                True,
            ),
            ([change(f"{CLUSTER}.x", "update", {"location": "a"}, {"location": "b"})], False),
            ([change(f"{BUCKET}.x", "delete", {"force_destroy": False})], False),
            ([], True),
        ],
    )
    def test_a_plan_that_does_more_is_not_one_that_lifts(self, changes, only):
        assert only_lifts(plan(*changes)) is only


class TestDeparted:
    def test_what_the_foundation_gives_up(self):
        found = departed(
            plan(
                change("google_project.ml-old", "delete", {"project_id": "llm-ml-old"}),
                change("google_storage_bucket.state_ml-old", "delete", {"name": "s"}),
                change("google_service_account.ml-old_apply", "delete", {"account_id": "a"}),
                change("google_project_iam_member.ml-dev_plan_browser", "delete", {"project": "llm-ml-dev"}),
                change("google_service_account.ml-dev_apply", "delete", {"account_id": "a"}),
            ),
            ["ml-dev"],
        )
        assert [(one.name, one.project, len(one.addresses)) for one in found] == [("ml-old", "llm-ml-old", 3)]

    def test_an_existing_project_is_known_by_its_grants(self):
        (found,) = departed(
            plan(
                change("google_service_account.ml-old_apply", "delete", {"account_id": "a"}),
                change("google_project_iam_member.ml-old_apply_x", "delete", {"project": "acme-old"}),
            ),
            [],
        )
        assert found.project == "acme-old"
        assert not departed(plan(change("google_pubsub_topic.other", "delete", {"name": "x"})), [])


class TestLeftovers:
    def state(self, folder, name, platform="llm", **attributes):
        root = folder / name
        root.mkdir(parents=True)
        instances = [{"attributes": attributes}] if attributes else []
        content = {"resources": [{"mode": "managed", "type": BUCKET, "instances": instances}]}
        (root / "terraform.tfstate").write_text(json.dumps(content))
        provider = {"google": [{"default_labels": {"platform": platform}}]}
        (root / "main.tf.json").write_text(json.dumps({"provider": provider}))

    def test_states_with_something_in_them_that_no_stack_has(self, tmp_path):
        self.state(tmp_path, "ml-dev", project="a")
        self.state(tmp_path, "ml-old", project="b")
        self.state(tmp_path, "ml-empty")
        self.state(tmp_path, "ml-other", "another", project="c")
        assert leftovers(tmp_path, "llm", ["ml-dev"]) == {"ml-old": Held(1, "b")}
        assert leftovers(tmp_path / "missing", "llm", []) == {}

    def test_what_a_state_holds(self):
        assert held(b"") == Held(0, "")
        of = [{"attributes": {"project": name}} for name in ("a", "b", "b", None)]
        content = {
            "resources": [
                {"mode": "managed", "type": "x", "instances": of},
                {"mode": "data", "type": "x", "instances": of},
            ]
        }
        assert held(json.dumps(content).encode()) == Held(4, "b")

    def test_what_was_applied_last(self, tmp_path):
        root = Root(tmp_path)
        assert recorded(root) is None
        root.write({"resource": {}})
        root.keep_applied()
        root.write({"resource": {"x": {}}})
        assert recorded(root) == {"resource": {}}
        assert not [path for path in tmp_path.glob("applied*") if path.name.endswith(".tf.json")]


def test_a_tombstone_is_a_stack_without_resources_in_the_place_of_the_state():
    made = platform({"ml-dev": {}})
    made = made.model_copy(update={"removed": {"ml-old": Tombstone(confirm="llm-ml-old")}})
    found = tombstone(made, "ml-old")
    assert found.state == GcsState("llm-seed-state-ml-old", "llm/ml-old")
    content = document(found)
    assert content.keys() == {"provider", "terraform"}
    assert content["provider"]["google-beta"] == [{"project": "llm-ml-old"}]
    assert content["terraform"][0]["required_providers"].keys() == {"google", "google-beta"}
    assert stack(made, "foundation").graph.removed[0].address == "google_storage_bucket.state_ml-old"


def test_states_in_a_bucket_are_known_by_the_lock_file_until_it_is_pruned(tmp_path):
    folder = project(tmp_path, BLUEPRINT.replace(f"  ml-old:\n{OLD}", ""))
    path = folder / "groundplan.lock.yaml"
    write_lock(path, Lock(environments={"ml-old": EnvironmentLock(project_number="1")}))
    refused = groundplan(folder, "destroy", "ml-old")
    assert refused.code == 64
    assert "if it was applied, nothing manages its resources" in refused.err
    assert "groundplan lock --prune" in refused.err
    assert groundplan(folder, "lock", "--check", "--prune").code == 1
    assert groundplan(folder, "lock", "--prune").code == 0
    assert read_lock(path).environments.keys() == {"ml-dev"}
    assert "there is no environment `ml-old`" in groundplan(folder, "destroy", "ml-old").err
