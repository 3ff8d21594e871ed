"""GPU networks and compute classes: what they consist of, their ranges in the lock, Kubernetes objects."""

import ipaddress

import pytest
import yaml
from accelerator_factory import POOL, graph, graph_of, one_cluster
from blueprint_factory import SYSTEM, blueprint

from groundplan.blueprints.addresses import Taken, cut, free_gpu_range
from groundplan.blueprints.lock import Lock, allocate, lock_text, merged, prune, read_lock
from groundplan.blueprints.model import NodePool
from groundplan.blueprints.reader import judge
from groundplan.blueprints.tree import Source
from groundplan.engines.kubernetes import manifests
from groundplan.engines.terraform.writer import dumps
from groundplan.errors import InputError
from groundplan.stacks.catalog import stacks

NETWORK, SUBNET, FIREWALL = (
    "google_compute_network",
    "google_compute_subnetwork",
    "google_compute_firewall",
)
MEGA = {"machine": "a3-megagpu-8g", "nodes": 8, "capacity": {"reservation": "h100"}, "networking": "auto"}
ULTRA = {"machine": "a3-ultragpu-8g", "nodes": 8, "capacity": {"reservation": "h200"}, "networking": "auto"}


def gpu(made, type):
    """The resources of a type that are for GPU networks."""
    vpcs = {n.name for n in made.of_type(NETWORK)} - {"main"}
    return [r for r in made.of_type(type) if r.name in vpcs or _network(r) in vpcs]


def _network(resource):
    """The VPC that a resource is in, by its name in the stack."""
    reference = resource.attributes.get("network")
    return reference.resource.name if reference else None


def interfaces(made, pool="main_x"):
    """VPC and subnet of each further interface of a pool, by their names in the stack."""
    config = made[f"{POOL}.{pool}"].attributes["network_config"]
    found = config.get("additional_node_network_configs", [])
    assert all(one[key].attribute == "name" for one in found for key in one)
    return [(one["network"].resource.name, one["subnetwork"].resource.name) for one in found]


@pytest.mark.parametrize(
    ("machine", "networking", "count", "mtu"),
    [
        ("a3-highgpu-8g", "auto", 4, 8244),
        ("a3-highgpu-8g", "tcpx", 4, 8244),
        ("a3-edgegpu-8g", "auto", 4, 8244),
        ("a3-megagpu-8g", "auto", 8, 8244),
        ("a3-megagpu-8g", "tcpxo", 8, 8244),
    ],
)
def test_u47_tcpx_takes_a_vpc_for_each_interface(machine, networking, count, mtu):
    made = graph({"x": {**MEGA, "machine": machine, "networking": networking}})
    names = [f"main_{machine}_{number}" for number in range(1, count + 1)]
    assert interfaces(made) == [(name, name) for name in names]
    vpcs = gpu(made, NETWORK)
    assert [r.name for r in vpcs] == names
    for vpc in vpcs:
        assert vpc.attributes["mtu"] == mtu
        assert vpc.attributes["auto_create_subnetworks"] is False
        assert vpc.attributes["delete_default_routes_on_create"] is True, "nothing leads out of it"
        assert "network_profile" not in vpc.attributes
    pool = made[f"{POOL}.main_x"]
    assert set(gpu(made, FIREWALL)) <= set(pool.depends_on), "nodes find their networks open"
    for rule, subnet in zip(gpu(made, FIREWALL), gpu(made, SUBNET), strict=True):
        own = [subnet.attributes["ip_cidr_range"]]
        assert rule.attributes["source_ranges"] == rule.attributes["destination_ranges"] == own
        assert rule.attributes["network"].resource is subnet.attributes["network"].resource


@pytest.mark.parametrize(
    ("machine", "subnets"), [("a3-ultragpu-8g", 8), ("a4-highgpu-8g", 8), ("a4x-highgpu-4g", 4)]
)
def test_rdma_takes_one_vpc_of_the_zone_and_one_for_the_second_gvnic(machine, subnets):
    made = graph({"x": {**ULTRA, "machine": machine}}, zones=["us-central1-b"])
    prefix = f"main_{machine}-b"
    gvnic, rdma = f"{prefix}_gvnic-1", f"{prefix}_rdma"
    assert interfaces(made) == [
        (gvnic, gvnic), *((rdma, f"{prefix}_rdma-{number}") for number in range(subnets)),
    ]  # fmt: skip
    assert [r.name for r in gpu(made, NETWORK)] == [gvnic, rdma]
    profile = made[f"{NETWORK}.{rdma}"].attributes
    assert profile["network_profile"] == "projects/llm-ml-dev/global/networkProfiles/us-central1-b-vpc-roce"
    assert profile["mtu"] == made[f"{NETWORK}.{gvnic}"].attributes["mtu"] == 8896
    assert [r.name for r in gpu(made, FIREWALL)] == [gvnic], "a RoCE network takes no rules"
    assert made[f"{POOL}.main_x"].attributes["node_locations"] == ["us-central1-b"]


def test_u47_a_cluster_has_several_networks_only_if_a_pool_needs_them():
    cluster = "google_container_cluster.main"
    assert graph({"x": MEGA})[cluster].attributes["enable_multi_networking"] is True
    assert graph({"x": MEGA})[cluster].attributes["datapath_provider"] == "ADVANCED_DATAPATH"
    for networking in ("none", "dranet"):
        made = graph({"x": {**MEGA, "networking": networking}})
        assert "enable_multi_networking" not in made[cluster].attributes
        assert not gpu(made, NETWORK)


@pytest.mark.parametrize(
    ("machine", "networking", "managed"),
    [
        ("a3-megagpu-8g", "dranet", True),
        ("ct6e-standard-4t", "auto", True),
        ("a4x-maxgpu-4g-metal", "auto", True),
        ("g2-standard-8", "auto", False),
        ("a3-ultragpu-8g", "none", False),
    ],
)
def test_gke_makes_the_networks_of_dranet(machine, networking, managed):
    made = graph({"x": {"machine": machine, "nodes": 1, "networking": networking}})
    attributes = made[f"{POOL}.main_x"].attributes
    assert attributes["network_config"] == {
        "enable_private_nodes": True,
        **({"accelerator_network_profile": "auto"} if managed else {}),
    }
    labels = attributes["node_config"].get("labels", {})
    assert (labels.get("cloud.google.com/gke-networking-dra-driver") == "true") is managed
    metal = labels.get("cloud.google.com/gke-dpv2-unified-cni")
    assert metal == ("cni-migration" if machine.endswith("metal") else None)


def test_pools_of_one_machine_type_share_their_networks():
    """Eight VPCs for each pool would soon be more than a project may have."""
    made = graph(
        {"x": MEGA, "y": {**MEGA, "capacity": "spot"}, "z": {**ULTRA, "machine": "a3-ultragpu-8g-nolssd"}}
    )
    assert interfaces(made, "main_x") == interfaces(made, "main_y")
    assert len(gpu(made, NETWORK)) == 8 + 2
    assert interfaces(made, "main_z")[0][0] == "main_a3-ultragpu-8g-a_gvnic-1"


def test_rdma_networks_of_two_zones_are_two():
    made = graph({"x": {**ULTRA, "zones": ["a"]}, "y": {**ULTRA, "zones": ["b"]}}, zones=["a", "b"])
    assert {r.name for r in gpu(made, NETWORK)} == {
        f"main_a3-ultragpu-8g-{zone}_{part}" for zone in "ab" for part in ("gvnic-1", "rdma")
    }


# Ranges


def networks(lock):
    """Cluster and machine type → range."""
    held = lock.environment("ml-dev").gpu_networks
    return {f"{key}/{name}": str(one) for key, found in held.items() for name, one in found.items()}


def test_ranges_are_allocated_once_and_never_overlap():
    made = one_cluster({"x": MEGA, "y": ULTRA})
    lock = allocate(made, Lock())
    assert set(networks(lock)) == {"main/a3-megagpu-8g", "main/a3-ultragpu-8g-a"}
    ranges = lock.environment("ml-dev").ranges["main"].by_kind().values()
    every = [*ranges, *lock.environment("ml-dev").gpu_networks["main"].values()]
    for index, one in enumerate(every):
        assert one.subnet_of(ipaddress.ip_network("10.64.0.0/10"))
        assert not any(one.overlaps(other) for other in every[index + 1 :])
    more = allocate(one_cluster({"w": {**MEGA, "machine": "a3-highgpu-8g"}, "y": ULTRA, "x": MEGA}), lock)
    assert networks(lock).items() < networks(more).items()


def test_the_lock_holds_them_and_a_lock_without_them_stays_valid(tmp_path):
    made = one_cluster({"x": MEGA})
    path = tmp_path / "llm.lock.yaml"
    plain = allocate(one_cluster({}), Lock())
    path.write_text(lock_text(plain))
    assert "gpu_networks" not in path.read_text()
    assert read_lock(path) == plain
    lock = allocate(made, read_lock(path))
    assert lock.environment("ml-dev").ranges == plain.environment("ml-dev").ranges
    path.write_text(lock_text(lock))
    assert read_lock(path) == lock == allocate(made, lock)
    assert merged(lock, plain) == merged(plain, lock) == lock
    subnets = [r.attributes["ip_cidr_range"] for r in gpu(graph_of(made, lock), SUBNET)]
    held = ipaddress.ip_network(networks(lock)["main/a3-megagpu-8g"])
    assert subnets == [str(piece) for piece in held.subnets(3)]


def test_ranges_of_what_is_gone_stay_until_prune():
    lock = allocate(one_cluster({"x": MEGA, "y": ULTRA}), Lock())
    fewer = one_cluster({"y": ULTRA})
    assert networks(allocate(fewer, lock)) == networks(lock)
    assert set(networks(prune(fewer, lock))) == {"main/a3-ultragpu-8g-a"}
    assert networks(prune(one_cluster({}), lock)) == {}


def test_a_renamed_cluster_keeps_its_networks():
    lock = allocate(one_cluster({"x": MEGA}), Lock())
    spec = {"zones": ["a"], "node_pools": {"system": SYSTEM, "x": MEGA}, "renamed_from": "main"}
    renamed = blueprint({"ml-dev": {"clusters": {"other": spec}}})
    after = allocate(renamed, lock)
    assert list(networks(after).values()) == list(networks(lock).values())
    made = graph_of(renamed, after)
    name = f"{NETWORK}.other_a3-megagpu-8g_1"
    assert made[name].attributes["name"] == "llm-main-a3-megagpu-8g-1"
    assert made.moves[f"{NETWORK}.main_a3-megagpu-8g_1"] == name


@pytest.mark.parametrize(
    ("space", "subnets", "found", "each"),
    [
        ("10.0.0.0/8", 8, "10.0.0.0/19", 22),
        ("10.0.0.0/8", 9, "10.0.0.0/18", 22),
        ("10.0.0.0/16", 4, "10.0.0.0/22", 24),
        ("10.0.0.0/22", 5, "10.0.0.0/24", 27),
        ("10.0.0.0/25", 9, None, None),
    ],
)
def test_small_address_spaces_get_small_networks(space, subnets, found, each):
    network = free_gpu_range(ipaddress.ip_network(space), subnets, Taken())
    assert (network and str(network)) == found
    if network:
        pieces = cut(network, subnets)
        assert len(set(pieces)) == subnets
        assert {piece.prefixlen for piece in pieces} == {each}


def test_a_full_address_space_is_told_with_the_way_out():
    pools = {f"x{zone}": {**ULTRA, "zones": [zone]} for zone in "abcf"}
    made = one_cluster(pools, environment={"network": {"address_space": "10.0.0.0/20"}})
    with pytest.raises(InputError, match="no room for the GPU networks of a3-ultragpu-8g-") as caught:
        allocate(made, Lock())
    assert "dranet" in caught.value.hint


# Kubernetes


def objects(text):
    return [one for one in yaml.safe_load_all(text) if one]


def kubernetes(made):
    (env,) = made.environments.values()
    return manifests(made, env)


def test_pods_ask_for_each_interface_by_an_object_that_names_vpc_and_subnet():
    made = one_cluster({"x": ULTRA})
    ((name, text),) = kubernetes(made).items()
    assert name == "main-gpu-networks.yaml"
    found = objects(text)
    written = graph_of(made)
    vpcs = {r.attributes["name"] for r in written.of_type(NETWORK)}
    subnets = {r.attributes["name"] for r in written.of_type(SUBNET)}
    parameters = {o["metadata"]["name"]: o["spec"] for o in found if o["kind"] == "GKENetworkParamSet"}
    names = ["gvnic-1", *(f"rdma-{number}" for number in range(8))]
    assert list(parameters) == [f"a3-ultragpu-8g-a-{part}" for part in names]
    for part, spec in zip(names, parameters.values(), strict=True):
        assert spec["vpc"] in vpcs and spec["vpcSubnet"] in subnets
        assert spec["deviceMode"] == ("NetDevice" if part == "gvnic-1" else "RDMA")
    for network in (o for o in found if o["kind"] == "Network"):
        assert network["spec"]["type"] == "Device"
        assert network["spec"]["parametersRef"]["name"] == network["metadata"]["name"] in parameters


L4 = {"machine": "g2-standard-8", "nodes": {"min": 0, "max": 4}}


def test_a_compute_class_falls_back_in_the_order_that_is_written():
    pools = {"l4-spot": {**L4, "capacity": "spot"}, "l4": L4, "tpu": {**TPU, "slices": 2}}
    made = one_cluster(pools, compute_classes={"serve": ["l4-spot", "l4", "tpu", "missing"], "empty": []})
    assert list(kubernetes(made)) == ["main-compute-classes.yaml"]
    (found,) = objects(kubernetes(made)["main-compute-classes.yaml"])
    assert (found["apiVersion"], found["kind"]) == ("cloud.google.com/v1", "ComputeClass")
    assert found["metadata"]["name"] == "serve"
    assert found["spec"]["priorities"] == [
        {"nodepools": ["l4-spot"]}, {"nodepools": ["l4"]}, {"nodepools": ["tpu-1", "tpu-2"]},
    ]  # fmt: skip
    assert found["spec"]["nodePoolAutoCreation"] == {"enabled": False}


TPU = {"machine": "ct6e-standard-4t", "topology": "4x4"}


def test_pools_of_a_class_are_labelled_for_it_and_keep_others_off_once():
    pools = {"l4-spot": {**L4, "capacity": "spot", "node_labels": {"example.com/role": "serve"}}, "l4": L4}
    made = graph(pools, compute_classes={"serve": ["l4-spot"]})
    config = made[f"{POOL}.main_l4-spot"].attributes["node_config"]
    assert config["labels"] == {"example.com/role": "serve", "cloud.google.com/compute-class": "serve"}
    assert [(taint["key"], taint["value"]) for taint in config["taint"]] == [
        ("nvidia.com/gpu", "present"), ("cloud.google.com/compute-class", "serve"),
    ]  # fmt: skip
    other = made[f"{POOL}.main_l4"].attributes["node_config"]
    assert "labels" not in other and len(other["taint"]) == 1


def test_a_pool_serves_one_class_whatever_their_order_in_the_file():
    for order in (["b", "a"], ["a", "b"]):
        classes = {"a": ["l4"], "b": ["l4", "x"]}
        made = one_cluster({"l4": L4, "x": L4}, compute_classes={name: classes[name] for name in order})
        (text,) = kubernetes(made).values()
        found = {one["metadata"]["name"]: one["spec"]["priorities"] for one in objects(text)}
        assert found == {"a": [{"nodepools": ["l4"]}], "b": [{"nodepools": ["x"]}]}
        label = graph_of(made)[f"{POOL}.main_l4"].attributes["node_config"]["labels"]
        assert label == {"cloud.google.com/compute-class": "a"}


def test_the_order_of_the_file_changes_no_byte():
    pools = {"x": MEGA, "y": ULTRA, "l4": L4, "tpu": TPU}
    classes = {"b": ["l4"], "a": ["tpu"]}
    there = one_cluster(pools, compute_classes=classes)
    back = one_cluster(dict(reversed(pools.items())), compute_classes=dict(reversed(classes.items())))
    lock = allocate(there, Lock())
    assert kubernetes(there) == kubernetes(back)
    assert dumps(stacks(there, lock)[0]) == dumps(stacks(back, lock)[0])


def test_nothing_is_written_where_nothing_is_asked_for():
    assert kubernetes(one_cluster({"l4": L4})) == {}
    assert NodePool.model_validate(L4).networking == "none"


# What is not provisioned is told


HEAD = "{apiVersion: groundplan/v1, name: llm, environments: {ml-dev: {clusters: {main: {zones: [a, b], "


@pytest.mark.parametrize(
    ("machine", "rest", "message"),
    [
        ("g2-standard-8", "networking: tcpx", "g2-standard-8 takes no tcpx networks"),
        ("a3-megagpu-8g", "networking: rdma", "a3-megagpu-8g takes tcpxo networks, not rdma"),
        ("a4x-maxgpu-4g-metal", "networking: rdma", "a4x-maxgpu-4g-metal takes no rdma networks"),
        ("a3-ultragpu-8g", "networking: auto", "RDMA networks belong to one zone"),
    ],
)
def test_a_pool_that_cannot_have_its_networks_is_refused(machine, rest, message):
    text = f"{HEAD} node_pools: {{x: {{machine: {machine}, nodes: 1, capacity: spot, {rest}}}}}}}}}}}}}}}"
    _, diagnostics = judge(Source("x.yaml", text))
    assert message in " ".join(one.message for one in diagnostics if one.severity == "error")


def test_a_pool_of_two_classes_is_told():
    pools = "node_pools: {x: {machine: e2-standard-4, nodes: 1}}"
    text = f"{HEAD} compute_classes: {{b: [x], a: [x]}}, {pools}}}}}}}}}}}"
    (found,) = [one for one in judge(Source("x.yaml", text))[1] if one.code == "LT001"]
    assert found.path.endswith("compute_classes.b[0]")
    assert "serves another compute class already" in found.message
