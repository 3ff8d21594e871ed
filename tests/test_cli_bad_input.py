"""Whatever is wrong with what a person gives: a clear message, the documented exit code, nothing lost."""

import os
from pathlib import Path

import pytest
from cli_factory import BLUEPRINT, groundplan, project

HEAD = "apiVersion: groundplan/v1\nname: tiny\n"
CLUSTER = "clusters: {main: {node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}"


def snapshot(folder):
    """Every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(folder, *argv, code=1, **options):
    """The message of a command that must fail, end without a traceback, and change no file."""
    before = snapshot(folder)
    result = groundplan(folder, *argv, **options)
    assert result.code == code, result.both
    assert result.out == ""
    assert "Traceback" not in result.err
    assert snapshot(folder) == before
    return result.err


# --- files that are no blueprint ----------------------------------------------------------------------

NO_BLUEPRINT = {
    "empty": ("", "the file is empty"),
    "a comment": ("# nothing\n", "the file is empty"),
    "not YAML": ("name: [1, 2\n", "has no end"),
    "tabs": ("name: x\nenvironments:\n\tml-dev:\n", "a tab stands where YAML wants spaces"),
    "a list": ("- name: x\n", "wants a map, not a list"),
    "two documents": (f"{BLUEPRINT}---\na: 1\n", "a second document begins here"),
    "a key twice": (f"{BLUEPRINT}name: other\n", "name"),
    "nested": ("a: " + "[" * 100_000 + "]" * 100_000, "nested too deep"),
    "nested 5 MB": ("a: " + "[" * 5_000_000, "larger than 2 MB"),
    "an alias bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "more than 200,000 values",
    ),
    "a tag that builds": (f"{HEAD}organization: !!python/object/apply:os.system [touch built]\n", "the tag"),
}


@pytest.mark.parametrize(("text", "message"), NO_BLUEPRINT.values(), ids=NO_BLUEPRINT)
def test_a_file_that_is_no_blueprint(text, message, tmp_path):
    (tmp_path / "x.yaml").write_text(text)
    assert message in refused(tmp_path, "-f", "x.yaml", "validate")
    assert not (tmp_path / "built").exists()


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "x.yaml").write_bytes(b"name: \xff\xfe\n")
    assert "not UTF-8 text (line 1)" in refused(tmp_path, "-f", "x.yaml", "validate")


def test_a_folder(tmp_path):
    (tmp_path / "x.yaml").mkdir()
    assert "x.yaml is a folder" in refused(tmp_path, "-f", "x.yaml", "validate")


def test_a_file_that_is_not_there(tmp_path):
    assert "x.yaml does not exist" in refused(tmp_path, "-f", "x.yaml", "validate")
    assert "there is no blueprint here" in refused(tmp_path, "validate")
    assert "cannot be read" in refused(tmp_path, "-f", "x" * 5000, "validate")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    (project(tmp_path) / "groundplan.yaml").chmod(0)
    assert "may not be read" in groundplan(tmp_path, "validate").err


def test_several_blueprints(tmp_path):
    for name in ("a.yaml", "b.yaml", "a.lock.yaml"):
        (tmp_path / "blueprints").mkdir(exist_ok=True)
        (tmp_path / "blueprints" / name).write_text(BLUEPRINT)
    error = refused(tmp_path, "validate")
    assert "there are 2 blueprints here" in error
    assert "blueprints/a.yaml" in error
    assert "blueprints/b.yaml" in error


def test_a_broken_lock_file(tmp_path):
    project(tmp_path)
    (tmp_path / "groundplan.lock.yaml").write_text("environments: [")
    assert "groundplan.lock.yaml:" in refused(tmp_path, "validate")
    assert "groundplan.lock.yaml:" in refused(tmp_path, "lock")


# --- blueprints with mistakes -------------------------------------------------------------------------

MISTAKES = {
    "one project for two": (
        "environments: {ml-dev: {project: {id: shared-one}}, ml-prod: {project: {id: shared-one}}}",
        "NM001",
        "the project shared-one of `ml-prod` is that of ml-dev too",
    ),
    "ranges overlap": (
        "environments: {ml-dev: {clusters: {main: {ranges: {nodes: 10.64.0.0/20, pods: 10.64.0.0/16}, "
        "node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}}}",
        "IP001",
        "10.64.0.0/16 overlaps 10.64.0.0/20",
    ),
    "ranges outside": (
        "environments: {ml-dev: {clusters: {main: {ranges: {pods: 192.168.0.0/16}, "
        "node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}}}",
        "IP002",
        "192.168.0.0/16 is outside the address space 10.64.0.0/10",
    ),
    "a zone elsewhere": (
        "environments: {ml-dev: {clusters: {main: {zones: [europe-west4-a], "
        "node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}}}",
        "ZN001",
        "`europe-west4-a` is not a zone of us-central1",
    ),
    "a long name": (
        f"environments: {{ml-dev: {{project: {{id: {'p' * 40}}}, {CLUSTER}}}}}",
        "BP003",
        "cannot be `ppp",
    ),
    "an illegal name": (
        "environments: {ML_Dev: {tier: development}}",
        "BP003",
        "`ML_Dev` cannot be the name",
    ),
    "a name that is taken": ("environments: {foundation: {tier: development}}", "NM008", "foundation"),
    "an expression": (
        'environments: {ml-dev: {labels: {team: "${var.team}"}}}',
        "TX001",
        "`${` begins an expression",
    ),
    "a directive": (
        'environments: {ml-dev: {labels: {team: "%{if}"}}}',
        "TX001",
        "`%{` begins an expression",
    ),
    "an unknown key": ("environments: {ml-dev: {regoin: us-east1}}", "BP001", "unknown key `regoin`"),
    "no tier": ("environments: {qa: {}}", "BP004", "the environment `qa` has no tier"),
}


@pytest.mark.parametrize(("text", "code", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_blueprint(text, code, message, tmp_path):
    project(tmp_path, f"{HEAD}{text}\n")
    error = refused(tmp_path, "validate")
    assert f"error[{code}]: " in error
    assert message in error
    for command in ("plan --offline", "apply --offline --auto-approve", "synth", "lock", "show"):
        assert f"error[{code}]: " in refused(tmp_path, *command.split()), command


def test_all_mistakes_of_a_file_in_one_run(tmp_path):
    project(
        tmp_path,
        """\
apiVersion: groundplan/v2
name: Tiny
organization: acme
environments:
  ml-dev:
    regoin: us-central1
    labels: {Team: ml}
    protect: perhaps
    clusters:
      main:
        zones: [us-east1-b]
        node_pools:
          system: {machine: e2-standard-4, nodes: {min: 3, max: 1}}
          l4: {machine: g2-standard-4, capacity: spott}
    storage: {buckets: {data: {soft_delete: 7}}}
    workloads: {trainer: {reads: [buckets/date], runs_on: [l5]}}
  qa:
""",
    )
    result = groundplan(tmp_path, "validate", "--json")
    places = {(one["line"], one["code"]) for one in result.json if one["severity"] == "error"}
    assert result.code == 1
    assert {
        (1, "BP003"), (2, "BP003"), (3, "BP003"), (6, "BP001"), (7, "LB001"), (8, "BP003"), (11, "ZN001"),
        (13, "ND001"), (14, "BP003"), (15, "BP003"), (16, "RF001"), (16, "RF002"), (17, "BP004"),
    } <= places  # fmt: skip
    shown = groundplan(tmp_path, "validate").err
    assert all(f"groundplan.yaml:{line}:" in shown for line, _ in places)
    assert f"{len([one for one in result.json if one['severity'] == 'error'])} errors" in shown


# --- words of the command line ------------------------------------------------------------------------

WRONG_WORDS = {
    "plan ml-dve --offline": "Did you mean `ml-dev`?",
    "show nothing": "there is no environment `nothing`",
    "plan foundation --offline": "the blueprint has no `foundation:`",
    "plna": "there is no command `plna`. Did you mean `plan`?",
    "plan --ofline": "No such option",
    "destroy --offline": "destroy needs environments, or --all",
    "destroy ml-dev --all --offline": "give environments or --all, not both",
    "apply": "a real apply needs environments, or --all",
    "init": "Missing argument 'DIRECTORY'",
    "init Not_A_Name": "cannot be the name of a platform",
    "engines --engine-binary nowhere": "'nowhere' does not exist",
}


@pytest.mark.parametrize(("words", "message"), WRONG_WORDS.items(), ids=WRONG_WORDS)
def test_wrong_words(words, message, tmp_path):
    assert message in refused(project(tmp_path), *words.split(), code=64)


def test_no_word_is_a_question_for_help(tmp_path):
    result = groundplan(tmp_path)
    assert (result.code, result.out) == (64, "")
    assert result.err.startswith("Usage: groundplan")


# --- places that cannot be used -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    ["plan --offline --work-dir blocked/x", "synth -o blocked/x", "schema -o blocked/x", "init blocked/x"],
)
def test_a_place_that_cannot_be_used(words, tmp_path):
    (project(tmp_path) / "blocked").write_text("a file, and no folder")
    assert "blocked/x" in refused(tmp_path, *words.split())


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody may write")
@pytest.mark.parametrize("words", ["plan --offline --work-dir /proc/x", "synth -o /proc/x"])
def test_a_folder_that_nobody_may_write(words, tmp_path):
    assert "/proc/x" in refused(project(tmp_path), *words.split())


def test_init_overwrites_nothing(tmp_path):
    project(tmp_path)
    assert "is not empty" in refused(tmp_path, "init", ".", "--name", "tiny")


def test_init_refuses_what_would_not_validate(tmp_path):
    error = refused(tmp_path, "init", "tiny", "--region", "mars", "--env", "a_b")
    assert "`region` cannot be `mars`" in error
    assert "`a_b` cannot be the name of an environment" in error
    assert not (tmp_path / "tiny").exists()


# --- real runs that lack something --------------------------------------------------------------------


def test_a_real_plan_without_credentials_does_nothing(tmp_path):
    project(tmp_path, f"{BLUEPRINT}state: {{local: true}}\n")
    assert "needs Google Cloud credentials" in refused(tmp_path, "plan", code=4)
    assert "needs Google Cloud credentials" in refused(tmp_path, "apply", "ml-dev", code=4)
    assert not (tmp_path / ".groundplan").exists()


def test_a_real_plan_wants_a_place_for_its_state(tmp_path):
    assert "needs a place for its state" in refused(project(tmp_path), "plan", code=64)


def test_a_real_plan_refuses_what_is_not_provisioned(tmp_path):
    later = "terraform: {files: [more.tf], patch: {google_compute_network.main: {mtu: 1460}}}"
    project(tmp_path, f"{BLUEPRINT}    {later}\nstate: {{local: true}}\n")
    assert groundplan(tmp_path, "validate").code == 0
    for words in ("plan", "apply ml-dev", "destroy ml-dev"):
        error = refused(tmp_path, *words.split())
        assert error.count("is not provisioned yet") >= 2, words


def test_no_engine_is_found(tmp_path, monkeypatch):
    from groundplan.engines.terraform import engine

    monkeypatch.setattr(engine, "embedded_library", lambda: None)
    result = groundplan(project(tmp_path), "plan", "--offline", PATH=str(tmp_path))
    assert result.code == 4
    assert "no engine" in result.err
    assert "pip install 'groundplan[embedded]'" in result.err
    listed = groundplan(tmp_path, "engines", PATH=str(tmp_path))
    assert listed.out.startswith("none.")


def test_an_engine_that_is_none(tmp_path):
    (project(tmp_path) / "fake").write_text("#!/bin/sh\necho hello\n")
    (tmp_path / "fake").chmod(0o755)
    error = refused(tmp_path, "plan", "--offline", "--engine-binary", "fake", code=4)
    assert "fake is not a terraform or tofu that runs here" in error
