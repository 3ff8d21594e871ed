"""People in an environment: who gets which role where, and how little that is above development."""

import pytest
from blueprint_factory import only, platform, stack

from groundplan.engines.terraform.writer import document
from groundplan.facts.personas import personas
from groundplan.modules.people import normalised, principal_name
from groundplan.stacks.access import access
from groundplan.stacks.administrator import administrator_grants

PROJECT = "google_project_iam_member"
ACCESS = {
    "operators": ["group:ops@example.com"],
    "ml_engineers": ["group:eng@example.com"],
    "data_scientists": ["group:data@example.com"],
    "auditors": ["group:audit@example.com"],
}
THINGS = {
    "storage": {"buckets": {"raw": {"existing": "acme-raw"}}, "bigquery": {"features": {}}},
    "registry": {"images": {}},
}


def people(graph, type=PROJECT):
    """(principal, role, what) of every grant to people."""
    return {
        (r.attributes["member"], r.attributes["role"].removeprefix("roles/"), r.name.split("_")[0])
        for r in graph.of_type(type)
        if isinstance(r.attributes["member"], str) and r.attributes["member"].startswith("group:")
    }


@pytest.fixture(scope="module")
def made():
    return platform(access=ACCESS, **THINGS)


def of(graph, principal, environment):
    return {role for who, role, where in people(graph) if (who, where) == (principal, environment)}


def test_engineers_work_in_development_look_in_staging_and_hardly_look_in_production(made):
    graph = stack(made, "foundation").graph
    engineer = "group:eng@example.com"
    assert "container.developer" in of(graph, engineer, "ml-dev")
    assert "container.viewer" in of(graph, engineer, "ml-staging")
    assert of(graph, engineer, "ml-prod") == {
        "browser", "container.clusterViewer", "logging.viewer", "monitoring.viewer",
    }  # fmt: skip
    buckets = {
        env: {role for _, role, _ in people(stack(made, env).graph, "google_storage_bucket_iam_member")}
        for env in made.environments
    }
    assert buckets == {
        "ml-dev": {"storage.objectUser", "storage.objectViewer"},
        "ml-staging": {"storage.objectViewer"},
        "ml-prod": set(),
    }


def test_nobody_but_operators_changes_anything_above_development():
    changing = ("admin", "editor", "developer", "writer", "user")
    for tier in ("staging", "production"):
        for persona, rights in personas().tiers[tier].items():
            roles = {*rights.project, *rights.things.values()}
            changes = {role for role in roles if role.lower().endswith(changing)}
            assert persona == "operators" or not changes, (tier, persona, changes)
    everywhere = {r for tier in personas().tiers.values() for rights in tier.values() for r in rights.project}
    assert not everywhere & {"roles/owner", "roles/editor", "roles/viewer"}
    assert not {role for role in everywhere if role.startswith("roles/iam.") and "Reviewer" not in role}


def test_data_scientists_exist_in_development_only(made):
    graph = stack(made, "foundation").graph
    scientist = "group:data@example.com"
    assert of(graph, scientist, "ml-dev") == {"browser", "bigquery.jobUser"}
    assert not of(graph, scientist, "ml-staging") | of(graph, scientist, "ml-prod")
    assert people(stack(made, "ml-dev").graph, "google_bigquery_dataset_iam_member") == {
        (scientist, "bigquery.dataViewer", "features"),
        ("group:eng@example.com", "bigquery.dataEditor", "features"),
    }


def test_the_foundation_grants_on_projects_so_that_no_pipeline_can(made):
    for env in made.environments:
        assert not people(stack(made, env).graph)
    alone = platform({"ml-dev": {}}, foundation=False, access=ACCESS)
    assert ("group:eng@example.com", "container.developer", "ml-dev") in people(stack(alone).graph)


def test_what_is_only_used_is_not_opened_to_people(made):
    opened = people(stack(made, "ml-dev").graph, "google_storage_bucket_iam_member")
    assert {what for _, _, what in opened} == {"checkpoints", "datasets"}


def test_a_person_in_two_personas_gets_each_role_once_whatever_the_case():
    both = {
        "operators": ["user:Ann@Example.com", "user:ann@example.com"],
        "auditors": ["user:ANN@example.com"],
        "grants": {"user:ann@EXAMPLE.com": ["roles/browser", "roles/pubsub.viewer"]},
    }
    graph = stack(platform({"ml-dev": {}}, foundation=False, access=both)).graph
    found = [r for r in graph.of_type(PROJECT) if r.name.startswith("ml-dev_user-")]
    assert {r.attributes["member"] for r in found} == {"user:ann@example.com"}
    roles = [r.attributes["role"] for r in found]
    assert len(roles) == len(set(roles))
    assert {"roles/container.admin", "roles/cloudasset.viewer", "roles/pubsub.viewer"} <= set(roles)
    assert normalised("principal://iam.googleapis.com/X") == "principal://iam.googleapis.com/X"


def test_names_of_people_are_readable_and_never_the_same():
    names = [
        principal_name(f"group:{name}@example.com") for name in ("a.b", "a-b", "a_b", "x" * 90, "x" * 91)
    ]
    assert names[0].startswith("group-a-b-example-com-")
    assert len(set(names)) == len(names)


def test_the_order_of_people_changes_nothing(made):
    turned = {"access": {key: list(reversed(value)) * 2 for key, value in reversed(ACCESS.items())}}
    again = platform(**turned, **THINGS)
    for name in ("foundation", "ml-dev"):
        assert document(stack(made, name)) == document(stack(again, name))


def test_each_grant_knows_the_line_that_asks_for_it(made):
    graph = stack(made, "foundation").graph
    origins = {r.origin for r in graph.of_type(PROJECT) if "group-eng" in r.name}
    assert origins == {
        ("environments", env, "access", "ml_engineers") for env in ("ml-dev", "ml-staging", "ml-prod")
    }


def test_audit_logs_and_budget_are_out_of_an_environments_own_hands():
    made = platform(audit_logs={"retention": "400d"}, budget={"monthly": 5000, "alerts": [1.0, 0.5]})
    own = {"google_project_iam_audit_config", "google_logging_project_sink", "google_billing_budget"}
    assert not stack(made, "ml-prod").graph.of_type(*own)
    graph = stack(made, "foundation").graph
    budget = graph["google_billing_budget.ml-prod"]
    assert budget.attributes["amount"]["specified_amount"] == {"units": "5000"}
    assert (
        budget.attributes["budget_filter"]["projects"][0].parts[1]
        == graph["google_project.ml-prod"]["number"]
    )
    assert [rule["threshold_percent"] for rule in budget.attributes["threshold_rules"]] == [0.5, 1.0]
    apis = {r.address for r in graph.ancestors(budget) if r.type == "google_project_service"}
    assert "google_project_service.foundation_billingbudgets" in apis
    bucket = graph["google_logging_project_bucket_config.ml-prod_audit"]
    assert bucket.attributes["retention_days"] == 400
    assert bucket.lifecycle.prevent_destroy
    assert not graph["google_logging_project_bucket_config.ml-dev_audit"].lifecycle.prevent_destroy
    sink = graph["google_logging_project_sink.ml-prod_audit"].attributes
    assert sink["destination"].parts[1].resource is bucket
    assert "data_access" in sink["filter"]
    audited = {r.attributes["service"] for r in graph.of_type("google_project_iam_audit_config")}
    assert {"storage.googleapis.com", "secretmanager.googleapis.com", "cloudkms.googleapis.com"} <= audited


def test_without_a_foundation_the_environment_has_them_itself():
    made = platform({"ml-dev": {}}, foundation=False, audit_logs={"retention": "30d"}, budget={"monthly": 5})
    graph = stack(made).graph
    assert graph["google_logging_project_bucket_config.ml-dev_audit"].attributes["retention_days"] == 30
    assert "google_project_service.billingbudgets" in graph


EMERGENCY = {
    "members": ["group:Oncall@example.com", "group:oncall@example.com"],
    "approvers": ["group:leads@example.com"],
    "roles": ["roles/logging.admin", "roles/container.admin"],
}


def test_emergency_access_is_asked_for_approved_and_ends():
    made = platform({"ml-dev": {}, "ml-prod": {"access": {"break_glass": EMERGENCY}}})
    graph = stack(made, "foundation").graph
    entitlement = only(graph, "google_privileged_access_manager_entitlement")
    asked = document(stack(made, "foundation"))["resource"][entitlement.type]["ml-prod"]
    project = "${google_project.ml-prod.project_id}"
    assert (asked["parent"], asked["location"]) == (f"projects/{project}", "global")
    assert (asked["entitlement_id"], asked["max_request_duration"]) == ("break-glass", "14400s")
    assert asked["eligible_users"] == [{"principals": ["group:oncall@example.com"]}]
    access = asked["privileged_access"][0]["gcp_iam_access"][0]
    assert access["resource"] == f"//cloudresourcemanager.googleapis.com/projects/{project}"
    assert access["role_bindings"] == [{"role": "roles/container.admin"}, {"role": "roles/logging.admin"}]
    (step,) = asked["approval_workflow"][0]["manual_approvals"][0]["steps"]
    assert step["approvers"] == [{"principals": ["group:leads@example.com"]}]
    assert asked["requester_justification_config"] == [{"unstructured": [{}]}]
    before = {r.address for r in graph.ancestors(entitlement)}
    assert {
        "google_project_service.ml-prod_privilegedaccessmanager",
        "google_project_service.foundation_privilegedaccessmanager",
        "google_project_iam_member.ml-prod_break-glass-agent",
    } <= before
    assert "google_project_service.ml-dev_privilegedaccessmanager" not in graph
    assert not stack(made, "ml-prod").graph.of_type(entitlement.type)
    assert not {who for who, _, _ in people(graph)} & {"group:oncall@example.com", "group:leads@example.com"}


def test_the_agent_of_emergency_access_is_let_into_one_project_only():
    made = platform({"ml-dev": {}, "ml-prod": {"access": {"break_glass": EMERGENCY}}})
    agent = stack(made, "foundation").graph["google_project_iam_member.ml-prod_break-glass-agent"].attributes
    assert agent["member"] == "serviceAccount:service-org-123456789012@gcp-sa-pam.iam.gserviceaccount.com"
    assert agent["role"] == "roles/privilegedaccessmanager.projectServiceAgent"
    assert agent["project"].resource.address == "google_project.ml-prod"


def test_without_a_foundation_the_environment_holds_its_emergency_access():
    made = platform({"ml-dev": {}}, foundation=False, access={"break_glass": EMERGENCY})
    graph = stack(made).graph
    assert only(graph, "google_privileged_access_manager_entitlement").name == "ml-dev"
    assert "google_project_service.privilegedaccessmanager" in graph


def test_an_administrator_needs_a_role_for_emergency_access_to_a_project_that_exists():
    emergency = {"access": {"break_glass": EMERGENCY}}
    made = platform({"ml-dev": emergency, "ml-prod": {**emergency, "project": {"existing": "acme-prod"}}})
    grants = administrator_grants(stack(made, "foundation"))
    role = "roles/privilegedaccessmanager.admin"
    assert [grant.where for grant in grants if grant.role == role] == ["projects/acme-prod"]


def test_access_tells_what_may_be_asked_for():
    made = platform({"ml-dev": {}, "ml-prod": {"access": {"break_glass": EMERGENCY}}})
    asked = [one for one in access(stack(made, "foundation")) if one.principal == "group:oncall@example.com"]
    assert [(one.role, one.resource, one.environment) for one in asked] == [
        (role, "project llm-ml-prod", "ml-prod") for role in ("roles/container.admin", "roles/logging.admin")
    ]
    assert {one.condition for one in asked} == {"break-glass: asked for and approved"}
