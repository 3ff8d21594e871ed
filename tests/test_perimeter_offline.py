"""Perimeters with real Terraform: what the stand-in refuses, and the life of an environment in one."""

import json

import pytest
from blueprint_factory import lock, platform
from cli_factory import cloud, edit, groundplan, project
from offline_factory import Root, project_root

from groundplan.cli.runs import Run
from groundplan.engines.terraform.offline.session import Standin
from groundplan.errors import UsageError
from groundplan.modules.perimeter import require_policy
from groundplan.stacks.catalog import stacks

pytestmark = pytest.mark.terraform

PREFIX = "google_access_context_manager"
PERIMETER, LEVEL, POLICY = f"{PREFIX}_service_perimeter", f"{PREFIX}_access_level", f"{PREFIX}_access_policy"
MEMBER = f"{PERIMETER}_resource"
TYPES = {
    PERIMETER,
    LEVEL,
    POLICY,
    MEMBER,
    "google_project",
    "google_project_service",
    "google_service_account",
}
POLICY_ID = f"${{{POLICY}.p.name}}"
PARENT = f"accessPolicies/{POLICY_ID}"


@pytest.fixture
def root(tmp_path):
    with Standin(tmp_path / "cloud", tmp_path / "standin.log", types=TYPES) as standin:
        yield Root(tmp_path / "root", standin, tmp_path / "cloud")
    assert "Traceback" not in (tmp_path / "standin.log").read_text()


def rule(title="r", target="projects/1", level="*", who="user:a@example.com"):
    return {
        "title": title,
        "ingress_from": [{"identities": [who], "sources": [{"access_level": level}]}],
        "ingress_to": [{"resources": [target], "operations": [{"service_name": "*"}]}],
    }


def perimeter(
    name="p", parent="accessPolicies/1", block="status", resources=("projects/1",), rules=(), **more
):
    config = {
        "resources": list(resources),
        "restricted_services": ["storage.googleapis.com"],
        "ingress_policies": list(rules),
    }
    body = {
        "parent": parent,
        "name": f"{parent}/servicePerimeters/{name}",
        "title": name,
        block: [config],
        **more,
    }
    return {PERIMETER: {name: body}}


def level(parent=PARENT, **more):
    basic = [{"conditions": [{"regions": ["DE"]}]}]
    return {
        LEVEL: {
            "l": {"parent": parent, "name": f"{parent}/accessLevels/l", "title": "l", "basic": basic, **more}
        }
    }


OWN_POLICY = {POLICY: {"p": {"parent": "organizations/1", "title": "p"}}}


@pytest.mark.parametrize("block", ["status", "spec"])
def test_u18_a_target_of_an_ingress_rule_must_be_inside(root, block):
    root.write(perimeter(block=block, rules=[rule(target="projects/2")]))
    (refusal,) = root.refused()
    assert (
        "Error 400: The resource 'projects/2' in ingressTo is not in the service perimeter" in refusal.summary
    )
    root.write(perimeter(block=block, rules=[rule(), rule("all", "*")]))
    assert root.apply() == {f"{PERIMETER}.p": "create"}, (
        "a policy that is not in this cloud is somebody else's"
    )
    root.write(perimeter(block=block, resources=["projects/2"], rules=[rule()]))
    (refusal,) = root.refused()
    assert "'projects/1' in ingressTo" in refusal.summary, "a change is looked at, too"


def test_u36_titles_are_unique(root):
    root.write(perimeter(rules=[rule(), rule()]))
    (refusal,) = root.refused()
    assert "Error 400: Duplicate title 'r'" in refusal.summary


def test_an_access_level_in_use_stays(root):
    name = f"{PARENT}/accessLevels/l"
    using = perimeter(parent=PARENT, rules=[rule(level=name)])
    root.write(OWN_POLICY | using)
    (refusal,) = root.refused()
    assert "does not exist" in refusal.summary
    root.write(OWN_POLICY | level() | perimeter(parent=PARENT, rules=[rule(level=f"${{{LEVEL}.l.name}}")]))
    root.apply()
    root.write(OWN_POLICY | using)
    (refusal,) = root.refused()
    assert "is in use by the service perimeter" in refusal.summary


def test_an_access_level_goes_after_the_rule_if_it_is_replaced_first(root):
    lifecycle = {"lifecycle": {"create_before_destroy": True}}
    there = perimeter(parent=PARENT, rules=[rule(level=f"${{{LEVEL}.l.name}}")])
    root.write(OWN_POLICY | level(**lifecycle) | there)
    root.apply()
    root.write(OWN_POLICY | perimeter(parent=PARENT, rules=[rule()]))
    assert root.apply() == {f"{PERIMETER}.p": "update", f"{LEVEL}.l": "delete"}


def test_a_project_is_in_one_enforced_perimeter(root):
    first, second = perimeter(), perimeter("q")
    second[PERIMETER]["q"]["depends_on"] = [f"{PERIMETER}.p"]
    root.write({PERIMETER: first[PERIMETER] | second[PERIMETER]})
    (refusal,) = root.refused()
    assert (
        "'projects/1' is in the service perimeter 'accessPolicies/1/servicePerimeters/p' already"
        in refusal.summary
    )
    root.write({PERIMETER: first[PERIMETER] | perimeter("q", block="spec")[PERIMETER]})
    assert root.apply() == {f"{PERIMETER}.q": "create"}, "in dry runs it may be in others, too"


def test_a_project_is_detached_before_the_accounts_in_rules_go(root):
    """A perimeter whose rules name an account that is gone cannot be changed any more."""
    email = "in-rules@ml.iam.gserviceaccount.com"
    account = {"google_service_account": {"x": {"account_id": "in-rules", "project": "ml"}}}
    theirs = perimeter(rules=[rule(who=f"serviceAccount:{email}", target="*")])
    theirs[PERIMETER]["p"]["lifecycle"] = {"ignore_changes": ["status[0].resources"]}
    member = {
        MEMBER: {"m": {"perimeter_name": "accessPolicies/1/servicePerimeters/p", "resource": "projects/2"}}
    }
    member[MEMBER]["m"]["depends_on"] = [f"{PERIMETER}.p"]
    theirs[PERIMETER]["p"]["depends_on"] = ["google_service_account.x"]
    root.write(project_root("iam", resources=account | theirs | member))
    root.apply()
    root.object("google_service_account")[0].unlink()
    (refusal,) = root.refused(destroy=True)
    assert f"Service account {email} does not exist" in refusal.summary


# An environment's life


BLUEPRINT = """\
apiVersion: groundplan/v1
name: walled
organization: "1"
foundation: {project: walled-seed}
defaults:
  protect: false
  billing_account: 01AB23-CD45EF-678901
  folder: "345678901234"
  clusters: {main: {zones: [a], node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}
  storage: {buckets: {models: {}}}
  workloads: {server: {reads: [buckets/models]}}
  perimeter:
    mode: dry-run
    access_levels: {corp: {any_of: [{ip_ranges: [203.0.113.0/24]}]}}
    ingress:
      nodes:
        from:
          identities: ["serviceAccount:walled-main-nodes@walled-ml-dev.iam.gserviceaccount.com"]
          sources: [access_levels/corp]
        to: {resources: [projects/walled-ml-dev], services: {storage.googleapis.com: {}}}
environments:
  ml-dev:
"""
OPTIONS = ("--offline", "--auto-approve")


def resources(folder, stack="ml-dev"):
    """Types of what is in a stack's state, with their attributes."""
    state = json.loads((folder / ".groundplan/offline" / stack / "terraform.tfstate").read_text())
    return {f"{r['type']}.{r['name']}": r["instances"][0]["attributes"] for r in state["resources"]}


def test_an_environment_lives_and_goes_in_its_perimeter(tmp_path):
    folder = project(tmp_path / "p", BLUEPRINT)
    applied = groundplan(folder, "apply", "foundation", "ml-dev", *OPTIONS)
    assert applied.code == 0, applied.both
    made = resources(folder)[f"{PERIMETER}.main"]
    policy = resources(folder, "foundation")[f"{POLICY}.ml-dev"]["name"]
    number = resources(folder, "foundation")["google_project.ml-dev"]["number"]
    assert made["parent"] == f"accessPolicies/{policy}"
    assert made["spec"][0]["resources"] == [f"projects/{number}"]
    assert made["status"] == []

    edit(folder, "mode: dry-run", "mode: enforced")
    applied = groundplan(folder, "apply", "ml-dev", *OPTIONS)
    assert "0 to add, 1 to change, 0 to replace, 0 to destroy" in applied.out, applied.both
    assert "~ perimeter  mode dry-run → enforced\n" in applied.out
    edit(folder, "access_levels: {corp:", "access_levels: {office:")
    edit(folder, "[access_levels/corp]", "[access_levels/office]")
    applied = groundplan(folder, "apply", "ml-dev", *OPTIONS)
    assert applied.code == 0, applied.both
    made = resources(folder)[f"{PERIMETER}.main"]
    assert made["spec"] == []
    assert made["status"][0]["ingress_policies"][1]["title"] == "ml-dev nodes"
    assert f"{LEVEL}.corp" not in resources(folder)

    destroyed = groundplan(folder, "destroy", "--all", *OPTIONS)
    assert destroyed.code == 0, destroyed.both
    assert cloud(folder) == {}


def test_a_shared_network_and_an_endpoint_come_and_go(tmp_path):
    text = BLUEPRINT.replace("foundation: {project: walled-seed}\n", "").replace(
        "environments:\n  ml-dev:\n",
        "environments:\n"
        "  ml-dev: {network: {existing: {host_project: acme-host, network: n}}, perimeter: {mode: none}}\n"
        "  ml-staging: {network: {google_apis: psc, nat: true},\n"
        "    perimeter: {access_policy: 7, ingress: null}}\n",
    )
    folder = project(tmp_path / "p", text)
    applied = groundplan(folder, "apply", "--all", *OPTIONS)
    assert applied.code == 0, applied.both
    destroyed = groundplan(folder, "destroy", "--all", *OPTIONS)
    assert destroyed.code == 0, destroyed.both
    assert [path for path in cloud(folder) if "project_service/" not in path] == []


def test_offline_a_perimeter_is_planned_before_its_policy_is_known(tmp_path):
    folder = project(tmp_path / "p", BLUEPRINT)
    planned = groundplan(folder, "plan", "ml-dev", "--offline")
    assert planned.code == 0, planned.both


def test_a_real_plan_waits_for_the_foundation():
    built = platform({"ml-prod": {"perimeter": {"mode": "dry-run"}}})
    (made,) = stacks(built, lock(built), ["ml-prod"])
    with pytest.raises(UsageError, match="ml-prod stands in is not known yet") as caught:
        require_policy(made)
    assert "Apply the foundation first" in caught.value.hint
    for spec in ({"mode": "dry-run", "access_policy": "1"}, {"mode": "none"}):
        known = platform({"ml-prod": {"perimeter": spec}})
        require_policy(stacks(known, lock(known), ["ml-prod"])[0])
    assert "require_policy" in Run.plan.__code__.co_names
