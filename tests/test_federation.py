"""Pipelines become the identities of their own environment, and of no other."""

import re

import pytest
from blueprint_factory import lock, platform, stack

from groundplan.modules.graph import Reference
from groundplan.stacks.catalog import stacks

POOL = "google_iam_workload_identity_pool"
PROVIDER = f"{POOL}_provider"
MEMBER = "google_service_account_iam_member"
GITHUB = {"automation": {"github": "example/ml-platform"}}
GITLAB = {"automation": {"gitlab": "example/ml/platform", "branch": "stable"}}


def foundation(environments=None, **changes):
    return stack(platform(environments, **changes), "foundation").graph


def members(graph):
    """Address of each grant → who gets it, with the pool written out."""
    found = {}
    for grant in graph.of_type(MEMBER):
        prefix, pool, rest = grant.attributes["member"].parts
        assert prefix == "principalSet://iam.googleapis.com/"
        assert pool == graph[f"{POOL}.ci"]["name"]
        found[grant.name] = rest
    return found


def test_planning_is_bound_to_the_repository_and_applying_to_branch_and_environment():
    graph = foundation({"ml-dev": GITHUB, "ml-prod": GITLAB})
    assert members(graph) == {
        "ml-dev_plan_pipeline": "/attribute.repository/example/ml-platform",
        "ml-dev_apply_pipeline": "/attribute.deployment/example/ml-platform:refs/heads/main:ml-dev",
        "ml-prod_plan_pipeline": "/attribute.repository/example/ml/platform",
        "ml-prod_apply_pipeline": "/attribute.deployment/example/ml/platform:branch:stable:ml-prod",
    }


def test_a_pipeline_becomes_the_two_accounts_of_its_environment_only():
    graph = foundation(**GITHUB)
    for grant in graph.of_type(MEMBER):
        environment, task, _ = grant.name.split("_")
        assert grant.attributes["role"] == "roles/iam.workloadIdentityUser"
        account = grant.attributes["service_account_id"]
        assert account == graph[f"google_service_account.{environment}_{task}"]["name"]
    wide = [r for r in graph if r.type.startswith(("google_project_iam", "google_folder_iam"))]
    assert wide
    assert not [r for r in wide if "workloadIdentity" in r.attributes["role"]]


def claims(mapping, token):
    """What IAM makes of a token by expressions that are sums of texts, claims and one ``has``."""

    def value(part):
        part = part.strip()
        optional = re.fullmatch(r"\(has\(assertion\.(\w+)\) \? assertion\.\1 : ''\)", part)
        if optional:
            return token.get(optional[1], "")
        return part[1:-1] if part.startswith("'") else token[part.removeprefix("assertion.")]

    return {name: "".join(map(value, re.split(r" \+ ", text))) for name, text in mapping.items()}


@pytest.mark.parametrize(
    ("automation", "token"),
    [
        (GITHUB, {"sub": "s", "repository": "example/ml-platform", "ref": "refs/heads/main"}),
        (GITLAB, {"sub": "s", "project_path": "example/ml/platform", "ref": "stable", "ref_type": "branch"}),
    ],
)
def test_what_tokens_say_is_what_the_grants_name(automation, token):
    graph = foundation({"ml-dev": automation, "ml-prod": automation})
    (provider,) = graph.of_type(PROVIDER)
    mapping = provider.attributes["attribute_mapping"]

    def may(**changes):
        held = claims(mapping, token | changes)
        return {
            name.removesuffix("_pipeline")
            for name, member in members(graph).items()
            if member
            == f"/attribute.{member.split('.')[1].split('/')[0]}/"
            + held[f"attribute.{member.split('.')[1].split('/')[0]}"]
        }

    plans = {"ml-dev_plan", "ml-prod_plan"}
    assert may() == plans, "a job without a CI environment applies nothing"
    assert may(environment="ml-dev") == plans | {"ml-dev_apply"}
    assert may(environment="ml-dev", ref="refs/heads/other") == plans
    assert may(environment="ml-dev", ref="refs/pull/7/merge") == plans
    if "ref_type" in token:
        assert may(environment="ml-dev", ref_type="tag") == plans


def test_providers_take_tokens_of_the_named_repositories_only():
    other = {"automation": {"github": "example/another"}}
    graph = foundation({"ml-dev": GITHUB, "ml-staging": other, "ml-prod": GITLAB})
    assert {p.name: p.attributes["attribute_condition"] for p in graph.of_type(PROVIDER)} == {
        "github": "assertion.repository in ['example/another', 'example/ml-platform']",
        "gitlab": "assertion.project_path in ['example/ml/platform']",
    }
    assert graph["google_iam_workload_identity_pool_provider.gitlab"].attributes["oidc"] == {
        "issuer_uri": "https://gitlab.com"
    }


def test_the_pool_is_in_the_seed_project_and_gets_a_new_name_with_a_generation():
    graph = foundation(**GITHUB)
    pool = graph[f"{POOL}.ci"]
    assert pool.attributes["project"] == Reference(graph["google_project.foundation"], "project_id")
    assert pool.attributes["workload_identity_pool_id"] == "ci-llm"
    made = platform(**GITHUB)
    again = made.foundation.model_copy(update={"generation": 2})
    graph = stack(made.model_copy(update={"foundation": again}), "foundation").graph
    assert graph[f"{POOL}.ci"].attributes["workload_identity_pool_id"] == "ci-llm-g2"


def test_nothing_is_federated_that_names_no_repository():
    graph = foundation()
    assert not graph.of_type(POOL, PROVIDER, MEMBER)
    assert graph.outputs["federation"].value == {}
    some = foundation({"ml-dev": {}, "ml-prod": GITHUB})
    assert set(some.outputs["federation"].value) == {"ml-prod"}
    assert {g.name for g in some.of_type(MEMBER)} == {"ml-prod_plan_pipeline", "ml-prod_apply_pipeline"}


def test_no_stack_makes_a_key():
    made = platform(**GITHUB)
    for built in stacks(made, lock(made)):
        assert not [r.address for r in built.graph if "service_account_key" in r.type]
