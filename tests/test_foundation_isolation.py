"""What the foundation makes so that environments cannot reach each other."""

import pytest
from blueprint_factory import platform, stack

from groundplan.modules.graph import Reference, references

POLICY = "google_access_context_manager_access_policy"
MEMBER = f"{POLICY}_iam_member"
PERIMETER = {"perimeter": {"mode": "dry-run"}}


def foundation(environments=None, **changes):
    return stack(platform(environments, **changes), "foundation").graph


def owner(graph, resource):
    """The environment that a resource of the foundation is for, by what it depends on."""
    projects = {r.name for r in graph.ancestors(resource) if r.type == "google_project"}
    (name,) = projects - {"foundation"} or {"foundation"}
    return name


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
