"""Real Terraform plans and applies production of each shipped accelerator blueprint, and then rests."""

import dataclasses
import json

import pytest

from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.lock import lock_path, read_lock
from groundplan.blueprints.reader import read
from groundplan.engines.terraform.engine import choose_offline
from groundplan.engines.terraform.session import session
from groundplan.engines.terraform.workspace import opened
from groundplan.stacks.catalog import stacks

pytestmark = pytest.mark.terraform

NAMES = ("batch-flex", "serving-shared", "training-h100", "training-h200", "training-tpu")
POOL = "google_container_node_pool"


def production(name):
    """Production of a shipped blueprint, under the blueprint's name."""
    path = library_blueprints()[name]
    (stack,) = stacks(read(path).blueprint, read_lock(lock_path(path)), ["ml-prod"])
    return dataclasses.replace(stack, name=name)


def test_production_is_applied_and_then_nothing_is_to_do(tmp_path):
    """One session for all: the engine and the stand-in start once."""
    made = [production(name) for name in NAMES]
    with opened(tmp_path, offline=True) as work, session(work, choose_offline(), made) as run:
        plans = run.plan(made)
        for plan in plans:
            changes = json.loads(plan.json)["resource_changes"]
            managed = {tuple(c["change"]["actions"]) for c in changes if c["mode"] == "managed"}
            assert managed == {("create",)}
        assert run.apply(plans).error is None
        again = run.plan(made)
    assert [plan.changes for plan in again] == [False] * len(made)
    found = {}
    for stack, plan in zip(made, again, strict=True):
        resources = json.loads(plan.json)["planned_values"]["root_module"]["resources"]
        managed = {resource.address for resource in stack.graph if resource.mode == "managed"}
        assert {one["address"] for one in resources} == managed
        found[stack.name] = pools(resources)
    slices_are_whole(found["training-tpu"])
    nodes_are_connected(found["training-h100"])
    blocks_are_consumed(found["training-h200"])
    batch_waits(found["batch-flex"])
    gpus_are_shared(found["serving-shared"])


def pools(resources):
    """GKE pool → its values in the state."""
    return {one["values"]["name"]: one["values"] for one in resources if one["type"] == POOL}


def slices_are_whole(found):
    for name in ("v5p-1", "v5p-2"):
        assert found[name]["node_count"] == 16
        (placement,) = found[name]["placement_policy"]
        assert (placement["type"], placement["tpu_topology"]) == ("COMPACT", "4x4x4")


def nodes_are_connected(found):
    (network,) = found["h100"]["network_config"]
    names = [one["network"] for one in network["additional_node_network_configs"]]
    assert names == [f"h100-main-a3-megagpu-8g-{number}" for number in range(1, 9)]


def blocks_are_consumed(found):
    before = "projects/ml-capacity/reservations/h200-training/reservationBlocks/"
    values = []
    for name in ("h200-block-1", "h200-block-2", "h200-block-3-sub-1"):
        (affinity,) = found[name]["node_config"][0]["reservation_affinity"]
        values.append(affinity["values"][0].removeprefix(before))
    assert values == ["block-1", "block-2", "block-3/reservationSubBlocks/sub-1"]


def batch_waits(found):
    queue = found["queue"]
    assert queue["queued_provisioning"] == [{"enabled": True}]
    assert queue["autoscaling"][0]["total_max_node_count"] == 16
    assert queue["management"][0]["auto_repair"] is False


def gpus_are_shared(found):
    (config,) = found["l4-spot"]["node_config"]
    assert config["guest_accelerator"][0]["gpu_sharing_config"][0]["max_shared_clients_per_gpu"] == 4
    assert config["labels"]["cloud.google.com/compute-class"] == "serve"
