"""The catalog of accelerator machines: what it says, that it is current, and that it is quick to read."""

import datetime
import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from groundplan.facts.accelerators import (
    CAPACITY,
    Catalog,
    LocalSsd,
    Machine,
    Topology,
    catalog,
    checked,
    closest,
    disputes,
    family,
    machine,
    machines,
    tpu_topologies,
    tpu_topology,
    unconfirmed,
)

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "facts" / "accelerators"


def known(name: str) -> Machine:
    found = machine(name)
    assert found is not None, name
    return found


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools_accelerators", ROOT / "tools" / "accelerators.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Columns: accelerator, number, GB of all, vCPUs, GB, fixed Local SSDs, allowed Local SSDs, NICs, Gbps.
SHAPES = {
    "a2-highgpu-1g": ("nvidia-tesla-a100", 1, 40, 12, 85, None, (1, 2, 4, 8), None, 24),
    "a2-megagpu-16g": ("nvidia-tesla-a100", 16, 640, 96, 1360, None, (8,), None, 100),
    "a2-ultragpu-4g": ("nvidia-a100-80gb", 4, 320, 48, 680, 4, (), None, 50),
    "a3-highgpu-1g": ("nvidia-h100-80gb", 1, 80, 26, 234, 2, (), 1, 25),
    "a3-highgpu-8g": ("nvidia-h100-80gb", 8, 640, 208, 1872, 16, (), 5, 1000),
    "a3-megagpu-8g": ("nvidia-h100-mega-80gb", 8, 640, 208, 1872, 16, (), 9, 1800),
    "a3-edgegpu-8g": ("nvidia-h100-80gb", 8, 640, 208, 1872, 16, (), 5, 400),
    "a3-ultragpu-8g": ("nvidia-h200-141gb", 8, 1128, 224, 2952, 32, (), 10, 3600),
    "a4-highgpu-8g": ("nvidia-b200", 8, 1440, 224, 3968, 32, (), 10, 3600),
    "a4x-highgpu-4g": ("nvidia-gb200", 4, 744, 140, 884, 4, (), 6, 2000),
    "a4x-maxgpu-4g-metal": ("nvidia-gb300", 4, 1116, 144, 960, 4, (), 6, 3600),
    "g2-standard-24": ("nvidia-l4", 2, 48, 24, 96, None, (2,), None, None),
    "g2-standard-32": ("nvidia-l4", 1, 24, 32, 128, None, (1,), None, None),
    "g4-standard-6": ("nvidia-rtx-pro-6000", 1, 12, 6, 22, None, (), 1, 20),
    "g4-standard-384": ("nvidia-rtx-pro-6000", 8, 768, 384, 1440, None, (32,), 2, 400),
}


@pytest.mark.parametrize("name", SHAPES)
def test_gpu_machines_have_the_shape_of_the_table(name: str) -> None:
    found = known(name)
    assert found.gpu is not None
    assert found.local_ssd is not None
    assert SHAPES[name] == (
        found.gpu.type,
        found.gpu.count,
        found.gpu.memory_gb,
        found.vcpus,
        found.memory_gb,
        found.local_ssd.fixed,
        found.local_ssd.allowed,
        found.nics,
        found.gbps,
    )


# on-demand, spot, flex-start, reservation
WAYS = {
    "a2-highgpu-1g": (None, True, True, True),
    "a3-highgpu-2g": (False, True, True, None),
    "a3-highgpu-8g": (None, True, True, True),
    "a3-edgegpu-8g": (None, True, False, None),
    "a3-ultragpu-8g": (False, True, True, True),
    "a4-highgpu-8g": (False, True, True, True),
    "a4x-highgpu-4g": (False, False, False, True),
    "a4x-maxgpu-4g-metal": (False, False, False, True),
    "g2-standard-12": (None, True, True, True),
    "ct4p-hightpu-4t": (None, None, False, True),
    "tpu7x-standard-1t": (None, None, None, True),
    "tpu7x-standard-4t": (None, None, True, True),
}


@pytest.mark.parametrize("name", WAYS)
def test_ways_to_obtain_machines(name: str) -> None:
    found = known(name)
    assert WAYS[name] == tuple(found.offers(w) for w in ("on-demand", "spot", "flex-start", "reservation"))
    assert found.offers("queued") is found.offers("flex-start")


def test_only_a_named_reservation_opens_a4x() -> None:
    assert known("a4x-highgpu-4g").offers("any-reservation") is False
    assert known("a3-ultragpu-8g").offers("any-reservation") is None


# kind, extra networks, subnets of the RDMA VPC, MTU, network profile
GPUDIRECT = {
    "a3-highgpu-8g": ("TCPX", 4, 0, 8244, None),
    "a3-megagpu-8g": ("TCPXO", 8, 0, 8244, None),
    "a3-ultragpu-8g": ("RDMA", 1, 8, 8896, "vpc-roce"),
    "a4x-highgpu-4g": ("RDMA", 1, 4, 8896, "vpc-roce"),
    "a4x-maxgpu-4g-metal": ("RDMA", 1, 0, 8896, "vpc-roce-metal"),
}


@pytest.mark.parametrize("name", GPUDIRECT)
def test_gpudirect(name: str) -> None:
    direct = known(name).gpudirect
    assert direct is not None
    assert GPUDIRECT[name] == (
        direct.kind,
        direct.extra_networks,
        direct.rdma_subnets,
        direct.mtu,
        direct.network_profile,
    )


def test_gpudirect_needs_a_patch_of_each_minor_version() -> None:
    direct = known("a3-megagpu-8g").gpudirect
    assert direct is not None
    assert direct.min_gke is not None
    assert direct.min_gke["1.32"] == "1.32.11-gke.1174000"
    assert known("a3-highgpu-4g").gpudirect is None


def test_disks() -> None:
    ultra = known("a3-ultragpu-8g")
    assert ultra.boot_disks == ("hyperdisk-balanced",)
    assert ultra.attaches("hyperdisk-ml")
    assert ultra.disk_limits["hyperdisk-ml"] == 128
    assert not ultra.attaches("hyperdisk-throughput")
    assert not known("a3-highgpu-1g").attaches("hyperdisk-extreme")  # of its series' list, but limited to 0
    assert known("a3-highgpu-4g").attaches("hyperdisk-extreme")
    assert not known("n1-standard-8").attaches("hyperdisk-ml")
    assert not known("ct4p-hightpu-4t").attaches("hyperdisk-ml")
    assert known("ct5p-hightpu-4t").attaches("hyperdisk-ml")
    assert known("n4-standard-8").boot_disks == ("hyperdisk-balanced",)
    assert known("n4-standard-8").attaches("hyperdisk-ml") is None
    assert known("a4-highgpu-8g").hyperdisk_ml_since == datetime.date(2026, 2, 4)


def test_placement() -> None:
    assert known("a2-highgpu-8g").compact_max == 150
    assert known("a3-megagpu-8g").compact_max == 96
    assert known("a4-highgpu-8g").compact_max == 1500
    assert known("n1-standard-8").compact is False
    assert known("c2-standard-60").compact_max == 150
    together = {found.name for found in machines() if found.compact_with_flex_start}
    assert together == {"a3-ultragpu-8g", "a4-highgpu-8g"}
    assert known("h4d-standard-192").compact_with_flex_start
    policy = known("a4x-highgpu-4g").workload_policy
    assert policy is not None
    assert (policy.required, policy.topologies, policy.max_nodes) == ("always", ("1x72",), 18)


def test_a_variant_without_local_ssds_is_its_base_without_them() -> None:
    variant = known("a3-highgpu-8g-nolssd")
    assert variant.local_ssd == LocalSsd()
    assert variant.gpu == known("a3-highgpu-8g").gpu
    assert machine("a3-highgpu-8g-nolssd-nolssd") is None
    assert machine("a4x-maxgpu-4g-metal-nolssd") is None
    assert machine("g2-standard-12-nolssd") is None


def test_n1_takes_gpus_by_number_and_vcpus() -> None:
    found = known("n1-standard-8")
    assert found.gpu is None
    assert found.attachable_gpus["nvidia-tesla-t4"] == {1: 48, 2: 48, 4: 96}
    assert found.attachable_gpus["nvidia-tesla-v100"][1] == 12
    assert (found.vcpus, found.memory_gb) == (8, 30)
    assert known("n1-highcpu-96").memory_gb == 86.4
    assert known("n1-custom-6-20480").vcpus == 6


def test_machines_without_accelerators_follow_from_their_names() -> None:
    assert (known("e2-standard-4").vcpus, known("e2-standard-4").memory_gb) == (4, 16)
    assert known("e2-medium").vcpus == 2
    assert known("c3-standard-88-lssd").vcpus == 88
    assert known("c4a-standard-16").arm
    assert known("n2-custom-8-16384").vcpus == 8
    unknown = [
        "e2-standard-5",
        "e2-standard-4-lssd",
        "n1-standard-12",
        "e2-huge",
        "n2-standard",
        "x9-standard-4",
    ]
    assert [name for name in unknown if machine(name)] == []
    assert machine("ct5p-hightpu-1t") is None
    assert family("ct5p-hightpu-1t") == "ct5p"


def test_tpu_machines() -> None:
    labels = {found.tpu.generation: found.tpu.type for found in machines() if found.tpu}
    assert labels == {
        "v4": "tpu-v4-podslice",
        "v5e": "tpu-v5-lite-podslice",
        "v5p": "tpu-v5p-slice",
        "v6e": "tpu-v6e-slice",
        "tpu7x": "tpu7x",
    }
    assert known("ct6e-standard-8t").is_tpu
    assert known("ct6e-standard-8t").local_ssd == LocalSsd()
    assert not known("g2-standard-4").is_tpu
    assert known("ct5p-hightpu-4t").flex_start_zones == ("us-east5-a",)


@pytest.mark.parametrize(
    ("name", "topology", "expected"),
    [
        ("ct5p-hightpu-4t", "4x4x4", Topology(64, 16, True)),
        ("ct5p-hightpu-4t", "2x2x1", Topology(4, 1, False)),
        ("ct5p-hightpu-4t", "2x2x2", Topology(8, 2, True)),
        ("ct5p-hightpu-4t", "16x16x24", Topology(6144, 1536, True)),
        ("ct5p-hightpu-4t", "16x24x24", None),  # 144 cubes of at most 140
        ("tpu7x-standard-4t", "16x24x24", Topology(9216, 2304, True)),
        ("ct5p-hightpu-4t", "8x4x4", None),  # descending
        ("ct4p-hightpu-4t", "8x4x4", Topology(128, 32, True)),
        ("ct5p-hightpu-4t", "4x4x6", None),
        ("ct5p-hightpu-4t", "4x4x260", None),
        ("ct5p-hightpu-4t", "4x4", None),
        ("ct5p-hightpu-4t", "4x4x4x4", None),
        ("ct5p-hightpu-4t", "0x4x4", None),
        ("ct6e-standard-4t", "2x4", Topology(8, 2, True)),
        ("ct6e-standard-8t", "2x4", Topology(8, 1, False)),
        ("ct6e-standard-8t", "4x4", None),
        ("ct6e-standard-1t", "2x2", None),
        ("ct5lp-hightpu-4t", "16x16", Topology(256, 64, True)),
        ("ct5lp-hightpu-4t", "4x2", None),
        ("tpu7x-standard-1t", "1x1x1", Topology(1, 1, False)),
        ("g2-standard-4", "2x2", None),
        ("no-such-machine", "2x2", None),
    ],
)
def test_tpu_topology(name: str, topology: str, expected: Topology | None) -> None:
    assert tpu_topology(name, topology) == expected


@pytest.mark.parametrize(
    ("name", "number"),
    # the numbers of slices that xpk lists
    [
        ("ct4p-hightpu-4t", 186),
        ("ct5p-hightpu-4t", 414),
        ("tpu7x-standard-4t", 432),
        ("ct5lp-hightpu-4t", 7),
        ("ct6e-standard-4t", 7),
        ("ct6e-standard-8t", 1),
    ],
)
def test_all_slices_of_a_machine(name: str, number: int) -> None:
    listed = tpu_topologies(name)
    assert len(set(listed)) == len(listed) == number
    slices = [tpu_topology(name, topology) for topology in listed]
    assert all(slices)
    chips = [found.chips for found in slices if found]
    assert chips == sorted(chips)
    tpu = known(name).tpu
    assert tpu is not None
    assert all(found.nodes * tpu.chips == found.chips for found in slices if found)


def test_search() -> None:
    assert {found.name for found in machines(gpu="nvidia-l4")} == {
        f"g2-standard-{n}" for n in (4, 8, 12, 16, 24, 32, 48, 96)
    }
    assert {found.series for found in machines(gpu="h100")} == {"A3 High", "A3 Edge", "A3 Mega"}
    assert {found.series for found in machines(gpu="A100")} == {"A2 High", "A2 Ultra"}
    assert {found.name for found in machines(gpu="h100", capacity="on-demand")} == {
        "a3-highgpu-8g",
        "a3-edgegpu-8g",
        "a3-megagpu-8g",
    }
    assert "n1-standard-16" in {found.name for found in machines(gpu="p100")}
    assert "n1-standard-96" not in {found.name for found in machines(gpu="p100")}  # at most 64 vCPUs
    assert "e2-standard-4" not in {found.name for found in machines()}
    assert not machines(gpu="h300")
    assert {found.name for found in machines(capacity="spot")}.isdisjoint(
        {"a4x-highgpu-4g", "a4x-maxgpu-4g-metal"}
    )
    with pytest.raises(KeyError):
        machines(capacity="barter")


def test_closest_names() -> None:
    assert closest("g2-standard-13")[0] == "g2-standard-12"
    assert closest("ct5p-hightpu-1t") == ["ct5p-hightpu-4t"]
    assert closest("a3-ultra-8g")[0] == "a3-ultragpu-8g"
    assert closest("h3-ultragpu-8g")[0] == "a3-ultragpu-8g"
    assert closest("e2-standard-5") == ["e2-standard-4", "e2-standard-2", "e2-standard-8"]
    assert closest("a3-megagpu")[0] == "a3-megagpu-8g"
    assert closest("nothing like it") == []


def test_what_is_not_confirmed_is_named() -> None:
    assert unconfirmed(known("a4x-highgpu-4g")) == ["confidential", "compact", "gpudirect.min_gke"]
    assert {"nics", "gbps", "consumption.on_demand"} <= set(unconfirmed(known("g2-standard-12")))
    assert "gpu.partitions" in unconfirmed(known("a4x-maxgpu-4g-metal"))
    assert "consumption.spot" in unconfirmed(known("ct5p-hightpu-4t"))


def test_disputes_give_both_sides() -> None:
    (vcpus, disks) = disputes(known("g2-standard-24"))
    assert (vcpus.claims, vcpus.used) == ({"CA": "23", "AO": "24"}, "24")
    assert disks.about == "data disks"
    assert not disputes(known("a4-highgpu-8g"))
    assert all(len(dispute.claims) >= 2 for dispute in catalog().disputes)


def test_partitions_and_sharing() -> None:
    gpus = catalog().gpus
    assert gpus["nvidia-tesla-a100"].partitions == {"1g.5gb": 7, "2g.10gb": 3, "3g.20gb": 2, "7g.40gb": 1}
    assert gpus["nvidia-l4"].partitions == {}
    assert gpus["nvidia-gb300"].partitions is None
    sharing = catalog().limits.sharing
    assert (sharing.min_clients, sharing.max_clients) == (2, 48)
    assert catalog().features["managed_dranet"].min_gke == "1.34.1-gke.1829001"
    assert catalog().limits.hyperdisk_ml.max_attached == 2500


def test_every_machine_names_sources_that_were_checked() -> None:
    for found in (*machines(), known("e2-standard-4")):
        for group, sources in found.sources.items():
            assert sources, (found.name, group)
            assert checked(sources) >= datetime.date(2026, 11, 1)
    assert all(source.url.startswith("https://") for source in catalog().sources.values())


def test_capacity_words_are_those_of_the_blueprint() -> None:
    from groundplan.blueprints.model import CAPACITY_WORDS

    assert set(CAPACITY) == {*CAPACITY_WORDS, "reservation"}


def test_the_catalog_is_current() -> None:
    made = generator().generated(FOLDER / "catalog.yaml")
    assert (FOLDER / "catalog.json").read_bytes() == made, "run: python tools/accelerators.py"


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("nics: 1, gbps: 25", "nic: 1, gbps: 25", "unknown field `nic`"),
        ("gbps: 24,", "gbps: fast,", "Expected `int | null`"),
        (
            "network: [AO, CT, NB]",
            "network: []",
            "a2-highgpu-1g: gbps, managed_dranet: no source",
        ),
        ("network: [AO, CT, NB]", "network: [XY]", "a2-highgpu-1g: no such source: XY"),
        ("of: [g2-standard-24]", "of: [g2-standard-23]", "no such machine: g2-standard-23"),
        ("nvidia-tesla-t4: {1:", "nvidia-tesla-t5: {1:", "n1: no such GPU: nvidia-tesla-t5"),
        ('HD: "2,097,152 MiB/s", REL', 'HD: "2,097,152 MiB/s", CT', "source REL: nothing cites it"),
    ],
)
def test_mistakes_in_the_source_stop_the_generator(
    tmp_path: Path, right: str, wrong: str, complaint: str
) -> None:
    text = (FOLDER / "catalog.yaml").read_text()
    assert right in text
    (tmp_path / "catalog.yaml").write_text(text.replace(right, wrong))
    with pytest.raises(SystemExit) as stopped:
        generator().generated(tmp_path / "catalog.yaml")
    assert complaint in str(stopped.value)


def test_reading_is_quick() -> None:
    def seconds() -> float:
        start = time.process_time()
        msgspec.json.decode((FOLDER / "catalog.json").read_bytes(), type=Catalog)
        return time.process_time() - start

    assert min(seconds() for _ in range(10)) < 0.005


def test_reading_needs_neither_yaml_nor_pydantic() -> None:
    code = "import sys; from groundplan.facts.accelerators import machine; machine('g2-standard-4'); "
    code += "print({'yaml', 'pydantic', 'difflib'} & {*sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
