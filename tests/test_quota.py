"""What environments need at most: exact numbers, whose quota it is, and ranges that pools can exhaust."""

import doctest
import json

import pytest
from blueprint_factory import SYSTEM, blueprint, dev
from blueprint_texts import cut, document, found, one
from cli_factory import groundplan, project

from groundplan.blueprints.capacity_arithmetic import local_ssd_gib, most_nodes, pod_block, with_upgrades
from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.lock import Lock, allocate
from groundplan.blueprints.model import NodePool
from groundplan.blueprints.reader import read
from groundplan.blueprints.rules.exhaustion import in_lock
from groundplan.facts.accelerators import catalog
from groundplan.facts.quotas import accelerator_quota, cpu_quota, disk_quota, quotas
from groundplan.stacks import quota as view
from groundplan.stacks.quota import clusters, quota, uncounted

EVERYTHING = """
external: {projects: [ml-capacity]}
environments:
  ml-dev:
    clusters:
      main:
        zones: [a, b]
        node_pools:
          system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}
          l4: {machine: g2-standard-12, nodes: {min: 0, max: 4}, local_ssd: {mode: ephemeral}}
          l4-spot: {machine: g2-standard-24, capacity: spot, nodes: {min: 0, max: 8}}
          any: {machine: g2-standard-4, capacity: any-reservation, nodes: 2}
          train:
            machine: a3-ultragpu-8g
            zones: [a]
            capacity:
              reservation: {name: h200, project: ml-capacity, blocks: {x: {nodes: 16}, y: {nodes: 8}}}
          mega: {machine: a3-megagpu-8g, capacity: {reservation: h100}, nodes: 8, zones: [a]}
          flex: {machine: a3-highgpu-8g, capacity: flex-start, nodes: {min: 0, max: 8}}
          queue: {machine: a3-highgpu-1g, capacity: queued, nodes: {min: 0, max: 2}}
          close: {machine: a2-ultragpu-8g, placement: compact, zones: [a], nodes: 4}
          tpu: {machine: ct5p-hightpu-4t, topology: 4x4x4, slices: 2, capacity: spot}
          t4: {machine: n1-standard-8, gpu: {type: nvidia-tesla-t4, count: 2}, nodes: {min: 0, max: 2}}
      east:
        region: us-east5
        node_pools:
          n2: {machine: n2-standard-8, nodes: 5, boot_disk: {type: pd-standard, size: 50GiB}}
          c4: {machine: c4-standard-16, capacity: spot, nodes: {min: 0, max: 10}}
          c4-too: {machine: c4-standard-8, nodes: 2}
          v6e: {machine: ct6e-standard-4t, nodes: 3}
    storage: {disks: {weights: {type: hyperdisk-ml, size: 1TiB, throughput: 2400MiB/s, zones: [a, b]}}}
"""

# (project, region, metric, dimension, amount, unit, reservation)
OWN, OTHER, CENTRAL, EAST = "llm-ml-dev", "ml-capacity", "us-central1", "us-east5"
FAMILY, SSD = "GPUS_PER_GPU_FAMILY", "LOCAL_SSD_TOTAL_GB_PER_VM_FAMILY"
NEEDS = [
    (OWN, CENTRAL, "NVIDIA_A100_80GB_GPUS", "", 4 * 8, "GPUs", ""),
    (OWN, CENTRAL, "NVIDIA_L4_GPUS", "", 4 + 2, "GPUs", ""),
    (OWN, CENTRAL, "NVIDIA_T4_GPUS", "", 2 * 2, "GPUs", ""),
    (OWN, CENTRAL, "PREEMPTIBLE_NVIDIA_H100_GPUS", "", 8 * 8 + 2, "GPUs", ""),
    (OWN, CENTRAL, "PREEMPTIBLE_NVIDIA_L4_GPUS", "", 8 * 2, "GPUs", ""),
    (OWN, CENTRAL, "PREEMPTIBLE_TPU_V5P", "", 2 * 64, "chips", ""),
    (OWN, CENTRAL, "CPUS", "", (3 + 1) * 4 + 2 * 8, "vCPUs", ""),
    # mega and train boot from Hyperdisk where they must: 24 machines of A3 Ultra.
    (OWN, CENTRAL, "HDB_TOTAL_GB", "", 24 * 100, "GB", ""),
    (OWN, CENTRAL, SSD, "A2", 4 * 8 * 375, "GB", ""),
    (OWN, CENTRAL, SSD, "G2", 4 * 375, "GB", ""),
    (OWN, CENTRAL, "PREEMPTIBLE_LOCAL_SSD_GB", "", (8 * 16 + 2 * 2) * 375, "GB", ""),
    (OWN, CENTRAL, "SSD_TOTAL_GB", "", (4 + 4 + 8 + 2 + 8 + 8 + 2 + 4 + 32 + 2) * 100, "GB", ""),
    (OWN, CENTRAL, "hyperdisk-ml capacity", "", 2 * 1024, "GB", ""),
    (OWN, CENTRAL, "HDML_TOTAL_THROUGHPUT", "", 2 * 2400, "MiB/s", ""),
    (OWN, CENTRAL, "INSTANCES", "", 4 + 4 + 8 + 2 + 24 + 8 + 8 + 2 + 4 + 32 + 2, "VMs", ""),
    (OWN, CENTRAL, "RESOURCE_POLICIES", "", 1 + 2, "policies", ""),
    (OWN, EAST, "TPUS_PER_TPU_FAMILY", "CT6E", 3 * 4, "chips", ""),
    (OWN, EAST, "CPUS_PER_VM_FAMILY", "C4", (2 + 1) * 8, "vCPUs", ""),
    (OWN, EAST, "N2_CPUS", "", (5 + 1) * 8, "vCPUs", ""),
    (OWN, EAST, "PREEMPTIBLE_CPUS", "", (10 + 1) * 16, "vCPUs", ""),
    (OWN, EAST, "DISKS_TOTAL_GB", "", (5 + 1) * 50, "GB", ""),
    (OWN, EAST, "HDB_TOTAL_GB", "", (11 + 3 + 3) * 100, "GB", ""),
    (OWN, EAST, "INSTANCES", "", 6 + 11 + 3 + 3, "VMs", ""),
    (OWN, None, "GPUS_ALL_REGIONS", "", 32 + 6 + 4 + 66 + 16 + 64, "GPUs", ""),
    (OWN, None, "CPUS_ALL_REGIONS", "", 32 + 24 + 48 + 176, "vCPUs", ""),
    (OWN, CENTRAL, FAMILY, "NVIDIA_H100_MEGA", 8 * 8, "GPUs", "h100"),
    (OWN, CENTRAL, SSD, "A3", 8 * 16 * 375, "GB", "h100"),
    (OTHER, CENTRAL, FAMILY, "NVIDIA_H200", 24 * 8, "GPUs", "h200"),
    (OTHER, CENTRAL, SSD, "A3", 24 * 32 * 375, "GB", "h200"),
]


def pool(**keys):
    return NodePool.model_validate(keys)


def needs(env):
    """Metric → amount, with the dimension where there is one."""
    return {" ".join([need.metric, *need.dimensions.values()]): need.amount for need in quota(env)}


def with_pools(pools, **spec):
    """One environment with one cluster."""
    return blueprint({"ml-dev": {"clusters": {"main": {"node_pools": pools}}, **spec}}).environments["ml-dev"]


def test_every_quota_with_its_exact_number():
    env = document(EVERYTHING).blueprint.environments["ml-dev"]
    listed = [
        (
            need.project, need.region, need.metric, "".join(need.dimensions.values()),
            need.amount, need.unit, need.reservation,
        )
        for need in quota(env)
    ]  # fmt: skip
    assert listed == NEEDS


def test_a_need_says_what_takes_it_and_of_which_model():
    env = document(EVERYTHING).blueprint.environments["ml-dev"]
    by_metric = {need.metric: need for need in quota(env) if not need.reservation}
    assert by_metric["NVIDIA_L4_GPUS"].by == {"main/l4": 4, "main/any": 2}
    assert by_metric["NVIDIA_L4_GPUS"].model == "L4"
    assert by_metric["PREEMPTIBLE_TPU_V5P"].model == "TPU v5p"
    assert by_metric["CPUS"].model == ""
    assert [need.metric for need in quota(env) if not need.confirmed] == ["hyperdisk-ml capacity"]


def test_the_example_in_the_docstring_is_what_the_starter_needs():
    env = read(library_blueprints()["starter"]).blueprint.environments["ml-dev"]
    assert doctest.testmod(view, extraglobs={"env": env}) == (0, 1)


def test_machines_that_come_with_gpus_need_no_quota_of_cpus():
    for machine in ("a2-highgpu-1g", "g2-standard-4", "a3-highgpu-8g", "g4-standard-48"):
        env = with_pools({"x": {"machine": machine, "nodes": 1}})
        assert not [metric for metric in needs(env) if "CPUS" in metric], machine


def test_no_pool_is_larger_than_its_maximum_and_an_empty_one_takes_nothing():
    env = with_pools({"system": {"machine": "e2-standard-4", "nodes": 0}})
    assert quota(env) == []


def test_clusters_of_others_are_not_counted():
    env = with_pools({}, clusters={"main": {"existing": "theirs", "node_pools": {"system": SYSTEM}}})
    assert quota(env) == []
    assert clusters(env, Lock()) == []


def test_nat_takes_external_addresses_with_its_nodes():
    l4 = {"machine": "g2-standard-4", "nodes": {"min": 0, "max": 60}}
    env = with_pools({"system": {"machine": "e2-standard-4", "nodes": 3}, "l4": l4}, network={"nat": True})
    assert needs(env)["IN_USE_ADDRESSES"] == needs(env)["STATIC_ADDRESSES"] == 2  # 64 nodes, 63 for one
    assert "IN_USE_ADDRESSES" not in needs(with_pools({"system": SYSTEM}))


def test_what_cannot_be_counted_is_said():
    pools = {"tpu": {"machine": "ct5p-hightpu-4t", "nodes": 1}, "new": {"machine": "x9-mega-4", "nodes": 1}}
    assert uncounted(with_pools(pools)) == {
        "main/new": "the catalog has no machine x9-mega-4",
        "main/tpu": "no source says what the CPUs of TPU machines count against",
    }


@pytest.mark.parametrize(
    ("keys", "nodes", "upgraded"),
    [
        ({"machine": "e2-standard-4", "nodes": 5}, 5, 6),
        ({"machine": "e2-standard-4", "nodes": {"min": 0, "max": 7}}, 7, 8),
        ({"machine": "e2-standard-4", "nodes": 0}, 0, 0),
        ({"machine": "g2-standard-4", "nodes": 5}, 5, 5),
        ({"machine": "n1-standard-4", "gpu": {"type": "nvidia-tesla-t4"}, "nodes": 5}, 5, 5),
        ({"machine": "ct5p-hightpu-4t", "topology": "4x4x4"}, 16, 16),
        ({"machine": "ct5p-hightpu-4t", "topology": "4x4x4", "slices": 3}, 48, 48),
        ({"machine": "ct5p-hightpu-4t", "topology": "2x2x1"}, 1, 1),
        ({"machine": "ct5p-hightpu-4t", "topology": "2x2x1", "slices": 2, "nodes": 4}, 8, 8),
        ({"machine": "e2-standard-4", "capacity": {"reservation": {
            "name": "r", "blocks": {"a": {"nodes": 2}, "b": {"nodes": 3}}}}}, 5, 7),
        ({"machine": "e2-standard-4", "capacity": {"reservation": {
            "name": "r", "blocks": {"a": {"nodes": 5, "sub_blocks": ["s1", "s2"]}}}}}, 5, 7),
        ({"machine": "ct5p-hightpu-4t", "topology": "4x4x4", "capacity": {"reservation": {
            "name": "r", "blocks": {"a": {"nodes": 40}}}}}, 32, 32),
    ],
)  # fmt: skip
def test_the_most_nodes_of_a_pool(keys, nodes, upgraded):
    made = pool(**keys)
    assert (most_nodes(made), with_upgrades(made)) == (nodes, upgraded)


@pytest.mark.parametrize(
    ("pods", "addresses"),
    [
        (8, 16),
        (9, 32),
        (16, 32),
        (17, 64),
        (32, 64),
        (64, 128),
        (65, 256),
        (None, 256),
        (128, 256),
        (256, 512),
    ],
)
def test_each_node_gets_at_least_twice_as_many_addresses_as_pods(pods, addresses):
    assert pod_block(pool(machine="e2-standard-4", nodes=1, max_pods_per_node=pods)) == addresses


def test_upgrades_and_local_ssds_are_counted_as_the_modules_make_them():
    pools = {
        "l4": {"machine": "g2-standard-12", "nodes": 2, "local_ssd": {"mode": "ephemeral"}},
        "big": {"machine": "a2-highgpu-1g", "nodes": 2, "local_ssd": {"mode": "block", "count": 4}},
        "always": {"machine": "a2-ultragpu-2g", "nodes": 2},
        "t4": {"machine": "n1-standard-4", "gpu": {"type": "nvidia-tesla-t4"}, "nodes": 2},
        "n2": {"machine": "n2-standard-4", "nodes": 2},
    }
    graph = dev(clusters={"main": {"node_pools": pools}})
    made = {
        resource.origin[-1]: resource.attributes for resource in graph.of_type("google_container_node_pool")
    }
    assert made.keys() == {*pools, "system"}
    for name, keys in pools.items():
        counted = pool(**keys)
        attributes = made[name]
        assert with_upgrades(counted) - most_nodes(counted) == attributes["upgrade_settings"]["max_surge"], (
            name
        )
        node = attributes["node_config"]
        blocks = [node.get("ephemeral_storage_local_ssd_config"), node.get("local_nvme_ssd_block_config")]
        disks = sum(block["local_ssd_count"] for block in blocks if block)
        assert local_ssd_gib(counted) == disks * 375, name


def test_facts_know_every_accelerator_and_family_of_the_catalog():
    known = quotas()
    assert known.gpus.by_type.keys() == catalog().gpus.keys()
    generations = {one.tpu.generation for one in catalog().machines.values() if one.tpu}
    assert known.tpus.by_type.keys() == generations
    accelerated = {one.family for one in catalog().machines.values()}
    assert accelerated == known.cpus.with_accelerators.keys()
    assert not accelerated & known.cpus.by_family.keys()
    groups = (known.gpus, known.tpus, known.cpus, known.local_ssd, known.disks, known.nat)
    assert {key for group in groups for key in group.sources} == known.sources.keys()


def test_names_of_quotas():
    assert accelerator_quota("nvidia-gb200", preemptible=True).name == FAMILY  # there is no Spot
    assert not accelerator_quota("nvidia-new", preemptible=False).confirmed
    assert cpu_quota("n4", preemptible=False).dimensions == {"vm_family": "N4"}
    assert cpu_quota("n4", preemptible=True).name == "PREEMPTIBLE_CPUS"
    assert cpu_quota("a3", preemptible=True) is None
    assert not disk_quota("hyperdisk-extreme").confirmed


# Ranges.

SMALL = one("""
    clusters:
      main:
        ranges: {RANGES}
        node_pools:
          system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}
          l4: {machine: g2-standard-4, nodes: {min: 0, max: 5}}
""")


@pytest.mark.parametrize(
    ("ranges", "at", "message"),
    [
        (
            "{nodes: 10.64.0.0/29}",
            "10.64.0.0/29",
            "4 addresses for nodes; with upgrades the pools may need 9",
        ),
        (
            "{pods: 10.64.0.0/22}",
            "10.64.0.0/22",
            "1,024 addresses for pods; with upgrades the pools may need 2,304",
        ),
        ("{nodes: 10.64.0.0/28, pods: 10.64.16.0/20}", None, ""),
    ],
)
def test_a_range_that_pools_can_exhaust_is_an_error_of_validate(ranges, at, message):
    text = SMALL.replace("{RANGES}", ranges)
    errors = [diagnostic for diagnostic in found(text) if diagnostic.severity == "error"]
    assert [cut(text, error) for error in errors] == ([at] if at else [])
    for error in errors:
        assert error.code == "IP004"
        assert error.message.endswith(message)
        ((label, place),) = error.related
        assert "`l4` takes most of them" in label
        assert "nodes: {min: 0, max: 5}" in text.splitlines()[place.line - 3]


def test_the_hint_names_a_size_that_is_just_enough():
    text = SMALL.replace("max: 5", "max: 4")  # eight nodes: 2,048 addresses for pods
    for kind, prefix in (("nodes", 28), ("pods", 21)):
        (error,) = found(text.replace("{RANGES}", f"{{{kind}: 10.64.0.0/{prefix + 1}}}"))
        assert f"Choose a /{prefix} or larger" in error.hint
        assert not found(text.replace("{RANGES}", f"{{{kind}: 10.64.0.0/{prefix}}}"))


def test_fewer_pods_on_a_node_make_room():
    text = SMALL.replace("{RANGES}", "{pods: 10.64.0.0/21}")
    assert [one.code for one in found(text)] == ["IP004"]
    assert not found(text.replace("max: 5}", "max: 5}, max_pods_per_node: 32"))


def test_an_allocated_range_points_at_the_pool_that_takes_most():
    text = SMALL.replace("ranges: {RANGES}", "zones: [a]").replace(
        "clusters:", "network: {address_space: 10.64.0.0/20}\n    clusters:", 1
    )
    small = document(text.replace("max: 5", "max: 4"))
    lock = allocate(small.blueprint, Lock())
    assert lock.environment("ml-dev").ranges["main"].pods.prefixlen == 21  # eight nodes
    assert in_lock(small, lock, ["ml-dev"]) == []
    larger = document(text.replace("max: 5", "max: 40"))
    (problem,) = in_lock(larger, lock, ["ml-dev"])
    assert (problem.severity, problem.code) == ("error", "IP004")
    assert problem.path == "environments.ml-dev.clusters.main.node_pools.l4.nodes"
    assert cut(text.replace("max: 5", "max: 40"), problem) == "{min: 0, max: 40}"
    assert "/17 or larger" not in problem.hint and "/18 or larger" in problem.hint
    assert in_lock(larger, lock, []) == []


# The command.

TEXT = f"apiVersion: groundplan/v1\nname: llm\n{EVERYTHING}"
TOO_SMALL = f"apiVersion: groundplan/v1\nname: llm\n{SMALL}".replace("ranges: {RANGES}", "zones: [a]")


def test_the_table_fits_and_names_project_region_and_reservation(tmp_path):
    result = groundplan(project(tmp_path, TEXT), "quota")
    assert result.code == 0
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[:2] == ["ml-dev  project llm-ml-dev, at most", "  us-central1"]
    assert any(
        line.split() == ["NVIDIA_L4_GPUS", "6", "GPUs", "main/l4", "4,", "main/any", "2"] for line in lines
    )
    assert "  us-central1: reservation h200 of ml-capacity has it, nothing to ask for" in lines
    assert any(line.startswith("    hyperdisk-ml capacity ?") for line in lines)
    (main,) = [line for line in lines if line.startswith("    main")]
    assert main.split()[1:5] == ["98", "nodes", "nodes", "10.64.0.0/20"]
    assert "Not counted, main/tpu: " in result.err
    assert "preemptible quota" in result.err


def test_the_document(tmp_path):
    result = groundplan(project(tmp_path, TEXT), "quota", "ml-dev", "--json")
    assert (result.code, result.err) == (0, "")
    assert result.json.keys() == {"checked", "environments", "diagnostics"}
    assert result.json["diagnostics"] == []
    env = result.json["environments"]["ml-dev"]
    assert env.keys() == {"project", "quotas", "clusters", "uncounted"}
    assert len(env["quotas"]) == len(NEEDS)
    assert env["quotas"][1] == {
        "project": OWN,
        "region": CENTRAL,
        "metric": "NVIDIA_L4_GPUS",
        "dimensions": {},
        "amount": 6,
        "unit": "GPUs",
        "model": "L4",
        "reservation": None,
        "confirmed": True,
        "by": {"main/l4": 4, "main/any": 2},
    }
    assert env["clusters"][1] == {
        "cluster": "east",
        "region": EAST,
        "nodes": 23,
        "ranges": [
            {"kind": "nodes", "range": "10.64.32.0/20", "holds": 4092, "needs": 23},
            {"kind": "pods", "range": "10.72.0.0/14", "holds": 262144, "needs": 23 * 256},
        ],
    }


def test_ranges_that_are_exhausted_fail_the_command_with_their_line(tmp_path):
    text = TOO_SMALL.replace("ml-dev:\n", "ml-dev:\n    network: {address_space: 10.64.0.0/20}\n", 1)
    text = text.replace("max: 5", "max: 40")
    folder = project(tmp_path, text)
    result = groundplan(folder, "quota")
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "max: 40" in line)
    assert result.code == 1
    assert f"groundplan.yaml:{line}:" in result.err
    assert "error[IP004]" in result.err
    assert ": too few" in result.out
    document = groundplan(folder, "quota", "--json")
    assert document.code == 1
    (problem,) = json.loads(document.out)["diagnostics"]
    assert (problem["code"], problem["line"]) == ("IP004", line)


def test_only_environments_have_quota(tmp_path):
    folder = project(
        tmp_path, TEXT.replace("environments:", "foundation: {project: llm-seed}\nenvironments:", 1)
    )
    result = groundplan(folder, "quota", "foundation")
    assert result.code == 64
    assert "the foundation has no machines" in result.err
    assert groundplan(folder, "quota", "ml-prod").code == 64
