"""Environments are apart, or it is said how they meet."""

# ruff: noqa: E501

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.lock import Lock, allocate, lock_path, read_lock
from groundplan.blueprints.reader import read
from groundplan.cli.main import run
from groundplan.errors import BlueprintError
from groundplan.stacks.catalog import stacks
from groundplan.stacks.isolation import Isolation, isolation

BASE = """\
apiVersion: groundplan/v1
name: llm
organization: "123456789012"
foundation: {project: llm-seed}
defaults:
  billing_account: 01AB23-CD45EF-678901
  clusters: {main: {node_pools: {system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}}}}
  storage: {buckets: {data: {}}}
  workloads: {job: {reads: [buckets/data]}}
"""
NUMBERS = {"ml-dev": "111111111111", "ml-prod": "222222222222"}
KEY = "projects/keys/locations/us-central1/keyRings/r/cryptoKeys/k"


def prove(environments: str, more: str = "") -> Isolation:
    blueprint = read("leak.yaml", text=f"{BASE}{more}environments:\n{environments}").blueprint
    lock = allocate(blueprint, Lock())
    for name, number in NUMBERS.items():
        if name in blueprint.environments:
            kept = lock.environment(name).model_copy(update={"project_number": number})
            lock = lock.with_environment(name, kept)
    return isolation(blueprint, stacks(blueprint, lock), lock)


#: What leaks → (environments, kind of meeting, what the chain must name).
PROVEN = {
    "one existing bucket in both": (
        "  ml-dev: {storage: {buckets: {data: {existing: shared-data}}}}\n"
        "  ml-prod: {storage: {buckets: {data: {existing: shared-data}}}}\n",
        "share",
        "shared-data",
    ),
    "production adopts a bucket of development": (
        "  ml-dev:\n  ml-prod: {storage: {buckets: {dev: {existing: llm-ml-dev-data}}}}\n",
        "mention",
        "llm-ml-dev-data",
    ),
    "one key for the data of both": (
        f"  ml-dev: {{encryption: {{mode: cmek, keys: {{us-central1: {KEY}}}}}}}\n"
        f"  ml-prod: {{encryption: {{mode: cmek, keys: {{us-central1: {KEY}}}}}}}\n",
        "share",
        "cryptoKeys/k",
    ),
    "production encrypts with a key of development": (
        "  ml-dev:\n"
        "  ml-prod: {encryption: {mode: cmek, keys: {us-central1: "
        "projects/llm-ml-dev/locations/us-central1/keyRings/r/cryptoKeys/k}}}\n",
        "mention",
        "llm-ml-dev",
    ),
    "a group may change things in both": (
        '  ml-dev: {access: {grants: {"group:a@example.com": [roles/storage.admin]}}}\n'
        '  ml-prod: {access: {grants: {"group:a@example.com": [roles/container.developer]}}}\n',
        "principal",
        "group:a@example.com",
    ),
    "a person may change things in both": (
        '  ml-dev: {access: {grants: {"user:a@example.com": [roles/bigquery.dataEditor]}}}\n'
        '  ml-prod: {access: {grants: {"user:a@example.com": [roles/bigquery.dataEditor]}}}\n',
        "principal",
        "user:a@example.com",
    ),
    "a machine of elsewhere holds rights in both": (
        '  ml-dev: {access: {grants: {"serviceAccount:x@other.iam.gserviceaccount.com": [roles/browser]}}}\n'
        '  ml-prod: {access: {grants: {"serviceAccount:x@other.iam.gserviceaccount.com": [roles/browser]}}}\n',
        "principal",
        "x@other",
    ),
    "one network of another project": (
        "  ml-dev: {network: {existing: {host_project: host-net, network: one}}}\n"
        "  ml-prod: {network: {existing: {host_project: host-net, network: one}}}\n",
        "share",
        "host-net",
    ),
    "production stands in the network of development": (
        "  ml-dev:\n  ml-prod: {network: {existing: {host_project: llm-ml-dev, network: llm-vpc}}}\n",
        "mention",
        "llm-ml-dev",
    ),
    "one access policy for both": (
        '  ml-dev: {perimeter: {mode: enforced, access_policy: "77"}}\n'
        '  ml-prod: {perimeter: {mode: enforced, access_policy: "77"}}\n',
        "share",
        "accessPolicies/77",
    ),
    "production lets a machine of development through its perimeter": (
        "  ml-dev:\n"
        '  ml-prod: {perimeter: {mode: enforced, access_policy: "77", ingress: {in: {from: {identities: '
        '["serviceAccount:llm-main-nodes@llm-ml-dev.iam.gserviceaccount.com"], sources: [projects/llm-ml-prod]}, '
        "to: {resources: [projects/llm-ml-prod], services: {storage.googleapis.com: {methods: "
        '["google.storage.objects.get"]}}}}}}}\n',
        "mention",
        "llm-ml-dev",
    ),
    "production preloads an image of development": (
        "  ml-dev:\n"
        "  ml-prod: {clusters: {main: {node_pools: {g: {machine: g2-standard-12, capacity: spot, nodes: {min: 0, "
        "max: 1}, preload: [projects/llm-ml-dev/global/images/x]}}}}}\n",
        "mention",
        "images/x",
    ),
    "production consumes a reservation of development": (
        "  ml-dev:\n"
        "  ml-prod: {clusters: {main: {zones: [a], node_pools: {g: {machine: g2-standard-12, zones: [a], capacity: "
        "{reservation: {name: r, project: llm-ml-dev}}, nodes: 1}}}}}\n",
        "mention",
        "llm-ml-dev",
    ),
}

#: What leaks so plainly that the blueprint is refused → (environments, what the message names).
REFUSED = {
    "a machine of development is named in production": (
        "  ml-dev:\n"
        "  ml-prod: {access: {grants: {"
        '"serviceAccount:llm-main-nodes@llm-ml-dev.iam.gserviceaccount.com": [roles/browser]}}}\n',
        "identity of `ml-dev`",
    ),
    "everybody": (
        "  ml-dev:\n  ml-prod: {access: {grants: {allUsers: [roles/storage.objectViewer]}}}\n",
        "allUsers",
    ),
    "a basic role": (
        '  ml-dev:\n  ml-prod: {access: {grants: {"group:a@example.com": [roles/editor]}}}\n',
        "roles/editor",
    ),
    "one project for both": (
        "  ml-dev: {project: {id: llm-shared}}\n  ml-prod: {project: {id: llm-shared}}\n",
        "llm-shared",
    ),
    "one perimeter of somebody else around both": (
        "  ml-dev: {perimeter: {mode: enforced, existing: accessPolicies/1/servicePerimeters/p}}\n"
        "  ml-prod: {perimeter: {mode: enforced, existing: accessPolicies/1/servicePerimeters/p}}\n",
        "servicePerimeters/p",
    ),
    "two buckets of one name": (
        "  ml-dev: {storage: {buckets: {data: {name: llm-data}}}}\n"
        "  ml-prod: {storage: {buckets: {data: {name: llm-data}}}}\n",
        "llm-data",
    ),
    "a workload reads a bucket of another environment": (
        "  ml-dev: {storage: {buckets: {scratch: {}}}}\n  ml-prod: {workloads: {job: {reads: [buckets/scratch]}}}\n",
        "buckets/scratch",
    ),
}


def test_there_are_twenty_leaks() -> None:
    assert len(PROVEN) + len(REFUSED) == 20


@pytest.mark.parametrize("leak", PROVEN)
def test_a_leak_is_named(leak: str) -> None:
    environments, kind, named = PROVEN[leak]
    proof = prove(environments)
    assert not proof.holds
    fitting = [one for one in proof.meetings if one.kind == kind]
    assert fitting, proof.meetings
    assert all(one.environments == ("ml-dev", "ml-prod") for one in proof.meetings)
    assert any(named in step for one in fitting for step in one.chain)


@pytest.mark.parametrize("leak", REFUSED)
def test_a_plain_leak_is_refused_before(leak: str) -> None:
    environments, named = REFUSED[leak]
    with pytest.raises(BlueprintError) as caught:
        prove(environments)
    assert any(named in one.message for one in caught.value.diagnostics)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", library_blueprints())
def test_shipped_blueprints_are_isolated(name: str) -> None:
    path = library_blueprints()[name]
    blueprint = read(path).blueprint
    lock = allocate(blueprint, read_lock(lock_path(path)))
    proof = isolation(blueprint, stacks(blueprint, lock), lock)
    assert proof.meetings == ()
    assert set(proof.environments) == set(blueprint.environments)
    for one in proof.environments.values():
        assert one.machines
        assert one.things["clusters"]


def test_people_are_bounded_by_the_table_of_personas() -> None:
    people = "{access: {ml_engineers: [group:e@example.com], operators: [group:o@example.com]}}"
    assert prove(f"  ml-dev: {people}\n  ml-prod: {people}\n").holds


def test_looking_in_both_is_no_meeting() -> None:
    grants = '{access: {grants: {"group:a@example.com": [roles/logging.viewer]}}}'
    assert prove(f"  ml-dev: {grants}\n  ml-prod: {grants}\n").holds


def test_a_project_whose_name_begins_alike_is_another_one() -> None:
    environments = (
        "  ml-dev:\n  ml-prod: {encryption: {mode: cmek, keys: {us-central1: "
        "projects/llm-ml-dev-keys/locations/us-central1/keyRings/r/cryptoKeys/k}}}\n"
    )
    assert prove(environments).holds


def test_what_is_external_may_be_named_by_both_and_is_a_door() -> None:
    pool = (
        "{clusters: {main: {node_pools: {g: {machine: g2-standard-12, capacity: spot, nodes: {min: 0, max: 1}, "
        "preload: [projects/llm-images/global/images/x]}}}}}"
    )
    proof = prove(f"  ml-dev: {pool}\n  ml-prod: {pool}\n", "external: {projects: [llm-images]}\n")
    assert proof.holds
    assert any("llm-images" in door for door in proof.doors)


def test_emergency_access_to_both_is_a_door() -> None:
    emergency = (
        "{access: {break_glass: {members: [group:a@example.com], approvers: [group:b@example.com], "
        "roles: [roles/container.admin]}}}"
    )
    proof = prove(f"  ml-dev: {emergency}\n  ml-prod: {emergency}\n")
    assert proof.holds
    assert "emergency access to ml-prod: group:a@example.com ask, group:b@example.com approve" in proof.doors
    assert "group:a@example.com" in proof.environments["ml-prod"].people


CROSSING = "crossings: {promote: {from: ml-dev, to: ml-prod, read: buckets/data, by: workloads/job}}\n"
BOTH = "  ml-dev:\n  ml-prod:\n"


@pytest.mark.parametrize("numbers", [NUMBERS, {}])
def test_a_crossing_is_a_door_and_no_meeting(
    numbers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "NUMBERS", numbers)
    proof = prove(BOTH, CROSSING)
    assert proof.meetings == ()
    assert proof.doors == ("crossing promote: ml-prod reads buckets/data of ml-dev, by workloads/job",)


def test_a_crossing_through_two_perimeters_is_no_meeting() -> None:
    storage = "services: {storage.googleapis.com: {}}"
    let_in = f"{{from: {{identity_type: any, sources: [projects/llm-ml-prod]}}, to: {{resources: ['*'], {storage}}}}}"
    let_out = f"{{from: {{identity_type: any}}, to: {{resources: [projects/llm-ml-dev], {storage}}}}}"
    environments = (
        f'  ml-dev: {{perimeter: {{mode: enforced, access_policy: "77", ingress: {{in: {let_in}}}}}}}\n'
        f'  ml-prod: {{perimeter: {{mode: enforced, access_policy: "78", egress: {{out: {let_out}}}}}}}\n'
    )
    assert prove(environments, CROSSING).meetings == ()
    assert {one.kind for one in prove(environments).meetings} == {"mention"}


def test_a_crossing_hides_no_other_way() -> None:
    environments = "  ml-dev:\n  ml-prod: {storage: {buckets: {dev: {existing: llm-ml-dev-data}}}}\n"
    assert {one.kind for one in prove(environments, CROSSING).meetings} == {"mention"}


def test_the_command_says_so_and_exits_with_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    environments, _, named = PROVEN["one existing bucket in both"]
    Path("groundplan.yaml").write_text(f"{BASE}environments:\n{environments}")
    assert run(["isolation", "--svg", "proof.svg"]) == 3
    said = capsys.readouterr().out
    assert "not isolated: 1 way between environments" in said
    assert named in said
    assert re.search(r"= groundplan\.yaml:\d+:\d+", said)
    drawn = ET.parse(tmp_path / "proof.svg").getroot()
    texts = " ".join(node.text or "" for node in drawn.iter() if node.tag.endswith("text"))
    assert named in texts
    assert len([node for node in drawn.iter() if node.get("class") == "m"]) == 1
    assert run(["isolation", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["isolated"] is False
    assert document["meetings"][0]["position"].startswith("groundplan.yaml:")


def test_the_command_when_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-f", str(library_blueprints()["starter"]), "isolation"]) == 0
    assert "isolated: ml-dev, ml-staging and ml-prod share nothing" in capsys.readouterr().out
