"""The commands about the catalog: the table, the card, what they say of words they do not know."""

import subprocess
import sys

import pytest
from cli_factory import groundplan

from groundplan.facts.accelerators import catalog, machines


def table(result):
    """The rows of a table by machine; the two lines of headings and the legend left out."""
    rows = [line.split() for line in result.out.splitlines()[2:] if line[:1].islower()]
    return {row[0]: row for row in rows}


def card(result):
    """Label → text of a card, lines joined."""
    found, label = {}, ""
    for line in result.out.splitlines()[1:]:
        label = line[2:20].strip() or label
        found[label] = " ".join(filter(None, [found.get(label), line[20:].strip()]))
    return found


def test_the_table_has_every_machine_and_fits_100_columns(tmp_path):
    result = groundplan(tmp_path, "machines")
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 100
    assert list(table(result)) == [one.name for one in machines()]
    assert "?  not confirmed by a source" in result.out
    assert f"Checked {min(source.checked for source in catalog().sources.values())}." in result.out


def test_a_row_says_what_is_known_and_what_is_not(tmp_path):
    rows = table(groundplan(tmp_path, "machines"))
    assert (
        " ".join(rows["a3-megagpu-8g"]) == "a3-megagpu-8g 8 H100 Mega 640 208/1872 1800 TCPXO ? yes yes ? yes"
    )
    assert " ".join(rows["g4-standard-12"]) == "g4-standard-12 1/4 RTX PRO 6000 24 12/45 20 - ? yes yes ? ?"
    assert " ".join(rows["ct5p-hightpu-4t"]) == "ct5p-hightpu-4t 4 TPU v5p - 208/448 ? - ? ? yes ? yes"
    assert " ".join(rows["n1-standard-96"]) == "n1-standard-96 +T4 P4 V100 - 96/360 ? - ? yes yes ? yes"
    assert rows["a4x-highgpu-4g"][-5:] == ["no", "no", "no", "no", "yes"]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--gpu", "h200"], ["a3-ultragpu-8g"]),
        (["--gpu", "h100-mega"], ["a3-megagpu-8g"]),
        (["--gpu", "nvidia-gb300"], ["a4x-maxgpu-4g-metal"]),
        (["--gpu", "H100", "--capacity", "on-demand"], ["a3-highgpu-8g", "a3-edgegpu-8g", "a3-megagpu-8g"]),
        (["--tpu", "v5p"], ["ct5p-hightpu-4t"]),
        (["--tpu", "7x"], ["tpu7x-standard-1t", "tpu7x-standard-4t"]),
        (["--tpu", "tpu7x"], ["tpu7x-standard-1t", "tpu7x-standard-4t"]),
        (["--tpu", "tpu-v4-podslice"], ["ct4p-hightpu-4t"]),
        (["--tpu", "v5", "--capacity", "queued"], [
            "ct5lp-hightpu-1t", "ct5lp-hightpu-4t", "ct5lp-hightpu-8t", "ct5p-hightpu-4t"]),
    ],
)  # fmt: skip
def test_machines_are_chosen(tmp_path, options, names):
    assert list(table(groundplan(tmp_path, "machines", *options))) == names


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["--gpu", "h1000"], "no machine has the GPU `h1000`", "Did you mean `h100`? There are a100-40gb, "),
        (["--tpu", "v9"], "no machine has the TPU `v9`", "There are tpu7x, v4, v5e, v5p and v6e."),
        (
            ["--gpu", "gb200", "--capacity", "spot"],
            "no machine fits --gpu gb200 --capacity spot",
            "Leave one",
        ),
        (["--gpu", "l4", "--tpu", "v4"], "no machine fits --gpu l4 --tpu v4", "Leave one"),
    ],
)
def test_no_machine_fits(tmp_path, options, message, hint):
    result = groundplan(tmp_path, "machines", *options)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert hint in result.err


def test_every_word_that_is_suggested_is_understood(tmp_path):
    hint = groundplan(tmp_path, "machines", "--gpu", "none").err.partition("There are ")[2]
    words = hint.strip().rstrip(".").replace(" and ", ", ").split(", ")
    assert len(words) == len(catalog().gpus)
    for word in words:
        assert groundplan(tmp_path, "machines", "--gpu", word).code == 0, word


def test_a_word_for_capacity_that_does_not_exist_is_wrong_usage(tmp_path):
    result = groundplan(tmp_path, "machines", "--capacity", "spott")
    assert result.code == 64
    assert "'flex-start'" in result.err


def test_machines_as_a_document(tmp_path):
    result = groundplan(tmp_path, "machines", "--gpu", "h100", "--json")
    assert result.json["checked"] == "2026-11-30"
    mega = result.json["machines"][-1]
    assert mega == {
        "machine": "a3-megagpu-8g",
        "family": "a3",
        "series": "A3 Mega",
        "gpu": {"type": "nvidia-h100-mega-80gb", "count": 8, "memory_gb": 640, "fraction": 1.0},
        "tpu": None,
        "attachable_gpus": {},
        "vcpus": 208,
        "memory_gb": 1872.0,
        "nics": 9,
        "gbps": 1800,
        "gpudirect": "TCPXO",
        "capacity": {
            "on-demand": None,
            "spot": True,
            "flex-start": True,
            "queued": True,
            "any-reservation": None,
            "reservation": True,
        },
    }


def test_the_card_of_a_gpu_machine(tmp_path):
    result = groundplan(tmp_path, "machine", "a3-megagpu-8g")
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 100
    shown = card(result)
    assert shown["GPUs"] == "8 H100 Mega (nvidia-h100-mega-80gb), 640 GB together"
    assert "7g.80gb × 1" in shown["MIG partitions"]
    assert shown["vCPUs, memory"] == "208 vCPUs, 1872 GB, x86-64"
    assert shown["network"] == "9 NICs, 1800 Gbps together"
    assert shown["GPUDirect"] == "TCPXO over 8 NICs, 8 extra GVNIC networks, MTU 8244"
    assert "1.30.14-gke.1922000" in shown["GPUDirect from"]
    assert shown["boot disks"] == "pd-balanced, pd-ssd, hyperdisk-balanced"
    assert "64 hyperdisk-ml" in shown["at most"]
    assert shown["Local SSDs"] == "always 16 × 375 GiB; none on a3-megagpu-8g-nolssd"
    assert shown["compact"] == "yes, at most 96 nodes"
    assert shown["capacity"].startswith("on-demand ?, spot yes, flex-start yes, queued yes")
    assert "flex-start 1.32.2-gke.1652000" in shown["GKE from"]
    assert "consumption.on_demand" in shown["not confirmed"]
    assert "checked 2026-11-30" in shown["source CA"]
    assert "https://github.com/GoogleCloudPlatform/cluster-autoscaler" in shown["source CA"]


def test_the_card_of_an_rdma_machine(tmp_path):
    shown = card(groundplan(tmp_path, "machine", "a4x-highgpu-4g"))
    assert shown["GPUDirect"] == (
        "RDMA over 4 NICs, 1 extra GVNIC network, RDMA VPC with profile ZONE-vpc-roce, "
        "4 subnets in it, MTU 8896"
    )
    assert shown["GPUDirect from"] == "GKE ?"
    assert shown["vCPUs, memory"].endswith("Arm")
    assert shown["workload policy"] == "needed on all nodes, topology 1x72, at most 18 nodes"
    assert shown["Hyperdisk ML"] == "only volumes made on 2026-02-04 or later"


def test_the_card_names_both_sides_of_a_dispute_and_their_sources(tmp_path):
    result = groundplan(tmp_path, "machine", "g2-standard-24")
    assert "vCPUs: CA says 23; AO says 24; groundplan goes by 24" in card(result)["disputed"]
    edge = card(groundplan(tmp_path, "machine", "a2-ultragpu-1g"))
    assert "accelerator type: CT says nvidia-tesla-a100" in edge["disputed"]
    assert {"source CT", "source CA"} <= edge.keys()


def test_the_card_of_a_tpu_machine_lists_its_slices(tmp_path):
    shown = card(groundplan(tmp_path, "machine", "ct6e-standard-4t"))
    assert shown["TPU"] == "4 chips v6e (tpu-v6e-slice)"
    assert "2x4 8/2" in shown["topologies"]
    assert "16x16 256/64" in shown["topologies"]
    assert "multislice 1.27.4-gke.900" in shown["GKE from"]
    large = card(groundplan(tmp_path, "machine", "ct5p-hightpu-4t"))["topologies"]
    assert "… and 390 more up to 16x20x28 8960/2240" in large


def test_the_card_of_a_machine_that_takes_gpus(tmp_path):
    result = groundplan(tmp_path, "machine", "n1-standard-16")
    assert "1, 2, 4 or 8 × V100" not in result.out  # one V100 takes at most 12 vCPUs
    assert "2, 4 or 8 × V100 (nvidia-tesla-v100)" in result.out
    assert "1, 2 or 4 × P100 (nvidia-tesla-p100)" in result.out


def test_a_machine_as_a_document_keeps_what_is_not_known(tmp_path):
    document = groundplan(tmp_path, "machine", "ct6e-standard-4t", "--json").json
    assert document["name"] == "ct6e-standard-4t"
    assert document["nics"] is None
    assert "nics" in document["unconfirmed"]
    assert document["topologies"][1] == {"topology": "2x4", "chips": 8, "nodes": 2, "multi_host": True}
    assert document["min_gke"]["flex_start_tpu"] == "1.33.0-gke.1712000"
    assert document["disputes"][0]["claims"].keys() == {"DWS", "SKY"}
    assert document["cited"]["SKY"]["checked"] == "2026-11-30"
    assert len(groundplan(tmp_path, "machine", "ct5p-hightpu-4t", "--json").json["topologies"]) == 414


def test_every_machine_has_a_card_that_fits(tmp_path):
    for one in (*catalog().machines, "e2-standard-4", "n1-highmem-96", "h4d-standard-192"):
        result = groundplan(tmp_path, "machine", one)
        assert result.code == 0, one
        assert "None" not in result.out, one
        assert all(len(line) <= 100 or "https://" in line for line in result.out.splitlines()), one


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a3-mega-8g", "Did you mean `a3-megagpu-8g`"),
        ("g2-standard-13", "Did you mean `g2-standard-12`, `g2-standard-16` or `g2-standard-8`?"),
        ("nothing like it", "`groundplan machines` lists"),
    ],
)
def test_an_unknown_machine(tmp_path, name, hint):
    result = groundplan(tmp_path, "machine", name)
    assert (result.code, result.out) == (1, "")
    assert f"the catalog has no machine `{name}`" in result.err
    assert hint in result.err
    failed = groundplan(tmp_path, "machine", name, "--json").json
    assert failed["error"]["exit_code"] == 1


@pytest.mark.parametrize("command", [["machines"], ["machine", "a3-megagpu-8g"]])
def test_the_catalog_is_shown_without_the_blueprint_language(command):
    code = (
        "import sys\nfrom groundplan.cli.main import run\n"
        f"assert run({command!r}) == 0\n"
        "print(sorted({'pydantic', 'yaml', 'rich', 'grpc', 'google'} & {*sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip().splitlines()[-1] == "[]"
