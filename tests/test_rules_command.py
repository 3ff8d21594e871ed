"""groundplan rules and explain, and facts that a blueprint states about a machine."""

import pytest
from blueprint_texts import only
from cli_factory import groundplan
from rules_factory import judged, made, message, pool, refused

from groundplan.blueprints.explanations import explanations
from groundplan.blueprints.rules.construction import IMPOSSIBLE
from groundplan.blueprints.rules.examples import example


def test_rules_lists_every_code_once(tmp_path):
    result = groundplan(tmp_path, "rules")
    listed = [line.split()[0] for line in result.out.splitlines()]
    assert (result.code, listed) == (0, sorted(explanations()))


def test_rules_can_be_narrowed(tmp_path):
    found = groundplan(tmp_path, "rules", "--tag", "capacity", "--tag", "peer", "--json").json
    assert [one["code"] for one in found] == ["CO006"]
    assert found[0]["waivable"] is True
    assert "Cluster Toolkit" in found[0]["source"]


def test_a_tag_that_no_rule_has_is_told(tmp_path):
    result = groundplan(tmp_path, "rules", "--tag", "capcity")
    assert result.code == 64
    assert "Did you mean `capacity`?" in result.err


@pytest.mark.parametrize("code", sorted(explanations()))
def test_explain_says_why_who_and_whether_it_can_be_waived(code, tmp_path):
    result = groundplan(tmp_path, "explain", code.lower())
    known = explanations()[code]
    assert result.code == 0
    assert result.out.startswith(f"{code} ({known.severity})  {known.title}\n")
    for label in ("why ", "basis ", "source ", "waiver "):
        assert f"\n{label}" in result.out
    assert ("waiver    possible" in result.out) is known.waivable
    shown = example(code)
    if shown:
        assert f"\nbad:\n    {shown.bad.splitlines()[0]}" in result.out
        assert "\ngood:\n" in result.out
    assert max(len(line) for line in result.out.partition("\nbad:")[0].splitlines()) <= 100


@pytest.mark.parametrize("one", IMPOSSIBLE, ids=lambda one: one.code)
def test_explain_says_why_a_mistake_cannot_be_made(one, tmp_path):
    told = groundplan(tmp_path, "explain", one.code, "--json").json
    assert (told["possible"], told["title"], told["severity"]) == (False, one.title, None)
    assert "cannot be made here" in groundplan(tmp_path, "explain", one.code).out


def test_explain_answers_for_a_rule_that_is_part_of_another(tmp_path):
    assert groundplan(tmp_path, "explain", "VS005", "--json").json["code"] == "PM007"


def test_explain_of_no_code(tmp_path):
    result = groundplan(tmp_path, "explain", "CO0006")
    assert result.code == 64
    assert "there is no code CO0006" in result.err


def test_the_last_line_of_a_message_says_how_to_learn_more(tmp_path):
    (tmp_path / "llm.yaml").write_text(
        "apiVersion: groundplan/v1\nname: llm\n" + pool("machine: g2-standard-4, nodes: 2")
    )
    assert "= groundplan explain CO027" in groundplan(tmp_path, "validate", "-f", "llm.yaml").err


# --- machine_facts ------------------------------------------------------------------------------------

STATED = (
    "machine_facts: {gpu: {type: nvidia-b900, count: 8}, local_ssds: 16, boot_disks: [hyperdisk-balanced]}"
)
NEW = "machine: a9-highgpu-8g, capacity: spot, nodes: {min: 0, max: 2}"


def test_an_unknown_machine_is_refused_with_the_nearest_names():
    said = message("machine: g2-standard-13, nodes: {min: 0, max: 2}", "MA001")
    assert "`g2-standard-12`, `g2-standard-16`" in said
    assert "machine_facts" in said
    assert "`a3-highgpu-8g`" in message("machine: a3-higpu-8g, nodes: {min: 0, max: 2}", "MA001")


def test_facts_of_the_blueprint_make_a_machine_known_and_are_warned_of():
    assert judged(f"{NEW}, {STATED}") == {"MA002": "warning"}
    config = made(f"{NEW}, {STATED}")["node_config"]
    assert (config["guest_accelerator"]["type"], config["guest_accelerator"]["count"]) == ("nvidia-b900", 8)
    assert config["ephemeral_storage_local_ssd_config"] == {"local_ssd_count": 16}
    assert config["disk_type"] == "hyperdisk-balanced"
    assert [taint["key"] for taint in config["taint"]] == ["nvidia.com/gpu", "cloud.google.com/gke-spot"]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("gpu: {count: 4}", "GP002"),
        ("gpu: {type: nvidia-l4}", "GP001"),
        ("boot_disk: {type: pd-ssd}", "DK001"),
        ("local_ssd: {mode: ephemeral, count: 4}", "DK006"),
    ],
)
def test_what_the_blueprint_states_is_checked_against(spec, code):
    assert refused(f"{NEW}, {STATED}, {spec}") == {code}


def test_facts_about_a_known_machine_are_not_used():
    spec = f"machine: g2-standard-4, nodes: {{min: 0, max: 2}}, {STATED}"
    assert judged(spec) == {"MA002": "warning"}
    assert made(spec)["node_config"]["guest_accelerator"]["type"] == "nvidia-l4"


def test_facts_are_typed():
    wrong = f"{NEW}, machine_facts: {{gpu: {{type: nvidia-b900, number: 8}}}}"
    assert refused(wrong) >= {"BP001", "BP002"}
    assert only(pool(f"{NEW}, machine_facts: {{gpus: 8}}"), "BP001").hint.startswith("Did you mean `gpu`?")
