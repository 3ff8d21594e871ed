"""Crossings: one workload of one environment reads one thing of another, and nothing more."""

import json

import pytest
from blueprint_factory import SYSTEM, blueprint, stack

from groundplan.blueprints.reader import read
from groundplan.engines.terraform.engine import choose_offline
from groundplan.engines.terraform.session import session
from groundplan.engines.terraform.workspace import opened
from groundplan.modules.graph import Reference, Text
from groundplan.stacks.catalog import stack_names

PROMOTE = {"from": "ml-staging", "to": "ml-prod", "read": "buckets/models", "by": "workloads/promoter"}
MEMBER = "google_storage_bucket_iam_member"
NUMBERS = {"ml-prod": "222222222222"}


def made(crossings=None, environments=("ml-staging", "ml-prod"), **changes):
    return blueprint(
        {name: {} for name in environments},
        defaults={
            "folder": "345678901234",
            "billing_account": "01AB23-CD45EF-678901",
            "clusters": {"main": {"zones": ["a"], "node_pools": {"system": SYSTEM}}},
            "storage": {"buckets": {"models": {}}, "bigquery": {"features": {}}},
            "workloads": {"promoter": {"namespace": "serving"}},
            **changes,
        },
        organization="123456789012",
        foundation={"project": "llm-seed"},
        crossings={"promote": PROMOTE} if crossings is None else crossings,
    )


def crossed(graph):
    return [resource for resource in graph if resource.origin[:1] == ("crossings",)]


def test_the_environment_that_is_read_grants_one_role_on_one_bucket():
    (grant,) = crossed(stack(made(), "ml-staging", NUMBERS).graph)
    assert grant.address == f"{MEMBER}.crossing_promote_ml-prod_promoter"
    assert grant.attributes["role"] == "roles/storage.objectViewer"
    assert grant.attributes["bucket"].resource.address == "google_storage_bucket.models"
    assert grant.attributes["member"] == (
        "principal://iam.googleapis.com/projects/222222222222/locations/global/workloadIdentityPools/"
        "llm-ml-prod.svc.id.goog/subject/ns/serving/sa/promoter"
    )
    assert not crossed(stack(made(), "ml-prod", NUMBERS).graph)
    assert not crossed(stack(made(), "foundation").graph)


def test_a_dataset_is_read_alike():
    (grant,) = crossed(
        stack(made({"c": {**PROMOTE, "read": "bigquery/features"}}), "ml-staging", NUMBERS).graph
    )
    assert grant.type == "google_bigquery_dataset_iam_member"
    assert grant.attributes["role"] == "roles/bigquery.dataViewer"


def test_a_number_that_nobody_knows_yet_is_looked_up():
    grant, lookup = sorted(crossed(stack(made(), "ml-staging").graph), key=lambda one: one.mode, reverse=True)
    assert lookup.address == "data.google_project.llm-ml-prod"
    assert isinstance(grant.attributes["member"], Text)
    assert Reference(lookup, "number") in grant.attributes["member"].parts


def test_who_reads_comes_before_who_is_read():
    three = ("ml-dev", "ml-staging", "ml-prod")
    assert stack_names(made({}, three)) == ("foundation", *three)
    assert stack_names(made(None, three)) == ("foundation", "ml-dev", "ml-prod", "ml-staging")
    chain = {"a": {**PROMOTE, "from": "ml-dev", "to": "ml-staging"}, "b": PROMOTE}
    assert stack_names(made(chain, three)) == ("foundation", "ml-prod", "ml-staging", "ml-dev")
    circle = {"a": PROMOTE, "b": {**PROMOTE, "from": "ml-prod", "to": "ml-staging"}}
    assert sorted(stack_names(made(circle))) == ["foundation", "ml-prod", "ml-staging"]


def test_a_crossing_stands_at_the_top_of_the_file_whoever_asks():
    text = """\
apiVersion: groundplan/v1
name: llm
crossings: {promote: {from: ml-dev, to: ml-prod, read: buckets/data, by: workloads/job}}
defaults:
  clusters: {main: {node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}
  storage: {buckets: {data: {}}}
  workloads: {job: {}}
environments: {ml-dev: {}, ml-prod: {}}
"""
    position = read("x.yaml", text=text).position_of("ml-dev", ("crossings", "promote"))
    assert position.line == 3


@pytest.mark.terraform
def test_a_crossing_is_applied_rests_and_goes(tmp_path):
    def stacks(**changes):
        whole = made(**changes)
        return [stack(whole, name) for name in stack_names(whole)]

    with opened(tmp_path, offline=True) as work, session(work, choose_offline(), stacks()) as run:
        for one in stacks():
            outcome = run.apply(run.plan([one]))
            assert outcome.error is None, outcome.error
        assert [plan.changes for plan in run.plan(stacks())] == [False] * 3
        (plan,) = run.plan(stacks()[-1:])
        found = json.loads(plan.json)["planned_values"]["root_module"]["resources"]
        (grant,) = [one["values"] for one in found if one["name"] == "crossing_promote_ml-prod_promoter"]
        assert (grant["bucket"], grant["role"]) == ("llm-ml-staging-models", "roles/storage.objectViewer")
        assert "llm-ml-prod.svc.id.goog/subject/ns/serving/sa/promoter" in grant["member"]
    open_ = stacks(protect=False)
    with opened(tmp_path, offline=True) as work, session(work, choose_offline(), open_) as run:
        for one in open_:
            assert run.apply(run.plan([one])).error is None
        for one in reversed(open_):
            outcome = run.apply(run.plan([one], destroy=True))
            assert outcome.error is None, outcome.error
