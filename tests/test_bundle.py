"""``plan --out`` and ``apply --plan``: exactly what was looked at is applied, or it is said what moved."""

import hashlib
import json
import shutil
import stat

import msgspec
import pytest
from cli_factory import BLUEPRINT, PROTECTED, cloud, edit, groundplan, project

from groundplan.engines.terraform.bundle import store
from groundplan.engines.terraform.bundle.comparison import deviations, same, told
from groundplan.engines.terraform.bundle.manifest import Basis, Manifest, decode, moved
from groundplan.engines.terraform.engine import choose_offline
from groundplan.engines.terraform.session import StackPlan, session
from groundplan.engines.terraform.state import Identity
from groundplan.engines.terraform.workspace import opened
from groundplan.errors import InputError
from groundplan.facts.schema import index
from groundplan.modules.graph import Graph, Stack
from groundplan.plans.model import read_plan
from tests.support.mirror import Mirror

FOUNDED = BLUEPRINT.replace(
    "defaults:\n",
    'organization: "123456789012"\nfoundation: {project: tiny-seed}\n'
    "defaults:\n  billing_account: 01AB23-CD45EF-678901\n",
)
BASIS = Basis(
    blueprint="b", lock="l", configuration="c", engine="terraform 1.15.5", providers={"google": "8.7.0"},
    offline=True, state=Identity("offline-1", 5),
)  # fmt: skip


def manifest(bundle):
    return json.loads((bundle / "bundle.json").read_bytes())


def reseal(bundle, **changes):
    """What somebody does who knows how: change the manifest, and make all digests fit."""
    found = decode((bundle / "bundle.json").read_bytes())
    basis = {key: changes.pop(key) for key in list(changes) if key in Basis.__struct_fields__}
    files = {name: store.digest((bundle / name).read_bytes()) for name in found.files}
    made_from = msgspec.structs.replace(found.made_from, **basis)
    made = msgspec.structs.replace(found, made_from=made_from, files=files, **changes).sealed()
    (bundle / "bundle.json").write_bytes(made.encode())


@pytest.fixture(scope="module")
def applied_once(tmp_path_factory):
    """A small environment that exists."""
    folder = project(tmp_path_factory.mktemp("applied") / "p")
    assert groundplan(folder, "apply", "--offline", "--auto-approve", "--no-verify").code == 0
    return folder


@pytest.fixture
def applied(applied_once, tmp_path):
    return shutil.copytree(applied_once, tmp_path / "p")


@pytest.fixture(scope="module")
def planned_once(applied_once, tmp_path_factory):
    """The same, with a bundle that replaces its GPU pool."""
    folder = shutil.copytree(applied_once, tmp_path_factory.mktemp("planned") / "p")
    edit(folder, "g2-standard-12", "g2-standard-24")
    assert groundplan(folder, "plan", "--offline", "--out", "plans").code == 0
    return folder


@pytest.fixture
def planned(planned_once, tmp_path):
    return shutil.copytree(planned_once, tmp_path / "p")


def apply(folder, *argv):
    return groundplan(folder, "apply", "--offline", "--plan", "plans", "--no-verify", *argv)


def refused(folder, *argv):
    """An ``apply --plan`` that must do nothing."""
    before = cloud(folder)
    result = apply(folder, *argv)
    assert result.code == 1, result.both
    assert "nothing was applied" in result.err
    assert cloud(folder) == before
    return " ".join(result.err.split())


@pytest.fixture(scope="module")
def founded_once(tmp_path_factory):
    """Bundles of a foundation and an environment that do not exist yet, and what ``plan --json`` said."""
    folder = project(tmp_path_factory.mktemp("founded") / "p", FOUNDED)
    return folder, groundplan(folder, "plan", "--offline", "--out", "plans", "--json")


@pytest.mark.terraform
def test_two_stacks_from_plan_to_apply(founded_once, tmp_path):
    folder, planned = founded_once
    folder = shutil.copytree(folder, tmp_path / "p")
    assert [one["stack"] for one in planned.json["bundles"]] == ["foundation", "ml-dev"]
    assert (folder / "plans" / ".gitignore").read_text() == "*\n"
    for one in planned.json["bundles"]:
        bundle = folder / one["path"]
        assert stat.S_IMODE((bundle / "plan.tfplan").stat().st_mode) == 0o600
        assert stat.S_IMODE(bundle.stat().st_mode) == 0o700
        content = manifest(bundle)
        assert content["seal"] == one["seal"]
        assert content["created"].endswith("Z")
        for name, digest in content["files"].items():
            assert digest == "sha256:" + hashlib.sha256((bundle / name).read_bytes()).hexdigest()
        state = json.loads((folder / ".groundplan/offline" / one["stack"] / "terraform.tfstate").read_bytes())
        made_from = content["made_from"]
        assert made_from["state"] == {"lineage": state["lineage"], "serial": state["serial"]}
        assert made_from["offline"] is True
        assert made_from["engine"].split()[0] in ("terraform", "tofu")
    assert not (folder / "groundplan.lock.yaml").exists()

    assert groundplan(folder, "lock").code == 0, "what is only written down now was meant before"
    done = apply(folder)
    assert done.code == 0, done.err
    order = [line.partition(":")[0] for line in done.err.splitlines() if ": applying" in line]
    assert list(dict.fromkeys(order)) == ["foundation", "ml-dev"]
    assert "project_number" in (folder / ".groundplan/offline/learned.lock.yaml").read_text()
    assert (folder / "groundplan.lock.yaml").exists()

    said = refused(folder)
    assert "the plan was made from 0: something was applied since" in said
    assert "groundplan.lock.yaml (with what the foundation learned) changed" in said
    assert said.count("a plan made now changes nothing") == 2


@pytest.mark.terraform
def test_the_first_failure_stops_it(founded_once, tmp_path):
    folder = shutil.copytree(founded_once[0], tmp_path / "p")
    faults = '[{"type": "google_project", "action": "create", "error": "quota"}]'
    failed = groundplan(folder, "apply", "--offline", "--plan", "plans", GROUNDPLAN_OFFLINE_FAULTS=faults)
    assert failed.code == 4
    assert not any("google_container_cluster" in path for path in cloud(folder))


@pytest.mark.terraform
def test_a_bundle_does_what_it_says_without_asking(planned):
    bundle = planned / "plans" / "ml-dev"
    (bundle / "plan.tfplan").chmod(0o644)
    done = groundplan(planned, "apply", "--offline", "--plan", "plans/ml-dev", "--json")
    assert done.code == 0, done.err
    assert "chmod -R go= plans/ml-dev" in done.err, "a single bundle may be named; others may read this one"
    (stack,) = done.json["stacks"]
    assert (stack["name"], stack["changed"]) == ("ml-dev", 1)
    pool = next(content for path, content in cloud(planned).items() if "node_pool" in path and "l4" in path)
    assert b"g2-standard-24" in pool


@pytest.mark.terraform
def test_what_moved_without_changing_the_plan_is_told_too(planned):
    reseal(planned / "plans" / "ml-dev", engine="terraform 1.2.3", providers={"google": "7.0.0"})
    edit(planned, "apiVersion", "# reviewed\napiVersion")
    said = refused(planned)
    assert "groundplan.yaml changed, but nothing that this stack consists of" in said
    assert f"terraform 1.2.3 made it, and here is {choose_offline().name}" in said
    assert "the provider google was 7.0.0 then and is 8" in said
    assert "the provider google-beta was missing then" in said
    assert "a plan made now says the same about every resource" in said


@pytest.mark.terraform
def test_a_state_that_moved_is_told_with_the_difference(planned):
    edit(planned, "buckets: {data: {}}", "buckets: {data: {soft_delete: 9d}, more: {}}")
    edit(planned, "g2-standard-24", "g2-standard-12")
    assert groundplan(planned, "apply", "--offline", "--auto-approve", "--no-verify").code == 0
    edit(planned, "buckets: {data: {soft_delete: 9d}, more: {}}", "buckets: {data: {}}")
    edit(planned, "g2-standard-12", "g2-standard-24")
    made_from = manifest(planned / "plans" / "ml-dev")["made_from"]["state"]
    said = refused(planned)
    state = json.loads((planned / ".groundplan/offline/ml-dev/terraform.tfstate").read_bytes())
    assert (
        f"the state is at serial {state['serial']} now, the plan was made from {made_from['serial']}: "
        "something was applied since" in said
    )
    assert "groundplan.yaml" not in said
    assert "new: - storage: bucket more (google_storage_bucket.more)" in said
    assert "new: ~ storage: bucket data (google_storage_bucket.data)" in said
    assert "691200" in said or "777600" in said
    assert "node pool l4" not in said, "about the pool both plans say the same"
    assert "groundplan plan ml-dev --offline --out DIR" in said


@pytest.mark.terraform
def test_a_blueprint_that_changed_is_told_with_the_difference(planned):
    edit(planned, "g2-standard-24", "g2-standard-48")
    said = refused(planned)
    assert "groundplan.yaml changed, and with it what this stack consists of" in said
    assert "serial" not in said
    assert "other: ± clusters/main: node pool l4" in said
    assert "then node_config.guest_accelerator.count: 1 → 2" in said
    assert "now node_config.guest_accelerator.count: 1 → 4" in said


@pytest.mark.parametrize("name", ["plan.tfplan", "plan.json"])
@pytest.mark.terraform
def test_a_changed_file_is_refused(planned, name):
    path = planned / "plans" / "ml-dev" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert f"{name} changed: the digest in bundle.json is another one" in refused(planned)


@pytest.mark.terraform
def test_a_changed_or_foreign_manifest_is_refused(planned):
    bundle = planned / "plans" / "ml-dev"
    good = (bundle / "bundle.json").read_text()
    (bundle / "bundle.json").write_text(good.replace('"serial": ', '"serial": 1'))
    assert "bundle.json does not match its own seal" in refused(planned)
    (bundle / "bundle.json").write_text(good.replace('"format": 1', '"format": 2'))
    assert "it has format 2" in refused(planned)
    (bundle / "bundle.json").write_text("{}")
    assert "it is not the manifest of a bundle" in refused(planned)
    (bundle / "bundle.json").write_text(good.replace('"format": 1', '"format": 1, "more": 1'))
    assert "it is not the manifest of a bundle" in refused(planned)
    (bundle / "bundle.json").write_text(good)
    (bundle / "plan.json").unlink()
    assert "plan.json cannot be read: No such file" in refused(planned)


@pytest.mark.terraform
def test_what_was_looked_at_must_be_what_the_plan_file_says(planned):
    """Whoever makes all digests fit still cannot show one plan and have another one applied."""
    bundle = planned / "plans" / "ml-dev"
    shown = (bundle / "plan.json").read_bytes()
    assert b'["delete","create"]' in shown
    (bundle / "plan.json").write_bytes(shown.replace(b'["delete","create"]', b'["update"]'))
    reseal(bundle)
    assert "is not what the plan file says" in refused(planned)


@pytest.mark.terraform
def test_bundles_that_are_for_something_else(planned):
    bundles = planned / "plans"
    real = groundplan(planned, "apply", "--plan", "plans")
    assert real.code == 1, "before anything asks for credentials"
    assert "it is the plan of an offline run, and this is a real one" in real.err
    reseal(bundles / "ml-dev", offline=False)
    assert "it is the plan of a real run, and this is an offline one" in refused(planned)

    missing = apply(planned, "ml-prod")
    assert (missing.code, "plans has no bundle of ml-prod" in missing.err) == (1, True)
    (bundles / "ml-dev").rename(bundles / "ml-old")
    assert "it is the bundle of ml-dev" in refused(planned)
    reseal(bundles / "ml-old", stack="ml-old", offline=True)
    assert "groundplan.yaml has no stack ml-old" in refused(planned)
    nothing = groundplan(planned, "apply", "--offline", "--plan", "elsewhere")
    assert (nothing.code, "there is no bundle in elsewhere" in nothing.err) == (1, True)


@pytest.mark.terraform
def test_what_is_protected_is_not_replaced_by_a_bundle_either(tmp_path):
    folder = project(tmp_path / "p", PROTECTED)
    assert groundplan(folder, "apply", "--offline", "--auto-approve", "--no-verify").code == 0
    edit(folder, "buckets: {data: {}}", "buckets: {other: {}}")
    edit(folder, "writes: [buckets/data]", "writes: [buckets/other]")
    assert groundplan(folder, "plan", "--offline", "--out", "plans").code == 0
    before = cloud(folder)
    stopped = apply(folder)
    assert stopped.code == 3
    assert "1 protected thing would be destroyed or replaced" in stopped.err
    assert "google_storage_bucket.data" in stopped.err
    assert cloud(folder) == before


def test_only_bundles_are_written_over_and_only_by_whole_ones(tmp_path, monkeypatch):
    file, plans = tmp_path / "plan", tmp_path / "new" / "plans"
    file.write_bytes(b"first")
    content = json.dumps({"format_version": "1.2", "planned_values": {}}).encode()
    plan = StackPlan("ml-dev", file, content, True, 1.0, BASIS.state)
    first = store.write(plans, plan, BASIS)
    (first.path / "stray").write_text("x")

    def fail(self):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Manifest, "encode", fail)
        with pytest.raises(InputError, match="No space left on device"):
            store.write(plans, plan, msgspec.structs.replace(BASIS, lock="other"))
    assert store.find(plans)["ml-dev"] == first
    assert sorted(path.name for path in plans.iterdir()) == [".gitignore", "ml-dev"]

    file.write_bytes(b"second")
    store.write(plans, plan, BASIS)
    assert store.find(plans)["ml-dev"].plan == b"second"
    names = sorted(path.name for path in first.path.iterdir())
    assert names == ["bundle.json", "plan.json", "plan.tfplan"]
    assert sorted(path.name for path in plans.iterdir()) == [".gitignore", "ml-dev"]


def test_what_is_no_bundle_stays(tmp_path):
    folder = project(tmp_path / "p")
    mine = folder / "mine" / "ml-dev"
    mine.mkdir(parents=True)
    (mine / "thesis.txt").write_text("x")
    kept = groundplan(folder, "plan", "--offline", "--out", "mine")
    assert (kept.code, "is not a bundle" in kept.err) == (1, True)
    assert "planning" not in kept.err
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not a bundle"):
        store.refuse_others(tmp_path, ["link"])
    store.refuse_others(tmp_path / "new", ["ml-dev"])


@pytest.mark.terraform
def test_no_secret_is_in_what_may_be_uploaded(tmp_path):
    planted = "hunter2-hunter2-hunter2"
    graph = Graph(project="llm-dev", region="us-central1")
    secret = graph.add("google_secret_manager_secret", "token", secret_id="token", replication={"auto": {}})
    graph.add("google_secret_manager_secret_version", "token", secret=secret["id"], secret_data=planted)
    stack = Stack("dev", graph)
    with opened(tmp_path, offline=True) as work, session(work, choose_offline(), [stack]) as run:
        (plan,) = run.plan([stack])
    assert planted.encode() in plan.json, "Terraform itself shows it"
    bundle = store.write(tmp_path / "plans", plan, BASIS)
    for name in (store.REDACTED, store.MANIFEST):
        assert planted.encode() not in (bundle.path / name).read_bytes()
    changes = {c.address: c for c in read_plan(bundle.path / store.REDACTED).changes}
    assert changes["google_secret_manager_secret_version.token"].after["secret_data"].raw == "(sensitive)"
    assert store.find(tmp_path / "plans")["dev"].plan == plan.path.read_bytes()


@pytest.mark.terraform
def test_a_real_bundle_knows_which_providers_were_installed(tmp_path):
    folder = project(tmp_path / "p", BLUEPRINT + "state: {local: true}\n")
    checked = index().provider_version
    with Mirror(tmp_path) as mirror:
        real = mirror.environment | {"GOOGLE_OAUTH_ACCESS_TOKEN": "token"}
        planned = groundplan(folder, "plan", "--out", "plans", **real)
        assert planned.code == 0, planned.err
        made_from = manifest(folder / "plans" / "ml-dev")["made_from"]
        assert made_from["providers"]["google"] == checked
        assert (made_from["offline"], made_from["state"]) == (False, None)

        locked = folder / "groundplan.terraform.lock.hcl"
        kept = locked.read_bytes()
        locked.unlink()
        mirror.offer("8.99.0")
        refused = groundplan(folder, "apply", "--plan", "plans", **real)
        assert refused.code == 1
        assert f"the provider google was {checked} then and is 8.99.0 now" in refused.err

        locked.write_bytes(kept)
        done = groundplan(folder, "apply", "--plan", "plans", "--no-verify", **real)
        assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"lock": "x"}, ["l.yaml changed, but nothing that this stack consists of"]),
        ({"blueprint": "x", "lock": "x", "configuration": "x"}, ["b.yaml and l.yaml changed, and with it"]),
        ({"configuration": "x"}, ["another groundplan made it, which writes main.tf.json in another way"]),
        ({"providers": {}}, ["the provider google was 8.7.0 then and is missing now"]),
        ({"state": None}, ["the state that it was made from is gone"]),
        ({"state": Identity("offline-2", 5)}, ["lineage offline-2, the plan was made from offline-1"]),
        (
            {"state": Identity("offline-1", 4)},
            ["at serial 4 now, the plan was made from 5: an older"],
        ),
        (
            {"engine": "tofu 1.11.0", "blueprint": "x"},
            ["b.yaml changed", "terraform 1.15.5 made it"],
        ),
    ],
)
def test_everything_that_moves_is_told(changes, said):
    now = msgspec.structs.replace(BASIS, **changes)
    found = list(moved(BASIS, now, blueprint="b.yaml", lock="l.yaml"))
    assert len(found) == len(said)
    assert all(part in line for part, line in zip(said, found, strict=True))


def test_a_first_state_since_the_plan_is_told():
    (line,) = moved(msgspec.structs.replace(BASIS, state=None), BASIS, blueprint="b", lock="l")
    assert line == "there was no state then, and there is one now: something was applied since"


def plan_of(*changes):
    """A plan from ``(address, actions, attributes before, after)``."""
    items = [
        {
            "address": address, "type": address.partition(".")[0], "name": address.partition(".")[2],
            "change": {"actions": actions, "before": before, "after": after},
        }
        for address, actions, before, after in changes
    ]  # fmt: skip
    content = {"format_version": "1.2", "planned_values": {"root_module": {}}, "resource_changes": items}
    return read_plan(json.dumps(content).encode())


def test_deviations_are_lines_for_things_not_for_resources():
    apis = [(f"google_project_service.a{n}", ["create"], None, {"service": f"a{n}"}) for n in range(5)]
    labels = [{f"key-{n}": "x" for n in range(10)}, {f"key-{n}": "y" for n in range(10)}]
    bucket = ("google_storage_bucket.b", ["update"], {"labels": labels[0]}, {"labels": labels[1]})
    gone = ("google_storage_bucket.c", ["delete"], {"name": "c"}, None)
    lines = list(told(deviations(plan_of(gone), plan_of(*apis, bucket)), {}))
    assert lines[0] == "new: + services: APIs (5 resources)"
    assert lines[1] == "new: ~ storage: bucket b (google_storage_bucket.b)"
    assert lines[8] == "  … and 4 more attributes"
    assert lines[9:] == ["gone: - storage: bucket c (google_storage_bucket.c)"]
    assert deviations(plan_of(*apis), plan_of(*apis)) == []


def test_the_order_in_which_terraform_names_forcing_attributes_does_not_matter():
    def replacing(*paths):
        plan = plan_of(("google_storage_bucket.b", ["delete", "create"], {"name": "b"}, {"name": "b"}))
        (change,) = plan.changes
        body = msgspec.structs.replace(change.body, replace_paths=paths)
        return msgspec.structs.replace(plan, changes=(msgspec.structs.replace(change, body=body),))

    assert same(replacing(("a", 0, "b"), ("c",)), replacing(("c",), ("a", 0, "b")))
    assert not same(replacing(("c",)), replacing(("c",), ("a",)))
