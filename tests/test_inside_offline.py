"""Real Terraform applies people, data and keys of two environments, rests, and takes them away again."""

import json

import pytest
from blueprint_factory import platform, stack

from groundplan.engines.terraform.engine import choose_offline
from groundplan.engines.terraform.session import session
from groundplan.engines.terraform.workspace import opened

pytestmark = pytest.mark.terraform

EVERYTHING = {
    "access": {
        "operators": ["group:ops@example.com"],
        "ml_engineers": ["group:eng@example.com"],
        "data_scientists": ["group:data@example.com"],
        "auditors": ["group:audit@example.com"],
        "grants": {"group:finops@example.com": ["roles/monitoring.viewer"]},
        "break_glass": {
            "members": ["group:ops@example.com"],
            "approvers": ["group:leads@example.com"],
            "roles": ["roles/container.admin"],
        },
    },
    "audit_logs": {"retention": "400d"},
    "budget": {"monthly": 5000},
    "encryption": {"mode": "cmek"},
    "storage": {"bigquery": {"features": {"location": "US"}}},
    "secrets": {"hf-token": {}},
    "registry": {"images": {}},
    "workloads": {
        "trainer": {
            "reads": ["secrets/hf-token", "buckets/datasets"],
            "writes": ["bigquery/features", "buckets/checkpoints"],
            "mounts": {"buckets/datasets": {"profile": "training"}},
            "roles": ["roles/monitoring.viewer"],
        }
    },
}


def made(**changes):
    blueprint = platform({"ml-dev": {}, "ml-prod": {}}, **{**EVERYTHING, **changes})
    return [stack(blueprint, name) for name in ("foundation", "ml-dev", "ml-prod")]


def apply(run, stacks, **options):
    for one in stacks:  # the foundation makes what the others are in
        outcome = run.apply(run.plan([one], **options))
        assert outcome.error is None, outcome.error


def test_everything_inside_is_applied_rests_and_goes(tmp_path):
    stacks = made()
    with opened(tmp_path, offline=True) as work, session(work, choose_offline(), stacks) as run:
        apply(run, stacks)
        plans = run.plan(stacks)
        for plan in plans:
            changes = json.loads(plan.json)["resource_changes"]
            assert [
                c["address"] for c in changes if c["change"]["actions"] not in (["no-op"], ["read"])
            ] == []
        assert [plan.changes for plan in plans] == [False] * len(stacks)
    open_ = made(protect=False)
    with opened(tmp_path, offline=True) as work, session(work, choose_offline(), open_) as run:
        apply(run, open_)
        apply(run, reversed(open_), destroy=True)
