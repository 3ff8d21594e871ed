"""The rules over whole tables: every machine with every disk, way to obtain it, topology, and so on."""

import pytest
from blueprint_texts import cut, found, one
from rules_factory import judged, message, pool, refused

from groundplan.blueprints.model import Cluster, NodePool
from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules import RULES
from groundplan.blueprints.rules.disks import DATA_ONLY, TYPES
from groundplan.blueprints.rules.examples import complete, example
from groundplan.facts.accelerators import CAPACITY, catalog, machine, tpu_topologies
from groundplan.facts.accelerators.model import Machine

ACCELERATED = sorted(catalog().machines)
OTHERS = [
    "n1-standard-8",
    "e2-standard-4",
    "n2-standard-8",
    "n4-standard-8",
    "c3-standard-8",
    "h4d-standard-192",
]
SCALED = "nodes: {min: 0, max: 2}"


def obtained(name):
    """A way in which a machine can be obtained, with the rest that it needs to be accepted."""
    facts: Machine = machine(name)
    way = next(w for w in ("spot", "flex-start", "{reservation: r}", "on-demand") if _offers(facts, w))
    topology = f", topology: {facts.tpu.topology}" if facts.tpu else ""
    return f"machine: {name}, capacity: {way}, networking: auto, {SCALED}{topology}"


def _offers(facts, way):
    return facts.offers("reservation" if "reservation" in way else way) is not False


@pytest.mark.parametrize("name", [*ACCELERATED, *OTHERS])
def test_every_machine_can_be_had_in_some_way_without_a_word(name):
    facts = machine(name)
    if facts.series in ("A3 Edge", "A4X Max"):
        assert not refused(obtained(name))
    else:
        assert judged(obtained(name)) == {}


@pytest.mark.parametrize("name", [*ACCELERATED, *OTHERS])
def test_boot_disks_are_exactly_those_of_the_catalog(name):
    for disk in TYPES:
        found_codes = refused(f"{obtained(name)}, boot_disk: {{type: {disk}}}")
        wanted = "DK002" if disk in DATA_ONLY else "" if disk in machine(name).boot_disks else "DK001"
        assert found_codes == ({wanted} - {""}), disk


@pytest.mark.parametrize("name", ACCELERATED)
def test_ways_are_refused_exactly_where_the_catalog_knows_that_there_are_none(name):
    facts = machine(name)
    topology = f", topology: {facts.tpu.topology}" if facts.tpu else ""
    for way in CAPACITY:
        written = "{reservation: r}" if way == "reservation" else way
        spec = f"machine: {name}, networking: auto, capacity: {written}, {SCALED}{topology}"
        disputed = facts.series == "A3 Edge" and way in ("flex-start", "queued")
        codes = refused(spec, "zones: [us-east5-a]\nregion: us-east5")
        assert bool(codes) == (facts.offers(way) is False and not disputed), (way, codes)
        assert codes <= {"CO013", "CO014", "CO015", "CO016", "CO017", "CO023"}


@pytest.mark.parametrize("name", [n for n in ACCELERATED if machine(n).gpu])
def test_partitions_are_exactly_those_of_the_catalog(name):
    sizes = catalog().gpus[machine(name).gpu.type].partitions
    every = {size for model in catalog().gpus.values() for size in model.partitions or ()}
    for size in every:
        codes = refused(f"{obtained(name)}, gpu: {{partition: {size}}}")
        if sizes is None:
            assert not codes
        else:
            assert codes == ({"GP005"} if not sizes else set() if size in sizes else {"GP006"}), size


@pytest.mark.parametrize("name", [n for n in ACCELERATED if machine(n).tpu])
def test_every_slice_of_a_machine_is_accepted(name):
    listed = tpu_topologies(name)
    for topology in listed[:12] + listed[-6:]:
        spec = f"machine: {name}, capacity: {{reservation: r}}, topology: {topology}"
        assert not refused(spec), topology


#: machine, topology, code, what the hint suggests
TOPOLOGIES = [
    ("ct6e-standard-4t", "4x4x4", "TP001", "`8x8`"),
    ("ct5p-hightpu-4t", "8x8", "TP001", "`4x4x4`"),
    ("ct5p-hightpu-4t", "4x4x2", "TP002", "`2x4x4`"),
    ("ct5p-hightpu-4t", "8x4x4", "TP002", "`4x4x8`"),
    ("ct5p-hightpu-4t", "4x4x6", "TP002", "`4x4x4`"),
    ("ct5p-hightpu-4t", "64x64x64", "TP002", "`"),
    ("ct6e-standard-4t", "4x2", "TP002", "`2x4`"),
    ("ct6e-standard-4t", "32x32", "TP002", "`16x16`"),
    ("ct5p-hightpu-4t", "3x5x7", "TP003", "`4x4x8`"),
    ("ct6e-standard-4t", "1x1", "TP003", "`2x2`"),
    ("ct5lp-hightpu-4t", "3x3", "TP003", "`2x4`"),
    ("ct6e-standard-1t", "2x2", "TP005", "machine: ct6e-standard-4t"),
    ("ct6e-standard-8t", "4x4", "TP005", "topology: 2x4"),
    ("tpu7x-standard-1t", "2x2x1", "TP005", "machine: tpu7x-standard-4t"),
    ("ct5p-hightpu-4t", "0x4x4", "TP003", "`"),
]


@pytest.mark.parametrize(("name", "topology", "code", "hint"), TOPOLOGIES)
def test_a_topology_that_does_not_exist_is_one_mistake_with_a_suggestion(name, topology, code, hint):
    spec = f"machine: {name}, capacity: {{reservation: r}}, topology: {topology}"
    assert refused(spec) - {"ND002"} == {code}
    assert hint in message(spec, code)
    (diagnostic,) = [d for d in found(pool(spec)) if d.code == code]
    assert cut(pool(spec), diagnostic) == topology


@pytest.mark.parametrize(
    "topology", ["4x4x", "x4x4", "4×4×4", "4x4x4x4", "4 x 4", "99999x4x4", "-4x4x4", "four"]
)
def test_what_is_no_topology_is_told_how_one_is_written(topology):
    spec = f"machine: ct5p-hightpu-4t, capacity: spot, topology: {topology}"
    assert "4x4x4" in message(spec, "BP003")


def test_the_order_of_sides_of_v4_is_disputed_and_not_refused():
    spec = "machine: ct4p-hightpu-4t, capacity: {reservation: r}, topology: 8x4x4"
    assert judged(spec) == {"TP002": "warning"}
    said = message(spec, "TP002")
    assert said.count("checked 2026-11-30") == 2
    assert "4x4x8" in said


DISPUTED = [
    ("machine: a3-edgegpu-8g, networking: auto, capacity: flex-start, " + SCALED, "CO013", ""),
    ("machine: a2-ultragpu-1g, gpu: {type: nvidia-tesla-a100}, " + SCALED, "GP001", ""),
    ("machine: g4-standard-48, confidential: true, capacity: spot, " + SCALED, "HW003", ""),
    ("machine: a3-highgpu-1g, capacity: flex-start, " + SCALED, "CO012", "min_version: 1.32.5-gke.1"),
    ("machine: ct6e-standard-4t, topology: 2x2, capacity: flex-start, " + SCALED, "CO024", "zones: [b]"),
]


@pytest.mark.parametrize(("spec", "code", "more"), DISPUTED)
def test_where_sources_disagree_both_are_named_and_nothing_is_refused(spec, code, more):
    assert judged(spec, more) == {code: "warning"}
    said = message(spec, code, more)
    assert said.count("(checked 20") >= 2
    assert "Sources disagree on" in said


def test_every_dispute_that_a_rule_meets_has_two_sources():
    assert all(len(dispute.claims) >= 2 for dispute in catalog().disputes)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("machine: g4-standard-48, capacity: {reservation: r}, " + SCALED, "reserved"),
        ("machine: tpu7x-standard-1t, topology: 1x1x1, capacity: queued, " + SCALED, "obtained by queued"),
        ("machine: ct6e-standard-1t, topology: 1x1, placement: compact, " + SCALED, "placed compactly"),
        (
            "machine: a3-megagpu-8g, networking: auto, confidential: true, capacity: spot, " + SCALED,
            "confidential",
        ),
        (
            "machine: a4x-maxgpu-4g-metal, capacity: {reservation: r}, gpu: {partition: 1g.5gb}, " + SCALED,
            "partitioned",
        ),
    ],
)
def test_what_no_source_confirms_is_warned_of_and_never_refused(spec, what):
    assert judged(spec)["MA003"] == "warning"
    assert not refused(spec)
    assert f"can be {what}" in message(spec, "MA003")


@pytest.mark.parametrize(
    ("version", "machine_type", "severity"),
    [
        ("1.31", "a3-highgpu-1g", "error"),
        ("1.32.1", "a3-highgpu-1g", "error"),
        ("1.32.2-gke.1651999", "a3-highgpu-1g", "error"),
        ("1.32.2-gke.1652000", "a3-highgpu-1g", "warning"),
        ("1.32", "a3-highgpu-1g", "warning"),
        ("1.33.0-gke.1712000", "a3-highgpu-1g", None),
        ("1.33", "a3-highgpu-1g", None),
        ("1.34", "a3-highgpu-1g", None),
        ("1.32.2-gke.1652000", "ct5p-hightpu-4t", "error"),
        ("1.33.0-gke.1711999", "ct5p-hightpu-4t", "error"),
        ("1.33.1", "ct5p-hightpu-4t", None),
    ],
)
def test_versions_that_are_too_old_for_flex_start(version, machine_type, severity):
    topology = "topology: 2x2x1, " if machine_type.startswith("ct") else ""
    spec = f"machine: {machine_type}, {topology}capacity: flex-start, {SCALED}"
    more = f"region: us-east5\nzones: [a]\nmin_version: {version}"
    assert judged(spec, more).get("CO012") == severity


@pytest.mark.parametrize(
    ("version", "refused_too"),
    [("1.26", True), ("1.31.1-gke.5", True), ("1.32.11-gke.1173999", True), ("1.32.11-gke.1174000", False),
     ("1.32", False), ("1.33.0-gke.1", False), ("1.34", False)],
)  # fmt: skip
def test_versions_that_are_too_old_for_gpudirect(version, refused_too):
    spec = f"machine: a3-megagpu-8g, capacity: spot, networking: auto, {SCALED}"
    assert ("NW007" in refused(spec, f"zones: [a]\nmin_version: {version}")) is refused_too


@pytest.mark.parametrize("vcpus", [4, 8, 16, 32, 64, 96])
@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "gpu", ["nvidia-tesla-t4", "nvidia-tesla-p4", "nvidia-tesla-v100", "nvidia-tesla-p100"]
)
def test_gpus_on_n1_machines(gpu, count, vcpus):
    limits = catalog().cpu_families["n1"].attachable_gpus[gpu]
    spec = f"machine: n1-standard-{vcpus}, gpu: {{type: {gpu}, count: {count}}}, {SCALED}"
    wanted = {"GP003"} if count not in limits else {"GP004"} if vcpus > limits[count] else set()
    assert refused(spec) == wanted


@pytest.mark.parametrize(
    ("disk", "at", "code", "severity"),
    [
        ("type: hyperdisk-ml, size: 3GiB", "3GiB", "HM001", "error"),
        ("type: hyperdisk-ml, size: 65TiB", "65TiB", "HM001", "error"),
        ("type: hyperdisk-ml, size: 64TiB", "", "", ""),
        ("type: hyperdisk-ml, size: 1000GiB, throughput: 114MiB/s", "114MiB/s", "HM002", "error"),
        ("type: hyperdisk-ml, size: 1000GiB, throughput: 115MiB/s", "", "", ""),
        ("type: hyperdisk-ml, size: 1TiB, throughput: 2097153MiB/s", "2097153MiB/s", "HM003", "error"),
        ("type: hyperdisk-ml, size: 1TiB, throughput: 2097152MiB/s", "2097152MiB/s", "HM003", "warning"),
        ("type: hyperdisk-ml, size: 1TiB, throughput: 1144409MiB/s", "", "", ""),
        ("type: hyperdisk-balanced, size: 3GiB", "3GiB", "DK009", "error"),
        ("type: pd-sd, size: 3TiB", "pd-sd", "DK010", "error"),
        ("type: hyperdisk-ml, size: 99999999999PiB", "99999999999PiB", "HM001", "error"),
    ],
)
def test_disks_have_limits(disk, at, code, severity):
    text = one(f"storage: {{disks: {{d: {{{disk}, zones: [a]}}}}}}")
    said = [(cut(text, d), d.code, d.severity) for d in found(text) if d.code != "LT001"]
    assert said == ([(at, code, severity)] if code else [])


@pytest.mark.parametrize(
    ("bad", "hint"),
    [
        ("max_run_duration: -3d", "3d"),
        ("max_run_duration: 90", "a unit"),
        ("nodes: 4.5", "{min: 0, max: 4}"),
        ("nodes: 99999999999999999999", "write a number".capitalize()),
        ("boot_disk: {size: 200}", "200GiB"),
        ("boot_disk: {size: -200GiB}", "200GiB"),
        ("slices: 100000", "at most 1000"),
        ("gpu: {count: 0}", "at least 1"),
        ("local_ssd: {count: -1}", "at least 1"),
    ],
)
def test_quantities_that_cannot_be_are_told_how_they_are_written(bad, hint):
    spec = f"machine: a3-highgpu-1g, capacity: flex-start, {bad}" + ("" if "nodes:" in bad else f", {SCALED}")
    assert hint in message(spec, "BP003")


def test_a_number_with_digits_too_many_is_warned_of():
    assert "the largest clusters of GKE have 65,000" in message(
        "machine: e2-standard-4, nodes: 1000000", "ND004"
    )


#: Rules in which one key alone is wrong, or the other is not written.
ALONE = {
    "CO024", "CO026", "CO027", "DK002", "GP007", "GP011", "IS003", "MA001", "MA002", "ND004", "NW004",
    "PL001", "RS007", "UP006",
}  # fmt: skip


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.pool], ids=lambda rule: rule.code)
def test_rules_of_pools_point_at_what_a_key_conflicts_with(rule):
    said = [d for d in found(complete(example(rule.code).bad), top="") if d.code == rule.code]
    assert said
    assert rule.code in ALONE or all(d.related for d in said)


EXTERNAL = "external: {reservations: {h: {DECLARED}}}"
CONSUMER = "machine: a3-megagpu-8g, networking: auto, capacity: {reservation: CAPACITY}, nodes: 4"


@pytest.mark.parametrize(
    ("declared", "capacity", "codes"),
    [
        ("machine: a3-megagpu-8g", "h", set()),
        ("machine: a3-highgpu-8g", "h", {"RS006"}),
        ("machine: a3-highgpu-8g", "other", set()),
        ("machine: a3-highgpu-8g, project: ml-capacity", "{name: h, project: ml-capacity}", {"RS006"}),
        ("machine: a3-highgpu-8g, project: ml-capacity", "{name: h, project: ml-others}", set()),
        ("machine: a3-megagpu-8g, nodes: 4", "h", set()),
        ("machine: a3-megagpu-8g, nodes: 3", "h", {"RS008"}),
        ("machine: a3-megagpu-8g, zones: [us-central1-a]", "h", set()),
        ("machine: a3-megagpu-8g, zones: [a]", "h", set()),
        ("machine: a3-megagpu-8g, zones: [us-central1-b]", "h", {"RS007"}),
    ],
)
def test_pools_are_compared_with_reservations_that_are_declared(declared, capacity, codes):
    text = EXTERNAL.replace("DECLARED", declared) + "\n" + pool(CONSUMER.replace("CAPACITY", capacity))
    assert {one.code for one in found(text)} == codes


@pytest.mark.parametrize(("project", "codes"), [("", set()), (", project: ml-capacity", {"RS008"})])
def test_a_shared_reservation_is_counted_over_all_environments(project, codes):
    consumer = CONSUMER.replace("CAPACITY", f"{{name: h{project}}}")
    pools = f"{{system: {{machine: e2-standard-4, nodes: 1}}, x: {{{consumer}}}}}"
    text = (
        "external: {reservations: {h: {machine: a3-megagpu-8g, nodes: 6}}}\n"
        f"defaults: {{clusters: {{main: {{zones: [a], node_pools: {pools}}}}}}}\n"
        "environments: {ml-dev: {}, ml-staging: {}}\n"
    )
    assert {one.code for one in found(text)} == codes


def test_two_machines_cannot_come_from_one_reservation():
    other = "y: {machine: a3-highgpu-8g, networking: auto, capacity: {reservation: h}, nodes: 4}"
    text = pool(CONSUMER.replace("CAPACITY", "h") + "}, " + other[:-1])
    (diagnostic,) = [one for one in found(text) if one.severity == "error"]
    assert (diagnostic.code, cut(text, diagnostic)) == ("RS006", "a3-highgpu-8g")
    assert [label for label, _ in diagnostic.related] == ["the other pool", "consumed here"]


def test_rules_judge_a_pool_that_stands_in_no_blueprint():
    """So may a policy that can say in a blueprint's words what a plan is going to make."""
    made = NodePool.model_validate({"machine": "a3-highgpu-1g", "capacity": "flex-start", "nodes": 4})
    view = PoolView("x", made, Cluster(), "us-central1")
    said = {rule.code: [*rule.pool(view)] for rule in RULES if rule.pool}
    assert [code for code, problems in said.items() if problems] == ["CO006"]
    assert said["CO006"][0].path == ("nodes",)
