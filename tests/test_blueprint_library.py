import subprocess
import sys
from pathlib import Path

import pytest

from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.lock import Lock, allocate, lock_path, lock_text, read_lock
from groundplan.blueprints.reader import read

LIBRARY = library_blueprints()
DATA = Path(__file__).parent / "data" / "blueprints"


def test_three_blueprints_are_shipped():
    assert {"starter", "training-gpu", "serving-gpu"} <= LIBRARY.keys()


@pytest.mark.parametrize("name", LIBRARY)
def test_a_shipped_blueprint_is_clean_and_complete(name):
    made = read(LIBRARY[name])
    assert made.diagnostics == ()
    assert list(made.blueprint.environments) == ["ml-dev", "ml-staging", "ml-prod"]
    assert made.blueprint.foundation is not None
    for environment in made.blueprint.environments.values():
        assert environment.clusters
        assert environment.storage.buckets
        assert environment.workloads


@pytest.mark.parametrize("name", LIBRARY)
def test_editors_find_the_schema(name):
    path = LIBRARY[name]
    first = path.read_text().splitlines()[0]
    prefix = "# yaml-language-server: $schema="
    assert first.startswith(prefix)
    assert (path.parent / first.removeprefix(prefix)).is_file()


@pytest.mark.parametrize("name", LIBRARY)
def test_the_lock_of_a_shipped_blueprint_is_current(name):
    path, blueprint = lock_path(LIBRARY[name]), read(LIBRARY[name]).blueprint
    assert allocate(blueprint, read_lock(path)) == read_lock(path), f"run: groundplan -f {LIBRARY[name]} lock"
    assert lock_text(allocate(blueprint, Lock())) == path.read_text()


def test_the_whole_language_reads_without_errors():
    made = read(DATA / "language.yaml")
    assert not [one.message for one in made.diagnostics if one.severity == "error"]
    assert "LT001" in {one.code for one in made.diagnostics}
    prod = made.blueprint.environments["ml-prod"]
    main = prod.clusters["main"]
    assert prod.project_id == "acme-ml-prod"
    assert main.node_pools["train"].capacity.reservation.blocks["b2"].sub_blocks == ("s1",)
    assert main.node_pools["batch"].max_run_seconds == 3 * 86400
    assert prod.storage.lustre["scratch"].capacity_gib == 36000
    assert prod.budget.alerts == (0.5, 0.9, 1.0)


def test_reading_loads_nothing_that_it_does_not_need():
    code = (
        "import sys; from groundplan.blueprints.reader import read; read(sys.argv[1]);"
        "print([name for name in ('rich', 'dateutil', 'grpc', 'click', 'groundplan.modules.graph',"
        " 'groundplan.engines', 'groundplan.facts.schema', 'jsonschema') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(LIBRARY["starter"])], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
