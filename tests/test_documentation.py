"""Everything that README and docs show is true: commands run, blueprints are valid, lists are complete."""

import importlib
import os
import re
import shlex
import sys
from itertools import pairwise

import click
import pytest
from cli_factory import groundplan
from documents import ROOT, Session, blocks, commands, difference, edits, pages, parts, refresh

from groundplan import errors
from groundplan.blueprints.model import BlueprintFile, EnvironmentSpec
from groundplan.blueprints.shapes import of_model
from groundplan.cli.main import COMMANDS
from groundplan.cli.main import commands as all_commands

sys.path.append(str(ROOT / "tools"))
generated_part = importlib.import_module("generated_part")
language_reference = importlib.import_module("language_reference")
command_reference = importlib.import_module("command_reference")
rules_reference = importlib.import_module("rules_reference")

PAGES = {page.name: page for page in pages()}
WITH_SESSIONS = ["README.md", "exit-codes.md", "getting-started.md", "json.md", "offline.md"]
WITH_YAML = ["README.md", "blueprint.md", "getting-started.md"]

REFRESH = "perhaps GROUNDPLAN_REFRESH=1 pytest tests/test_documentation.py helps"
CLUSTER = "clusters: {main: {node_pools: {system: {machine: e2-standard-4, nodes: 1}}}}"


@pytest.fixture(scope="module")
def json_results(tmp_path_factory):
    """What the commands of docs/json.md say, by the heading that they stand under."""
    return follow(PAGES["json.md"], tmp_path_factory.mktemp("json"))


def follow(page, folder):
    """Do what a page says, from its top; the results by heading."""
    session, results = Session(folder), {}
    text = page.read_text(encoding="utf-8").splitlines()
    for block in blocks(page, "console", "yaml"):
        if block.language == "yaml":
            if edits(block):
                session.edit(block)
            continue
        for command in commands(block):
            result = session.run(command.text)
            where = f"{page.name}, block in line {block.line}: {command.text}\n{result.both}"
            assert result.code == command.code, f"exit code {result.code}: {where}"
            if command.shown and os.environ.get("GROUNDPLAN_REFRESH"):
                refresh(page, command, result.both)
            elif command.shown:
                missing = difference(command.shown, result.both)
                assert missing is None, f"the page shows {missing!r}; {REFRESH}. The command says\n{where}"
            heading = next(line for line in reversed(text[: block.line]) if line.startswith("#"))
            results[heading.lstrip("# ")] = result
    return results


@pytest.mark.terraform
@pytest.mark.parametrize("name", [name for name in WITH_SESSIONS if name != "json.md"])
def test_what_a_page_shows_happens(name, tmp_path):
    assert follow(PAGES[name], tmp_path)


def test_pages_with_sessions_are_followed():
    assert [name for name, page in PAGES.items() if blocks(page, "console")] == sorted(WITH_SESSIONS)


# --- blueprints ---------------------------------------------------------------------------------------


def complete(text):
    """A whole blueprint from a block: it is one, or top-level keys, or keys of an environment."""
    if "apiVersion:" in text:
        return text
    keys = {key for key, _ in parts(text)}
    head = "apiVersion: groundplan/v1\nname: docs\n"
    if keys <= of_model(BlueprintFile).keys.keys():
        return f"{head}{text}environments: {{ml-dev: {{{CLUSTER}}}}}\n"
    assert keys <= of_model(EnvironmentSpec).keys.keys(), keys
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    return f"{head}defaults: {{{CLUSTER}}}\nenvironments:\n  ml-dev:\n{indented}"


YAML = [(name, b) for name, page in PAGES.items() for b in blocks(page, "yaml") if not edits(b)]


@pytest.mark.parametrize(("name", "block"), YAML, ids=[f"{name}-{block.line}" for name, block in YAML])
def test_blueprints_are_valid(name, block, tmp_path):
    result = groundplan(tmp_path, "validate", "-f", "-", "--json", stdin=complete(block.text))
    assert (result.code, result.json) == (0, []), block.text


def test_pages_about_blueprints_show_some():
    assert {name for name, page in PAGES.items() if blocks(page, "yaml")} == set(WITH_YAML)
    assert len(YAML) >= 5


# --- completeness -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool", [language_reference, command_reference, rules_reference], ids=lambda tool: tool.TOOL
)
def test_generated_parts_are_current(tool):
    for name, part in tool.generated().items():
        page = (ROOT / name).read_text(encoding="utf-8")
        assert page == generated_part.with_part(page, tool.TOOL, part), f"run: python tools/{tool.TOOL}"


def test_every_command_and_option_is_documented():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for name, command in all_commands().items():
        assert f"\n## {name}\n" in page
        for option in (one for one in command.params if isinstance(one, click.Option)):
            assert f"`{option.opts[-1]}`" in page, (name, option.opts)


def read_words(line):
    """Let click read a command line, without running it."""
    words = shlex.split(line, comments=True)[1:]
    if words[0] == "-f":
        words = [*words[2:], *words[:2]]
    all_commands()[words[0]].make_context(words[0], words[1:])


def shown_words():
    """Command lines of groundplan that are shown, and that no other test runs."""
    shown = {
        line for page in PAGES.values() for block in blocks(page, "sh") for line in block.text.splitlines()
    }
    after_the_demo = (ROOT / "docs" / "demo-next.txt").read_text(encoding="utf-8").splitlines()
    shown |= {line.strip().removeprefix(".venv/bin/").partition("   ")[0] for line in after_the_demo}
    return sorted(line for line in shown if line.startswith("groundplan ") and " < " not in line)


@pytest.mark.parametrize("line", shown_words())
def test_words_that_are_shown_and_not_run_are_known(line):
    read_words(line)


#: Commands whose examples other tests run with an engine; here their words are only read.
ONLY_READ = {"plan", "apply", "destroy", "import", "output"}


@pytest.mark.parametrize(("name", "command"), all_commands().items(), ids=COMMANDS)
def test_examples_of_help_texts_work(name, command, tmp_path):
    _, example = command_reference.help_parts(command)
    if name != "init":
        assert groundplan(tmp_path, "init", "my-platform").code == 0
    session = Session(tmp_path if name == "init" else tmp_path / "my-platform")
    for line in example.replace(" && ", "\n").splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "groundplan" and words[1] in ONLY_READ:
            read_words(line)
        else:
            result = session.run(line)
            assert result.code == 0, result.both
    assert example


def test_every_command_says_in_one_line_what_it_does():
    assert {n: c.short_help for n, c in all_commands().items()} == {
        n: line for n, (_, line) in COMMANDS.items()
    }


def test_every_exit_code_is_documented():
    page = PAGES["exit-codes.md"].read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    raised = {
        one.exit_code for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)
    }
    assert documented == raised | {0, 2}


# --- JSON ---------------------------------------------------------------------------------------------


def paths(value, path=""):
    """Every path of a document that leads to a value, with ``[]`` for the items of lists."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from paths(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{path}[]")
    else:
        yield path


#: Words that stand for a name in the fields of docs/json.md; a path may have dots of its own.
NAMES = {"ENV": "[^.]+", "STACK": "[^.]+", "COUNT": "[^.]+", "KIND": "[^.]+", "PATH": ".+", "…": ".+"}


def documented(section):
    """Patterns of the fields in a section of docs/json.md. ``x.…`` is also x itself, where it is empty."""
    text = PAGES["json.md"].read_text(encoding="utf-8").partition(f"\n## {section}\n")[2]
    for cell in re.findall(r"^\| (`.+?) \|", text.partition("\n## ")[0], re.MULTILINE):
        for field in re.findall(r"`(.+?)`", cell):
            whole, below = (field[:-2], r"(\..+)?") if field.endswith(".…") else (field, "")
            words = re.split(r"(\b[A-Z]+\b|…)", whole)
            yield re.compile("".join(NAMES.get(word, re.escape(word)) for word in words) + below)


@pytest.mark.terraform
@pytest.mark.parametrize("section", ["When a command fails", *sorted({*COMMANDS} - {"schema", "destroy"})])
def test_fields_of_json_documents_are_documented(section, json_results):
    fields = list(documented(section))
    found = [path for path in paths(json_results[section].json) if path]
    assert json_results[section].err == ""
    for path in found:
        assert any(field.fullmatch(path) for field in fields), (
            f"{path} is not in docs/json.md, section {section}"
        )
    assert found or section == "validate"


def test_every_command_with_json_is_in_the_page():
    text = PAGES["json.md"].read_text(encoding="utf-8")
    options = {n for n, c in all_commands().items() if any("--json" in p.opts for p in c.params)}
    assert options == {name for name in COMMANDS if f"\n## {name}\n" in text}
    assert COMMANDS.keys() - options == {"schema"}


# --- links --------------------------------------------------------------------------------------------


def anchors(page):
    """What a link may lead to in a page, as GitHub makes it from headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}"


def test_headings_of_a_page_differ():
    for page in PAGES.values():
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        headings = sorted(re.findall(r"^##? (.+)$", text, re.MULTILINE))
        assert all(a != b for a, b in pairwise(headings)), page.name
