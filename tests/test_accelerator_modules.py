"""How pools are obtained, sized, kept and placed: exactly what is written for each way."""

import pytest
from accelerator_factory import POOL, gke_pool, gke_pools, graph

KEY = "compute.googleapis.com/reservation-name"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
SCARCE = {"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1}
PLENTY = {"strategy": "SURGE", "max_surge": 1, "max_unavailable": 0}
USUAL = {"auto_repair": True, "auto_upgrade": True}
NOT_REPAIRED = {"auto_repair": False, "auto_upgrade": True}
NONE = {"consume_reservation_type": "NO_RESERVATION"}
ANY = {"consume_reservation_type": "ANY_RESERVATION"}

H100 = {"machine": "a3-highgpu-8g", "nodes": {"min": 0, "max": 8}}
V5P = {"machine": "ct5p-hightpu-4t", "topology": "4x4x4"}
#: What says how a pool is obtained, sized, kept and placed, of the pool and of its nodes.
OF_POOL = (
    "autoscaling",
    "initial_node_count",
    "management",
    "node_count",
    "node_locations",
    "placement_policy",
    "queued_provisioning",
    "upgrade_settings",
    "version",
)
OF_NODES = ("flex_start", "max_run_duration", "reservation_affinity", "spot")


def total(least, most):
    return {"total_min_node_count": least, "total_max_node_count": most, "location_policy": "ANY"}


def settings(attributes):
    """Of what decides about a pool, everything that is written."""
    nodes = attributes["node_config"]
    return {key: attributes[key] for key in OF_POOL if key in attributes} | {
        key: nodes[key] for key in OF_NODES if key in nodes
    }


def scaled(least, most, **more):
    return {"autoscaling": total(least, most), "initial_node_count": least, "management": USUAL, **more}


def waiting(most, **more):
    """What every pool has that starts from no node: never a strategy of upgrades, GKE has one of its own."""
    return {
        "autoscaling": total(0, most),
        "initial_node_count": 0,
        "management": NOT_REPAIRED,
        "flex_start": True,
        "reservation_affinity": NONE,
        **more,
    }


def reserved(value):
    return {"consume_reservation_type": "SPECIFIC_RESERVATION", "key": KEY, "values": [value]}


CASES = {
    "U02 on demand consumes no reservation": (
        {**H100},
        scaled(0, 8, upgrade_settings=SCARCE, reservation_affinity=NONE),
    ),
    "U02 U46 spot": (
        {**H100, "capacity": "spot"},
        scaled(0, 8, upgrade_settings=SCARCE, reservation_affinity=NONE, spot=True),
    ),
    "U02 U11 U46 flex-start": ({**H100, "capacity": "flex-start"}, waiting(8)),
    "U11 flex-start never has a fixed number": (
        {**H100, "nodes": 8, "capacity": "flex-start"},
        waiting(8),
    ),
    "U47 a longest run is written in seconds": (
        {**H100, "capacity": "flex-start", "max_run_duration": "3h"},
        waiting(8, max_run_duration="10800s"),
    ),
    "U47 seven days are the most": (
        {**H100, "capacity": "queued", "max_run_duration": "7d"},
        waiting(8, max_run_duration="604800s", queued_provisioning={"enabled": True}),
    ),
    "U02 U11 U46 queued": (
        {**H100, "capacity": "queued"},
        waiting(8, queued_provisioning={"enabled": True}),
    ),
    "any reservation": (
        {**H100, "capacity": "any-reservation"},
        scaled(
            0,
            8,
            upgrade_settings=SCARCE,
            reservation_affinity={"consume_reservation_type": "ANY_RESERVATION"},
        ),
    ),
    "a reservation of the project": (
        {**H100, "nodes": 8, "capacity": {"reservation": "h100"}},
        {
            "node_count": 8,
            "management": USUAL,
            "upgrade_settings": SCARCE,
            "reservation_affinity": reserved("h100"),
        },
    ),
    "a shared reservation": (
        {**H100, "nodes": 8, "capacity": {"reservation": {"name": "h100", "project": "ml-capacity"}}},
        {
            "node_count": 8,
            "management": USUAL,
            "upgrade_settings": SCARCE,
            "reservation_affinity": reserved("projects/ml-capacity/reservations/h100"),
        },
    ),
    "CPUs are taken away first only where they are reserved": (
        {"machine": "c3-standard-8", "nodes": 2, "capacity": {"reservation": "c3"}},
        {
            "node_count": 2,
            "management": USUAL,
            "upgrade_settings": SCARCE,
            "reservation_affinity": reserved("c3"),
        },
    ),
    "CPUs on demand": (
        {"machine": "c3-standard-8", "nodes": 2},
        {"node_count": 2, "management": USUAL, "upgrade_settings": PLENTY, "reservation_affinity": NONE},
    ),
    "U17 compact placement stands in the cluster's one zone": (
        {"machine": "a2-ultragpu-8g", "placement": "compact", "nodes": 4},
        {
            "node_count": 4,
            "node_locations": ["us-central1-a"],
            "management": USUAL,
            "upgrade_settings": SCARCE,
            "placement_policy": {"type": "COMPACT"},
            "reservation_affinity": NONE,
        },
    ),
    "a TPU slice is there as a whole": (
        {**V5P, "capacity": "spot"},
        {
            "node_count": 16,
            "node_locations": ["us-central1-a"],
            "management": USUAL,
            "upgrade_settings": SCARCE,
            "placement_policy": {"type": "COMPACT", "tpu_topology": "4x4x4"},
            "reservation_affinity": NONE,
            "spot": True,
        },
    ),
    "a TPU slice grows from nothing, by bounds of its zone": (
        {**V5P, "nodes": {"min": 0, "max": 16}},
        {
            "autoscaling": {"min_node_count": 0, "max_node_count": 16, "location_policy": "ANY"},
            "initial_node_count": 0,
            "node_locations": ["us-central1-a"],
            "management": USUAL,
            "upgrade_settings": SCARCE,
            "placement_policy": {"type": "COMPACT", "tpu_topology": "4x4x4"},
            "reservation_affinity": NONE,
        },
    ),
    "U11 a TPU slice of flex-start": (
        {"machine": "ct6e-standard-4t", "topology": "4x4", "capacity": "flex-start"},
        waiting(
            4,
            autoscaling={"min_node_count": 0, "max_node_count": 4, "location_policy": "ANY"},
            node_locations=["us-central1-a"],
            placement_policy={"type": "COMPACT", "tpu_topology": "4x4"},
        ),
    ),
    "TPUs of single hosts are pools like others": (
        {"machine": "ct6e-standard-1t", "topology": "1x1", "nodes": {"min": 0, "max": 4}},
        scaled(0, 4, upgrade_settings=SCARCE, reservation_affinity=NONE),
    ),
    "a single-host slice without a number is one machine": (
        {"machine": "ct6e-standard-8t", "topology": "2x4"},
        {"node_count": 1, "management": USUAL, "upgrade_settings": SCARCE, "reservation_affinity": NONE},
    ),
    "U12 a pinned version stays in a cluster without a channel": (
        {"machine": "e2-standard-4", "nodes": 1, "version": "1.34.1-gke.1829001"},
        {
            "node_count": 1,
            "version": "1.34.1-gke.1829001",
            "management": {"auto_repair": True, "auto_upgrade": False},
            "upgrade_settings": PLENTY,
            "reservation_affinity": NONE,
        },
    ),
}


@pytest.mark.parametrize(("spec", "wanted"), CASES.values(), ids=CASES)
def test_a_pool_is_written_as_gke_wants_it(spec, wanted):
    cluster = {"release_channel": "none"} if "version" in spec else {}
    assert settings(gke_pool(cluster=cluster, **spec)) == wanted


def test_u12_in_a_channel_gke_upgrades_every_pool():
    made = gke_pool(machine="e2-standard-4", nodes=1, version="1.34.1-gke.1829001")
    assert made["management"] == USUAL


# One pool, several GKE pools


def test_each_block_of_a_reservation_is_a_pool_of_its_own():
    blocks = {"b1": {"nodes": 16}, "b2": {"nodes": 9, "sub_blocks": ["s1", "s2"]}}
    made = gke_pools(
        {
            "x": {
                "machine": "a3-ultragpu-8g",
                "capacity": {"reservation": {"name": "h200", "project": "ml-capacity", "blocks": blocks}},
            },
            "y": {
                "machine": "a3-ultragpu-8g",
                "capacity": {"reservation": {"name": "own", "blocks": {"b1": {"nodes": 2}}}},
            },
        }
    )
    path = "projects/ml-capacity/reservations/h200/reservationBlocks"
    wanted = {
        "x_b1": ("x-b1", 16, f"{path}/b1"),
        "x_b2-s1": ("x-b2-s1", 5, f"{path}/b2/reservationSubBlocks/s1"),
        "x_b2-s2": ("x-b2-s2", 4, f"{path}/b2/reservationSubBlocks/s2"),
        "y_b1": ("y-b1", 2, "projects/llm-ml-dev/reservations/own/reservationBlocks/b1"),
    }
    found = {
        name: (a["name"], a["node_count"], a["node_config"]["reservation_affinity"]["values"][0])
        for name, a in made.items()
    }
    assert found == wanted
    assert {tuple(a["node_locations"]) for a in made.values()} == {("us-central1-a",)}


def test_slices_are_numbered_from_the_first_so_that_another_one_changes_nothing():
    one, two = (gke_pools({"x": {**V5P, "slices": slices}}) for slices in (1, 2))
    assert list(two) == ["x_1", "x_2"]
    assert [made["name"] for made in two.values()] == ["x-1", "x-2"]
    assert list(one) == ["x_1"] and settings(one["x_1"]) == settings(two["x_1"])


def test_a_block_holds_as_many_slices_as_it_has_room_for():
    capacity = {"reservation": {"name": "v5p", "blocks": {"b1": {"nodes": 32}, "b2": {"nodes": 16}}}}
    made = gke_pools({"x": {**V5P, "capacity": capacity}})
    assert [(a["name"], a["node_count"]) for a in made.values()] == [
        ("x-b1-1", 16), ("x-b1-2", 16), ("x-b2-1", 16),
    ]  # fmt: skip


def test_parts_keep_the_name_and_the_generation_of_their_pool():
    made = gke_pools({"x": {**V5P, "name": "train", "generation": 2}})
    assert [a["name"] for a in made.values()] == ["train-1-g2"]
    long = gke_pools({"x" * 38: {**V5P, "slices": 2}})
    names = [a["name"] for a in long.values()]
    assert len(set(names)) == 2 and all(len(name) <= 40 for name in names)


def test_all_parts_come_after_the_pools_for_system_pods():
    made = graph({"tpu": {**V5P, "slices": 2}, "a-gpu": H100}).of_type(POOL)
    system = next(r for r in made if r.name == "main_system")
    assert not system.depends_on
    for resource in made:
        if resource is not system:
            assert system in resource.depends_on


# Placement


@pytest.mark.parametrize(
    ("spec", "policy", "placement"),
    [
        (
            {"machine": "a4x-highgpu-4g", "nodes": 18, "capacity": {"reservation": "gb200"}},
            ("llm-main-x-1x72", {"type": "HIGH_THROUGHPUT", "accelerator_topology": "1x72"}),
            {"type": "COMPACT"},
        ),
        (
            {"machine": "tpu7x-standard-4t", "topology": "4x4x4", "slices": 2},
            ("llm-main-x-4x4x4", {"type": "HIGH_THROUGHPUT", "accelerator_topology": "4x4x4"}),
            {"type": "COMPACT", "tpu_topology": "4x4x4"},
        ),
        (
            {"machine": "a4-highgpu-8g", "capacity": "flex-start", "placement": "compact", "nodes": 8},
            ("llm-main-x-compact", {"type": "HIGH_THROUGHPUT", "max_topology_distance": "CLUSTER"}),
            {"type": "COMPACT"},
        ),
    ],
    ids=["NVLink domain", "TPU7x slices", "compact flex-start"],
)
def test_a_workload_policy_where_gke_cannot_make_one(spec, policy, placement):
    made = graph({"x": spec})
    (found,) = made.of_type("google_compute_resource_policy")
    assert (found.attributes["name"], found.attributes["workload_policy"]) == policy
    assert found.attributes["region"] == "us-central1"
    pools = [r.attributes for r in made.of_type(POOL) if r.name != "main_system"]
    assert pools
    for attributes in pools:
        written = dict(attributes["placement_policy"])
        name = written.pop("policy_name")
        assert (name.resource, name.attribute) == (found, "name")
        assert written == placement


@pytest.mark.parametrize(
    "spec",
    [
        {"machine": "tpu7x-standard-4t", "topology": "2x2x1", "nodes": 2},
        {"machine": "a4-highgpu-8g", "capacity": "flex-start", "nodes": 8},
        {"machine": "a4-highgpu-8g", "capacity": "spot", "placement": "compact", "nodes": 8},
        {**V5P},
    ],
)
def test_no_policy_of_our_own_elsewhere(spec):
    assert not graph({"x": spec}).of_type("google_compute_resource_policy")


def test_another_topology_is_another_policy():
    """A policy cannot change while nodes use it, so the new one needs a new name."""
    names = {
        graph({"x": {"machine": "tpu7x-standard-4t", "topology": topology}})[
            "google_compute_resource_policy.main_x"
        ].attributes["name"]
        for topology in ("2x2x2", "4x4x4")
    }
    assert len(names) == 2
