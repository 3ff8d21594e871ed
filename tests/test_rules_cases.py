"""Problems that people reported in public, as blueprints: what is refused or warned of, what is written."""

import pytest
from blueprint_texts import codes, found, one
from rules_factory import cluster, judged, made, message, pool, refused

SCALED = "nodes: {min: 0, max: 4}"
H100 = f"machine: a3-highgpu-1g, {SCALED}"
L4 = f"machine: g2-standard-12, {SCALED}"
RESERVED = "{reservation: h100}"


@pytest.mark.parametrize("way", ["spot", "flex-start", "queued"])
def test_u02_these_ways_consume_no_reservation(way):
    affinity = made(f"{H100}, capacity: {way}")["node_config"]["reservation_affinity"]
    assert affinity == {"consume_reservation_type": "NO_RESERVATION"}


@pytest.mark.parametrize(("way", "code"), [("spot", "CO004"), ("flex-start", "CO005"), ("queued", "CO005")])
@pytest.mark.parametrize("other", ["reservation: h100", "any-reservation: {}"])
def test_u02_a_reservation_beside_them_is_refused(way, code, other):
    assert refused(f"{H100}, capacity: {{{way}: {{}}, {other}}}") == {code}


def test_u06_the_driver_is_always_written():
    (gpu,) = [made(L4)["node_config"]["guest_accelerator"]]
    assert gpu["gpu_driver_installation_config"] == {"gpu_driver_version": "DEFAULT"}
    assert judged(f"{L4}, gpu: {{driver: none}}") == {"GP011": "warning"}


def test_u08_a_second_taint_of_gpus_is_said_to_be_needless():
    taint = "node_taints: [{key: nvidia.com/gpu, value: present}]"
    assert judged(f"{L4}, {taint}") == {"TN001": "note"}
    taints = made(f"{L4}, {taint}")["node_config"]["taint"]
    assert [taint["key"] for taint in taints] == ["nvidia.com/gpu"]


def test_u08_a_cluster_of_gpus_alone_is_warned_of():
    assert "TN002" in codes(one(f"clusters: {{main: {{node_pools: {{x: {{{L4}}}}}}}}}"))
    assert "TN002" not in codes(pool(L4))


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("machine: a3-highgpu-8g, capacity: spot, local_ssd: {mode: ephemeral, count: 8}", "DK006"),
        ("machine: a2-highgpu-4g, local_ssd: {mode: block, count: 3}", "DK006"),
        ("machine: g4-standard-6, capacity: spot, local_ssd: {mode: ephemeral}", "DK007"),
        ("machine: ct6e-standard-4t, topology: 2x2, capacity: spot, local_ssd: {mode: block}", "DK007"),
        ("machine: a3-highgpu-8g-nolssd, capacity: spot, local_ssd: {mode: ephemeral}", "DK007"),
    ],
)
def test_u09_local_ssds_are_those_of_the_machine(spec, code):
    assert refused(f"{spec}, {SCALED}") == {code}


def test_u09_both_modes_cannot_be_written_and_a_fixed_number_is():
    assert refused(f"{L4}, local_ssd: {{mode: [ephemeral, block]}}") == {"BP003"}
    h100 = f"machine: a3-highgpu-8g, capacity: spot, networking: auto, {SCALED}"
    for ssd in ("", ", local_ssd: {mode: ephemeral, count: 16}"):
        config = made(h100 + ssd)["node_config"]
        assert config["ephemeral_storage_local_ssd_config"] == {"local_ssd_count": 16}
        assert "local_nvme_ssd_block_config" not in config


def test_u10_a_number_is_fixed_or_not():
    assert refused("machine: e2-standard-4, nodes: 3, autoscaling: {min: 1}") == {"BP001"}
    fixed, scaled = made("machine: e2-standard-4, nodes: 3"), made(f"machine: e2-standard-4, {SCALED}")
    assert (fixed["node_count"], "autoscaling" in fixed, "initial_node_count" in fixed) == (3, False, False)
    assert (scaled.get("node_count"), scaled["autoscaling"]["total_max_node_count"]) == (None, 4)


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (f"{H100}, capacity: flex-start, auto_repair: true", "BP001"),
        ("machine: a3-highgpu-1g, nodes: 4, capacity: flex-start", "CO006"),
        (f"{H100}, capacity: {{flex-start: {{}}, reservation: h}}", "CO005"),
        (f"{H100}, capacity: {{flex-start: {{}}, spot: {{}}}}", "CO002"),
        ("machine: a3-highgpu-1g, nodes: {min: 1, max: 4}, capacity: queued", "CO008"),
    ],
)
def test_u11_five_bad_flex_start_pools(spec, code):
    assert refused(spec) == {code}


def test_u11_and_a_good_one():
    assert not judged(f"{H100}, capacity: flex-start")
    attributes = made(f"{H100}, capacity: flex-start")
    assert attributes["management"]["auto_repair"] is False
    assert attributes["autoscaling"]["total_min_node_count"] == 0
    assert "node_count" not in attributes
    assert "flex-start" in message(f"{H100}, capacity: flex-start, auto_repair: true", "BP001")


@pytest.mark.parametrize("channel", ["rapid", "regular", "stable", "extended", "none"])
@pytest.mark.parametrize("capacity", ["on-demand", "flex-start"])
@pytest.mark.parametrize("version", ["", ", version: 1.34.1-gke.1829001"])
def test_u12_channels_upgrade_and_versions_are_for_clusters_without_one(channel, capacity, version):
    machine = "a3-highgpu-1g" if capacity == "flex-start" else "g2-standard-4"
    spec = f"machine: {machine}, capacity: {capacity}, {SCALED}{version}"
    more = f"zones: [a]\nrelease_channel: {channel}"
    flapping = bool(version) and channel != "none"
    assert refused(spec, more) == ({"UP006"} if flapping else set())
    if not flapping:
        management = made(spec, more)["management"]
        assert management["auto_upgrade"] is (channel != "none" or not version or capacity == "flex-start")
        assert management["auto_repair"] is (capacity != "flex-start")
    else:
        assert "no-minor-or-node-upgrades" in message(spec, "UP006", more)


@pytest.mark.parametrize(
    ("spec", "code", "more"),
    [
        ("machine: a2-ultragpu-8g", "PL001", "zones: [a, b]"),
        ("machine: a2-ultragpu-8g", "PL001", ""),
        ("machine: a2-ultragpu-8g, capacity: queued", "PL003", "zones: [a]"),
        ("machine: a2-ultragpu-8g, upgrade_settings: {strategy: BLUE_GREEN}", "BP001", "zones: [a]"),
    ],
)
def test_u17_compact_placement_is_in_one_zone_and_not_queued(spec, code, more):
    assert refused(f"{spec}, placement: compact, {SCALED}", more) == {code}


def test_u17_one_zone_of_a_pool_is_enough():
    assert not refused(f"machine: a2-ultragpu-8g, placement: compact, zones: [b], {SCALED}", "zones: [a, b]")


def test_u20_a_fixed_number_of_gpus_without_a_reservation_is_warned_of():
    assert judged("machine: g2-standard-12, nodes: 2") == {"CO027": "warning"}
    assert not judged(L4)
    assert not judged(f"machine: g2-standard-12, nodes: 2, capacity: {RESERVED}")
    assert not judged("machine: e2-standard-4, nodes: 2")


@pytest.mark.parametrize("prefix", ["kubernetes.io", "k8s.io", "cloud.google.com", "sandbox.gke.io"])
def test_u23_labels_of_gke_and_kubernetes_are_theirs(prefix):
    spec = f"machine: e2-standard-4, nodes: 1, node_labels: {{{prefix}/role: x}}"
    assert refused(spec) == {"LB005"}
    assert "example.com/role" in message(spec, "LB005")
    assert not refused("machine: e2-standard-4, nodes: 1, node_labels: {example.com/role: x}")


@pytest.mark.parametrize(
    ("machine", "disk", "code"),
    [
        ("n4-standard-8", "pd-balanced", "DK001"),
        ("c4-standard-8", "pd-ssd", "DK001"),
        ("c4a-standard-8", "pd-standard", "DK001"),
        ("a4-highgpu-8g", "pd-balanced", "DK001"),
        ("n2-standard-8", "hyperdisk-ml", "DK002"),
        ("n2-standard-8", "hyperdisk-extreme", "DK002"),
        ("a2-highgpu-1g", "hyperdisk-balanced", "DK001"),
        ("n2-standard-8", "pd-balnced", "DK001"),
    ],
)
def test_u24_machines_boot_from_what_they_take(machine, disk, code):
    networks = "networking: auto, " if machine.startswith("a4") else ""
    spec = f"machine: {machine}, capacity: spot, {networks}{SCALED}, boot_disk: {{type: {disk}}}"
    assert refused(spec) == {code}


def test_u24_a_misspelt_disk_is_suggested_and_small_ones_are_refused():
    assert "`pd-balanced`" in message(
        "machine: n2-standard-8, nodes: 1, boot_disk: {type: pd-balnced}", "DK001"
    )
    assert refused("machine: n2-standard-8, nodes: 1, boot_disk: {size: 4GiB}") == {"BP003"}


@pytest.mark.parametrize(
    ("machine", "gpu", "code"),
    [
        ("e2-standard-4", "type: nvidia-tesla-t4", "GP001"),
        ("n2-standard-4", "type: nvidia-l4", "GP001"),
        ("n1-standard-4", "type: nvidia-l4", "GP001"),
        ("n1-standard-4", "type: nvidia-tesla-a100", "GP001"),
        ("g2-standard-4", "type: nvidia-tesla-t4", "GP001"),
        ("a2-highgpu-1g", "count: 2", "GP002"),
        ("n1-standard-8", "type: nvidia-tesla-t4, count: 3", "GP003"),
        ("n1-standard-96", "type: nvidia-tesla-p100, count: 4", "GP004"),
        ("ct6e-standard-4t", "type: nvidia-l4", "GP001"),
        ("e2-standard-4", "count: 1", "GP012"),
    ],
)
def test_u25_gpus_are_on_machines_that_carry_them(machine, gpu, code):
    topology = "topology: 2x2, " if machine.startswith("ct") else ""
    assert refused(f"machine: {machine}, {topology}{SCALED}, gpu: {{{gpu}}}") == {code}


def test_u25_what_fits_is_accepted_and_what_is_left_out_is_filled_in():
    assert not judged(f"machine: n1-standard-8, {SCALED}, gpu: {{type: nvidia-tesla-t4, count: 2}}")
    assert not judged(f"machine: g2-standard-4, {SCALED}, gpu: {{type: nvidia-l4, count: 1}}")
    gpu = made(f"machine: g2-standard-4, {SCALED}")["node_config"]["guest_accelerator"]
    assert (gpu["type"], gpu["count"]) == ("nvidia-l4", 1)


@pytest.mark.parametrize(
    "key", ["upgrade_settings: {strategy: SHORT_LIVED}", "max_surge: 0", "strategy: SURGE"]
)
def test_u46_strategies_are_not_the_blueprints_to_choose(key):
    assert refused(f"{L4}, {key}") == {"BP001"}
    assert "groundplan decides it" in message(f"{L4}, {key}", "BP001")


def test_u46_what_is_written_is_what_the_provider_takes():
    assert "upgrade_settings" not in made(f"{H100}, capacity: flex-start")
    for spec in (L4, "machine: e2-standard-4, nodes: 1"):
        settings = made(spec)["upgrade_settings"]
        assert settings["strategy"] == "SURGE"
        assert settings["max_surge"] + settings["max_unavailable"] == 1


def test_u47_run_limits_have_units_and_an_end():
    flex = f"{H100}, capacity: flex-start, max_run_duration: "
    assert refused(flex + "8d") == {"CO009"}
    assert refused(flex + "10800") == {"BP003"}
    assert made(flex + "3h")["node_config"]["max_run_duration"] == "10800s"


def test_u47_the_number_of_gpu_networks_cannot_be_wrong():
    mega = f"machine: a3-megagpu-8g, capacity: spot, {SCALED}"
    assert refused(f"{mega}, additional_networks: [a, b, c, d, e, f, g]") == {"BP001"}
    assert refused(f"{mega}, networking: tcpx") == {"NW009"}
    assert judged(mega) == {"NW004": "warning"}
    assert len(made(f"{mega}, networking: auto")["network_config"]["additional_node_network_configs"]) == 8


def test_ten_mistakes_of_capacity_in_one_file_in_one_run():
    pools = {
        "a": ("machine: a3-highgpu-1g, capacity: flex-start, nodes: 4", "CO006"),
        "b": ("machine: a3-highgpu-1g, capacity: queued, nodes: {min: 1, max: 4}", "CO008"),
        "c": (f"{H100}, capacity: flex-start, max_run_duration: 8d", "CO009"),
        "d": (f"{H100}, capacity: {{spot: {{}}, flex-start: {{}}}}", "CO002"),
        "e": (f"machine: a4x-highgpu-4g, capacity: spot, networking: auto, {SCALED}", "CO014"),
        "f": (f"machine: a4-highgpu-8g, networking: auto, {SCALED}", "CO016"),
        "g": (H100, "CO017"),
        "h": (
            "machine: g2-standard-4, nodes: 2, capacity: {reservation: projects/p-one/reservations/r}",
            "RS005",
        ),
        "i": (f"{H100}, capacity: spot, max_run_duration: 5s", "CO026"),
        "j": (f"machine: ct4p-hightpu-4t, topology: 2x2x1, capacity: flex-start, {SCALED}", "CO023"),
    }
    lines = "".join(f"\n      {name}: {{{spec}}}," for name, (spec, _) in pools.items())
    text = cluster(lines.rstrip(",") + "\n    ")
    errors = [one for one in found(text) if one.severity == "error"]
    first = min(one.position.line for one in errors)
    assert [one.code for one in errors] == [code for _, code in pools.values()]
    assert [one.position.line for one in errors] == list(range(first, first + 10))
    assert all(one.hint for one in errors)
