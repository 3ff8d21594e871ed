"""The shipped blueprints are right: valid, applied offline by real Terraform, and gone without a rest."""

import functools
import shutil

import pytest
from cli_factory import cloud, groundplan

from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.lock import allocate, lock_path, read_lock
from groundplan.blueprints.reader import read
from groundplan.engines.terraform.engine import find_engines
from groundplan.stacks.catalog import stacks

BLUEPRINTS = library_blueprints()
ENGINES = {str(engine): engine for engine in find_engines()}
EMBEDDED = [name for name, engine in ENGINES.items() if engine.kind == "embedded"]


@pytest.fixture
def folder(tmp_path):
    """A folder to copy a blueprint into."""
    return tmp_path


def copied(name, folder, *, protected=True):
    """A shipped blueprint with its lock file in ``folder``; or the same with nothing protected."""
    for path in (BLUEPRINTS[name], BLUEPRINTS[name].with_suffix(".lock.yaml")):
        if path.exists():
            shutil.copy(path, folder)
    path = folder / f"{name}.yaml"
    if not protected:
        text = path.read_text(encoding="utf-8")
        assert text.count("\ndefaults:") == 1
        path.write_text(text.replace("\ndefaults:", "\ndefaults:\n  protect: false"), encoding="utf-8")
    return path.name


def rest(folder):
    """What is left in the cloud, APIs aside: they stay enabled where the project stays."""
    return [path for path in cloud(folder) if not path.startswith("google_project_service/")]


def test_there_are_blueprints():
    assert len(BLUEPRINTS) >= 3
    assert "starter" in BLUEPRINTS, "make demo applies it"


@pytest.mark.parametrize("name", BLUEPRINTS)
def test_a_shipped_blueprint_has_no_problems(name, folder):
    result = groundplan(folder, "validate", "--json", "-f", BLUEPRINTS[name])
    assert (result.code, [one for one in result.json if one["severity"] != "note"]) == (0, [])


@pytest.mark.parametrize("name", BLUEPRINTS)
def test_a_shipped_blueprint_is_committed_with_its_ranges(name, folder):
    result = groundplan(folder, "lock", "--check", "-f", BLUEPRINTS[name])
    assert result.code == 0, result.both


@functools.cache
def covering():
    """Names of a few blueprints: their productions have every type of resource that any production has."""
    types = {}
    for name, path in BLUEPRINTS.items():
        blueprint = read(path).blueprint
        (stack,) = stacks(blueprint, allocate(blueprint, read_lock(lock_path(path))), ["ml-prod"])
        types[name] = {resource.type for resource in stack.graph}
    chosen, missing = [], set().union(*types.values())
    while missing:
        best = max(types, key=lambda name: len(types[name] & missing))
        chosen.append(best)
        missing -= types[best]
    return chosen


@pytest.mark.terraform
@pytest.mark.parametrize("name", BLUEPRINTS)
def test_production_of_a_shipped_blueprint_comes_and_goes(name, folder):
    """The richest environment. An apply ends with a second plan, and fails if that is not empty.

    Every type of resource goes at least once; that all go from each blueprint would cost seconds.
    """
    blueprint = copied(name, folder, protected=False)
    options = ("--offline", "--auto-approve", "--quiet", "-f", blueprint)
    applied = groundplan(folder, "apply", "ml-prod", *options)
    assert applied.code == 0, applied.both
    assert rest(folder)
    if name in covering():
        destroyed = groundplan(folder, "destroy", "ml-prod", *options)
        assert destroyed.code == 0, destroyed.both
        assert rest(folder) == []


@pytest.mark.terraform
@pytest.mark.skipif(not EMBEDDED, reason="the embedded engine is not installed here")
def test_the_starter_comes_and_goes_with_its_foundation_and_the_embedded_engine(folder):
    """Cut down to one environment; `make demo`, which a test of README runs, applies the others."""
    blueprint = copied("starter", folder, protected=False)
    text, _, _ = (folder / blueprint).read_text(encoding="utf-8").partition("  ml-staging:")
    (folder / blueprint).write_text(text, encoding="utf-8")
    options = ("--all", "--offline", "--auto-approve", "--json", "-f", blueprint)
    applied = groundplan(folder, "apply", *options, "--no-verify", PATH="/nonexistent")
    assert applied.code == 0, applied.both
    assert applied.json["engine"].endswith("(embedded)")
    assert [stack["name"] for stack in applied.json["stacks"]] == ["foundation", "ml-dev"]
    again = groundplan(folder, "plan", "--offline", "--detailed-exitcode", "-f", blueprint)
    assert again.code == 0, again.both
    destroyed = groundplan(folder, "destroy", *options, PATH="/nonexistent")
    assert destroyed.code == 0, destroyed.both
    assert [stack["name"] for stack in destroyed.json["stacks"]] == ["ml-dev", "foundation"]
    assert cloud(folder) == {}
