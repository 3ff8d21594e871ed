"""``groundplan access``: who can do what, and which line of the blueprint says so."""

import pytest
from blueprint_factory import platform, stack
from cli_factory import groundplan, project

from groundplan.stacks.access import access
from groundplan.stacks.catalog import stack_names

TEXT = """\
apiVersion: groundplan/v1
name: llm
organization: "123456789012"
foundation: {project: llm-seed}
defaults:
  billing_account: 01AB23-CD45EF-678901
  clusters: {main: {node_pools: {system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}}}}
  storage: {buckets: {datasets: {}}}
  secrets: {hf-token: {}}
  access:
    ml_engineers: [group:ml-eng@example.com]
  workloads:
    trainer: {namespace: training, reads: [buckets/datasets, secrets/hf-token]}
environments:
  ml-dev:
  ml-prod:
    access:
      grants:
        "user:ann@example.com": [roles/monitoring.viewer]
"""


@pytest.fixture
def folder(tmp_path):
    return project(tmp_path, TEXT)


def listed(folder, *options):
    return groundplan(folder, "access", *options, "--json").json


def test_every_grant_of_every_stack_is_shown_once():
    made = platform(access={"auditors": ["group:audit@example.com"]}, encryption={"mode": "cmek"})
    for name in stack_names(made):
        graph = stack(made, name)
        grants = [
            r.address for r in graph.graph if r.mode == "managed" and "iam" in r.type and "member" in r.type
        ]
        assert sorted(grant.address for grant in access(graph)) == sorted(grants)
        for grant in access(graph):
            assert all((grant.principal, grant.role, grant.resource)), grant
            assert grant.role.startswith(("roles/", "groundplan"))


def test_people_are_shown_with_the_line_that_names_them(folder):
    found = listed(folder, "ml-dev", "--who", "ML-ENG")
    assert {grant["line"] for grant in found} == {TEXT[: TEXT.index("group:ml-eng")].count("\n") + 1}
    assert {(grant["role"], grant["resource"]) for grant in found} >= {
        ("roles/container.developer", "project llm-ml-dev"),
        ("roles/storage.objectUser", "bucket llm-ml-dev-datasets"),
    }
    assert {grant["environment"] for grant in found} == {"ml-dev"}


def test_who_can_read_a_secret(folder):
    found = listed(folder, "--what", "secret hf-token")
    assert {(grant["environment"], grant["principal"].rpartition("/ns/")[2]) for grant in found} == {
        ("ml-dev", "training/sa/trainer"),
        ("ml-prod", "training/sa/trainer"),
    }
    assert {grant["line"] for grant in found} == {TEXT[: TEXT.index("trainer:")].count("\n") + 1}


def test_a_grant_in_one_environment_is_in_no_other(folder):
    found = listed(folder, "--who", "ann")
    assert [(grant["environment"], grant["stack"]) for grant in found] == [("ml-prod", "foundation")]
    assert found[0]["line"] == TEXT[: TEXT.index("user:ann")].count("\n") + 1


def test_pipelines_and_their_conditions_are_shown(folder):
    found = listed(folder, "ml-dev", "--who", "-apply@")
    assert {grant["principal"] for grant in found} == {
        "serviceAccount:llm-ml-dev-apply@llm-seed.iam.gserviceaccount.com"
    }
    conditions = {grant["role"]: grant["condition"] for grant in found}
    assert conditions["roles/resourcemanager.projectIamAdmin"] == "only-roles-of-nodes-and-workloads"
    assert any(grant["resource"].startswith("bucket llm-seed-state-ml-dev") for grant in found)


def test_people_read_a_table(folder):
    shown = groundplan(folder, "access", "ml-prod", "--who", "ann").out.splitlines()
    assert shown[:2] == ["ml-prod", "  user:ann@example.com"]
    assert shown[2].split()[:3] == ["roles/monitoring.viewer", "project", "llm-ml-prod"]
    assert "groundplan.yaml:19" in shown[2]


def test_nothing_found_is_said(folder):
    refused = groundplan(folder, "access", "--who", "nobody")
    assert refused.code == 1
    assert "nobody" in refused.err
