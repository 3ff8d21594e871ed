"""What the foundation makes so that environments cannot reach each other."""

import json

import pytest
from blueprint_factory import platform, stack
from cli_factory import cloud, edit, groundplan, project

from groundplan.blueprints.lock import read_lock
from groundplan.engines.terraform.writer import dumps
from groundplan.modules.graph import Reference, references
from groundplan.stacks.administrator import administrator_grants

POLICY = "google_access_context_manager_access_policy"
MEMBER = f"{POLICY}_iam_member"
LIEN = "google_resource_manager_lien"
PERIMETER = {"perimeter": {"mode": "dry-run"}}


def foundation(environments=None, **changes):
    return stack(platform(environments, **changes), "foundation").graph


# Access policies


def test_each_environment_with_a_perimeter_gets_a_policy_for_its_folder_only():
    graph = foundation(
        {"ml-dev": {}, "ml-staging": PERIMETER, "ml-prod": {"perimeter": {"mode": "enforced"}}}
    )
    assert {p.name for p in graph.of_type(POLICY)} == {"ml-staging", "ml-prod"}
    policy = graph[f"{POLICY}.ml-prod"]
    assert policy.attributes == {
        "parent": "organizations/123456789012",
        "title": "llm-ml-prod",
        "scopes": [graph["google_folder.ml-prod"]["name"]],
    }
    assert policy.lifecycle.prevent_destroy
    assert graph.outputs["access_policies"].value == {
        name: graph[f"{POLICY}.{name}"]["name"] for name in ("ml-staging", "ml-prod")
    }


def test_the_policy_of_an_existing_project_reaches_that_project_only():
    graph = foundation({"ml-dev": {**PERIMETER, "project": {"existing": "acme-ml-dev"}}})
    (scope,) = graph[f"{POLICY}.ml-dev"].attributes["scopes"]
    assert scope.parts == ("projects/", graph["data.google_project.ml-dev"]["number"])


@pytest.mark.parametrize(
    "perimeter", [{"mode": "none"}, {"mode": "enforced", "existing": "accessPolicies/1/servicePerimeters/x"}]
)
def test_no_policy_without_a_perimeter_of_ones_own(perimeter):
    graph = foundation({"ml-dev": {"perimeter": perimeter}})
    assert not graph.of_type(POLICY, MEMBER)
    assert graph.outputs["access_policies"].value == {}


# Identities


def accounts(graph, resource):
    """The environments whose identities a resource names."""
    named = (one.resource for one in references(resource.attributes))
    return {r.name.partition("_")[0] for r in named if r.type == "google_service_account"}


def target(graph, resource):
    """What a grant is on, as the name of the environment that it belongs to."""
    for key in ("managed_folder", "bucket", "project", "name", "service_account_id"):
        held = resource.attributes.get(key)
        if isinstance(held, Reference):
            return held.resource.name.removeprefix("state_").partition("_")[0]
    raise AssertionError(f"{resource.address} grants on something that is nobody's")


@pytest.mark.parametrize("shared", [False, True])
def test_an_identity_gets_roles_on_its_own_environment_only(shared):
    made = platform(**PERIMETER)
    if shared:
        made = made.model_copy(update={"state": made.state.model_copy(update={"bucket": "acme-states"})})
    graph = stack(made, "foundation").graph
    grants = [r for r in graph if r.type.endswith("_iam_member") and accounts(graph, r)]
    assert {r.type for r in grants} >= {"google_project_iam_member", MEMBER}
    for grant in grants:
        assert accounts(graph, grant) == {target(graph, grant)}, grant.address


def test_the_applying_identity_edits_its_policy_and_the_planning_one_reads_it():
    graph = foundation(**PERIMETER)
    assert {r.name: r.attributes["role"] for r in graph.of_type(MEMBER) if "prod" in r.name} == {
        "ml-prod_apply": "roles/accesscontextmanager.policyEditor",
        "ml-prod_plan": "roles/accesscontextmanager.policyReader",
    }


# Liens, tags, contacts


def test_protected_projects_have_a_lien_that_goes_before_them():
    graph = foundation({"ml-dev": {}, "ml-prod": {}, "eval": {"tier": "staging", "protect": False}})
    assert {lien.name for lien in graph.of_type(LIEN)} == {"foundation", "ml-prod"}
    for lien in graph.of_type(LIEN):
        assert lien.attributes["restrictions"] == ["resourcemanager.projects.delete"]
        assert graph[f"google_project.{lien.name}"] in graph.ancestors(lien)
        assert not lien.lifecycle.prevent_destroy, "it goes when protection is lifted"
    assert not foundation({"ml-dev": {}}).of_type(LIEN)
    existing = foundation({"ml-prod": {"project": {"existing": "acme-ml-prod"}}})
    assert {lien.name for lien in existing.of_type(LIEN)} == {"foundation"}


def test_tags_are_defined_once_and_bound_to_each_folder():
    tags = {"cost-center": "ml", "stage": "tagValues/12"}
    graph = foundation({"ml-dev": {}, "ml-prod": {"tags": {"cost-center": "ml-1200"}}}, tags=tags)
    (key,) = graph.of_type("google_tags_tag_key")
    assert (key.attributes["short_name"], key.attributes["parent"]) == (
        "cost-center", "organizations/123456789012",
    )  # fmt: skip
    values = graph.of_type("google_tags_tag_value")
    assert {v.attributes["short_name"] for v in values} == {"ml", "ml-1200"}
    assert {v.attributes["parent"] for v in values} == {key["id"]}
    bound = {b.name: b.attributes for b in graph.of_type("google_tags_tag_binding")}
    assert {name: b["tag_value"] for name, b in bound.items()} == {
        "ml-dev_cost-center": graph["google_tags_tag_value.cost-center_ml"]["id"],
        "ml-dev_stage": "tagValues/12",
        "ml-prod_cost-center": graph["google_tags_tag_value.cost-center_ml-1200"]["id"],
        "ml-prod_stage": "tagValues/12",
    }
    for name, b in bound.items():
        host, folder = b["parent"].parts
        assert host == "//cloudresourcemanager.googleapis.com/"
        assert folder == graph[f"google_folder.{name.partition('_')[0]}"]["name"]
    assert not [p for p in graph.of_type("google_project") if "tags" in p.attributes]


def test_an_existing_project_is_tagged_itself():
    graph = foundation({"ml-dev": {"project": {"existing": "acme-ml-dev"}, "tags": {"stage": "dev"}}})
    (binding,) = graph.of_type("google_tags_tag_binding")
    *literals, number = binding.attributes["parent"].parts
    assert "".join(literals) == "//cloudresourcemanager.googleapis.com/projects/"
    assert number == graph["data.google_project.ml-dev"]["number"]


def test_each_address_is_one_contact_with_all_its_topics():
    contacts = {
        "security": ["sec@example.com", "ops@example.com"],
        "product-updates": ["sec@example.com"],
        "all": ["ops@example.com"],
    }
    graph = foundation({"ml-dev": {"contacts": contacts}, "ml-prod": {}})
    found = {c.attributes["email"]: c for c in graph.of_type("google_essential_contacts_contact")}
    topics = {email: c.attributes["notification_category_subscriptions"] for email, c in found.items()}
    assert topics == {"ops@example.com": ["ALL"], "sec@example.com": ["PRODUCT_UPDATES", "SECURITY"]}
    for contact in found.values():
        assert contact.attributes["parent"] == graph["google_folder.ml-dev"]["name"]
    assert "google_project_service.foundation_essentialcontacts" in graph
    assert "google_project_service.foundation_essentialcontacts" not in foundation()


def test_addresses_that_differ_little_are_different_contacts():
    emails = ["a.b@example.com", "a-b@example.com", "a_b@example.com", "a+b@example.com"]
    graph = foundation({"ml-dev": {"contacts": {"all": emails}}})
    assert len(graph.of_type("google_essential_contacts_contact")) == 4


def test_order_in_the_file_changes_nothing():
    def turned(value):
        return {key: turned(value[key]) for key in reversed(value)} if isinstance(value, dict) else value

    spec = {
        **PERIMETER,
        "tags": {"a": "x", "b": "y"},
        "contacts": {"security": ["a@example.com"], "legal": ["b@example.com"]},
        "org_policies": {"preset": "hardened", "override": {"a.b": "deny-all", "compute.x": True}},
        "automation": {"github": "example/ml"},
    }
    there = {"ml-dev": spec, "ml-prod": {**spec, "automation": {"gitlab": "example/ml"}}}
    assert dumps(stack(platform(there), "foundation")) == dumps(stack(platform(turned(there)), "foundation"))


def test_an_administrator_is_told_the_roles_that_this_takes():
    spec = {
        "tags": {"a": "x"},
        "contacts": {"all": ["a@example.com"]},
        "org_policies": {"preset": "hardened"},
    }
    grants = administrator_grants(stack(platform(**PERIMETER, **spec), "foundation"))
    roles = [grant.role for grant in grants]
    assert len(roles) == len({(grant.role, grant.where) for grant in grants})
    assert {*roles} >= {
        "roles/accesscontextmanager.policyAdmin",
        "roles/essentialcontacts.admin",
        "roles/orgpolicy.policyAdmin",
        "roles/resourcemanager.tagAdmin",
        "roles/resourcemanager.tagUser",
    }


# All of it at once

BLUEPRINT = """\
apiVersion: groundplan/v1
name: tiny
organization: "123456789012"
foundation: {project: tiny-seed}
environments:
  ml-prod:
    billing_account: 01AB23-CD45EF-678901
    automation: {github: example/tiny}
    org_policies: {override: {compute.skipDefaultNetworkCreation: true, custom.gkeNodeAutoRepair: true}}
    contacts: {security: [security@example.com]}
    tags: {cost-center: ml}
    perimeter: {mode: enforced}
    protect: true
"""


@pytest.mark.terraform
def test_a_foundation_is_applied_learned_from_unprotected_and_destroyed(tmp_path):
    folder = project(tmp_path / "tiny", BLUEPRINT)
    applied = groundplan(folder, "apply", "foundation", "--offline", "--auto-approve")
    assert applied.code == 0, applied.both
    learned = read_lock(folder / ".groundplan" / "offline" / "learned.lock.yaml")
    policy = learned.environment("ml-prod").access_policy
    assert json.loads(cloud(folder)[f"{POLICY}/{policy}.json"])["attributes"]["title"] == "tiny-ml-prod"
    made = {path.partition("/")[0] for path in cloud(folder)}
    assert made >= {MEMBER, LIEN, "google_org_policy_policy", "google_tags_tag_binding"}

    edit(folder, "protect: true", "protect: false")
    lifted = groundplan(folder, "apply", "foundation", "--offline", "--auto-approve", "--no-verify")
    assert lifted.code == 0, lifted.both
    assert LIEN not in {path.partition("/")[0] for path in cloud(folder)}
    gone = groundplan(folder, "destroy", "foundation", "--offline", "--auto-approve")
    assert gone.code == 0, gone.both
    assert {path.partition("/")[0] for path in cloud(folder)} <= {"google_project_service"}
