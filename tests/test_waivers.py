"""Waivers: what they let pass, what they cannot, and what is found about themselves."""

import datetime
import textwrap

import pytest
from blueprint_texts import TOP
from cli_factory import groundplan

from groundplan.blueprints.diagnostics import render
from groundplan.blueprints.explanations import explanations
from groundplan.blueprints.reader import judge, read
from groundplan.blueprints.tree import Source
from groundplan.blueprints.waivers import read_waivers, waivers_of, waivers_path
from groundplan.errors import BlueprintError, InputError

TODAY = datetime.date(2026, 11, 30)
REST = "reason: A trial., owner: jane, expires: 2027-01-31"

#: CO027 is a warning on `l4`, PL001 an error of the peers' on `close`, in both environments.
BLUEPRINT = TOP + textwrap.dedent("""
    defaults:
      clusters:
        main:
          zones: [a, b]
          node_pools:
            system: {machine: e2-standard-4, nodes: 1}
            l4: {machine: g2-standard-12, nodes: 2}
            close: {machine: a2-ultragpu-8g, placement: compact, nodes: {min: 0, max: 2}}
    environments: {ml-dev: {}, ml-prod: {}}
""")
#: CO014 is what Google refuses; everything else is fine.
REFUSED = TOP + textwrap.dedent("""
    environments:
      ml-dev:
        clusters:
          main:
            node_pools:
              system: {machine: e2-standard-4, nodes: 1}
              rack: {machine: a4x-highgpu-4g, capacity: spot, nodes: {min: 0, max: 1}}
""")


def judged(*lines, text=BLUEPRINT, today=TODAY):
    """Everything that is said about a blueprint with these waivers."""
    source = Source("llm.waivers.yaml", "".join(f"- {{{line}}}\n" for line in lines))
    return judge(Source("llm.yaml", text), waivers_of(source, today))[1]


def said(*lines, **more):
    return sorted((one.code, one.severity) for one in judged(*lines, **more))


def about_waivers(*lines, **more):
    return [one for one in judged(*lines, **more) if one.position.file == "llm.waivers.yaml"]


def test_without_waivers_the_blueprint_has_a_warning_and_an_error():
    assert said() == [("CO027", "warning"), ("PL001", "error")]


@pytest.mark.parametrize(
    "where",
    [
        "ml-dev", "environments.ml-dev", "ml-dev.clusters.main", "ml-dev.clusters.*.node_pools.l4",
        "ml-d?v.clusters.main.node_pools.l4.nodes", "environments.ml-dev.clusters.main.node_pools.l*",
    ],
)  # fmt: skip
def test_a_warning_becomes_a_note_where_it_is_waived_and_stays_elsewhere(where):
    found = [one for one in judged(f"id: CO027, where: {where}, {REST}") if one.code == "CO027"]
    assert sorted(one.severity for one in found) == ["note", "warning"]
    note, warning = sorted(found, key=lambda one: one.severity)
    assert note.message.endswith("waived by jane until 2027-01-31 (in ml-dev)")
    assert note.hint == "A trial."
    assert "the waiver: llm.waivers.yaml:1:3" in render(note)
    assert warning.message.endswith("(in ml-prod)")


@pytest.mark.parametrize("where", ["defaults.clusters.main.node_pools.l4", '"*.clusters.main.node_pools.l4"'])
def test_one_key_can_be_waived_in_all_environments(where):
    assert said(f"id: CO027, where: {where}, {REST}") == [("CO027", "note"), ("PL001", "error")]


def test_what_only_the_peers_refuse_can_be_waived():
    assert ("PL001", "note") in said(f"id: PL001, where: defaults.clusters.main.node_pools.close, {REST}")


@pytest.mark.parametrize(
    "where", ["ml-de", "ml-dev.clusters.other", "ml-dev.clusters.main.node_pools.l4.zones"]
)
def test_a_waiver_elsewhere_lets_nothing_pass_and_is_found(where):
    assert said(f"id: CO027, where: {where}, {REST}") == [
        ("CO027", "warning"), ("PL001", "error"), ("WV002", "warning"),
    ]  # fmt: skip


def test_what_google_refuses_cannot_be_waived():
    found = judged(f"id: CO014, where: ml-dev, {REST}", text=REFUSED)
    assert {(one.code, one.severity) for one in found} == {("CO014", "error"), ("WV004", "error")}
    assert "Google Cloud refuses it" in next(one.message for one in found if one.code == "WV004")


@pytest.mark.parametrize("code", [code for code, one in explanations().items() if not one.waivable])
def test_a_waiver_of_what_cannot_be_waived_is_an_error_itself(code):
    assert [one.code for one in about_waivers(f"id: {code}, where: ml-dev, {REST}")] == ["WV004"]


def test_a_doubt_about_what_google_refuses_can_be_waived():
    """CO013 is an error, but on A3 Edge only a warning: sources disagree."""
    text = REFUSED.replace("a4x-highgpu-4g, capacity: spot", "a3-edgegpu-8g, capacity: flex-start")
    assert said(text=text) == [("CO013", "warning")]
    assert said(f"id: CO013, where: ml-dev, {REST}", text=text) == [("CO013", "note")]


def test_a_waiver_that_has_expired_lets_nothing_pass_any_more():
    line = f"id: CO027, where: ml-dev, {REST}"
    last = datetime.date(2027, 1, 31)
    assert ("CO027", "note") in said(line, today=last)
    late = about_waivers(line, today=last + datetime.timedelta(days=1))
    assert [(one.code, one.severity, one.path) for one in late] == [("WV001", "warning", "expires")]
    assert ("CO027", "note") not in said(line, today=last + datetime.timedelta(days=1))


@pytest.mark.parametrize(
    "where",
    ['"*"', '"*.*"', "environments", '"environments.*"', "defaults", '"*.clusters.*.node_pools.*"', "ml-*"],
)
def test_a_waiver_for_everything_is_not_applied(where):
    (found,) = about_waivers(f"id: CO027, where: {where}, {REST}")
    assert (found.code, found.path) == ("WV003", "where")
    assert ("CO027", "note") not in said(f"id: CO027, where: {where}, {REST}")


def test_the_only_environment_is_a_place():
    assert not about_waivers(f"id: CO014, where: ml-dev, {REST}", text=REFUSED.replace("spot", "x"))[1:]
    one = BLUEPRINT.replace("{ml-dev: {}, ml-prod: {}}", "{ml-dev: {}}")
    assert ("CO027", "note") in said(f"id: CO027, where: ml-dev, {REST}", text=one)


def test_a_waiver_lasts_for_a_year_at_most():
    line = "id: CO027, where: ml-dev, reason: r, owner: o, expires: 2036-01-31"
    (found,) = about_waivers(line)
    assert (found.code, found.severity, found.path) == ("WV006", "warning", "expires")


@pytest.mark.parametrize(
    ("line", "code", "at", "text"),
    [
        (f"id: CO27, where: ml-dev, {REST}", "BP003", "id", "CO027"),
        (f"id: CO999, where: ml-dev, {REST}", "WV005", "id", "there is no rule CO999"),
        (f"id: UP003, where: ml-dev, {REST}", "WV005", "id", "cannot be made here"),
        ("id: CO027, where: ml-dev, reason: r, owner: o", "BP002", "expires", "`expires` is missing"),
        ("id: CO027, where: ml-dev, reason: r, owner: o, expires: soon", "BP003", "expires", "2027-03-31"),
        (
            "id: CO027, where: ml-dev, reason: '', owner: o, expires: 2027-01-01",
            "BP003",
            "reason",
            "not empty",
        ),
        ("id: CO027, wher: ml-dev, reason: r, owner: o, expires: 2027-01-01", "BP001", "wher", "`where`"),
    ],
)
def test_mistakes_in_the_file_have_their_place(line, code, at, text):
    found = [one for one in about_waivers(line) if one.severity == "error"]
    assert [one.code for one in found] == [code], "one mistake, one message"
    (found,) = found
    assert at in found.path
    assert (found.position.line, found.position.file) == (1, "llm.waivers.yaml")
    assert text in found.message + found.hint


def test_the_file_is_a_list():
    found = waivers_of(Source("x", "CO027: ml-dev\n")).mistakes
    assert [one.code for one in found] == ["BP003"]
    assert not waivers_of(Source("x", "# nothing yet\n")).mistakes


def test_waivers_of_policies_are_left_to_the_policies():
    assert not about_waivers(f"id: PLN204, where: ml-dev, {REST}")


def test_nothing_is_unused_while_the_blueprint_cannot_be_read():
    broken = BLUEPRINT.replace("nodes: 2", "nodes: two")
    assert "WV002" not in {one.code for one in judged(f"id: CO027, where: ml-dev, {REST}", text=broken)}


# --- the file beside the blueprint --------------------------------------------------------------------


def write(folder, waivers):
    (folder / "llm.yaml").write_text(BLUEPRINT)
    (folder / "llm.waivers.yaml").write_text(waivers)
    return folder / "llm.yaml"


BOTH = (
    "- {id: PL001, where: defaults.clusters.main.node_pools.close, reason: r, owner: j, expires: EXPIRES}\n"
    "- {id: CO027, where: defaults.clusters.main.node_pools.l4, reason: r, owner: j, expires: EXPIRES}\n"
)
SOON = (datetime.date.today() + datetime.timedelta(days=30)).isoformat()


def test_the_file_beside_a_blueprint_is_read(tmp_path):
    path = write(tmp_path, BOTH.replace("EXPIRES", SOON))
    assert waivers_path(path) == tmp_path / "llm.waivers.yaml"
    assert [one.severity for one in read(path).diagnostics] == ["note", "note"]
    path.with_name("llm.waivers.yaml").unlink()
    with pytest.raises(BlueprintError):
        read(path)


def test_validate_shows_what_is_waived(tmp_path):
    path = write(tmp_path, BOTH.replace("EXPIRES", SOON))
    result = groundplan(tmp_path, "validate", "-f", path.name)
    assert result.code == 0
    assert f"waived by j until {SOON}" in result.err
    assert "no problems in 2 environments" in result.out
    assert "waived" not in groundplan(tmp_path, "validate", "-f", path.name, "--quiet").err
    found = groundplan(tmp_path, "validate", "-f", path.name, "--json").json
    assert {(one["code"], one["severity"]) for one in found} == {("PL001", "note"), ("CO027", "note")}


def test_mistakes_in_the_file_are_errors_of_the_blueprint(tmp_path):
    path = write(tmp_path, BOTH.replace("EXPIRES", "soon"))
    result = groundplan(tmp_path, "validate", "-f", path.name)
    assert result.code == 1
    assert "llm.waivers.yaml:1:" in result.err


def test_a_file_that_is_no_yaml_is_told(tmp_path):
    path = write(tmp_path, "- {id: [\n")
    result = groundplan(tmp_path, "validate", "-f", path.name)
    assert result.code == 1
    assert "llm.waivers.yaml" in result.err


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "llm.waivers.yaml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_waivers(tmp_path / "llm.waivers.yaml")
