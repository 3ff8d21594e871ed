"""The wheel holds the whole house and nothing else, and works where nothing of the repository is."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from cli_factory import environment
from hatchling.builders.wheel import WheelBuilder

import groundplan

ROOT = Path(__file__).resolve().parents[1]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = [
    name for name in CONFIG["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"] if "/" not in name
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as hatchling builds it."""
    (path,) = WheelBuilder(str(ROOT)).build(
        directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"]
    )
    return Path(path)


def tracked(room):
    """The files of a room that git knows, as they must stand in the wheel."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", room], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    return {f"groundplan/{name}" for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def test_rooms_are_links(wheel):
    links = {path.name for path in (ROOT / "src" / "groundplan").iterdir() if path.is_symlink()}
    assert links == set(ROOMS)
    for name in links:
        link = ROOT / "src" / "groundplan" / name
        assert not link.readlink().is_absolute()
        assert link.resolve() == ROOT / name


@pytest.mark.parametrize("room", ROOMS)
def test_the_wheel_holds_every_file_of_a_room(room, wheel):
    missing = tracked(room) - set(zipfile.ZipFile(wheel).namelist())
    assert not missing


def test_the_wheel_holds_what_is_no_python(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "groundplan/blueprints/blueprint.schema.json",
        "groundplan/blueprints/library/starter.yaml",
        "groundplan/blueprints/library/starter.lock.yaml",
        "groundplan/cli/templates/groundplan.yaml",
        "groundplan/facts/accelerators/catalog.json",
        "groundplan/py.typed",
    } <= names
    assert len([name for name in names if name.startswith("groundplan/facts/provider/")]) > 50


def test_the_wheel_holds_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    meta = f"groundplan-{groundplan.__version__}.dist-info/"
    assert all(name.startswith(("groundplan/", meta)) for name in names)
    assert not [
        name for name in names if "__pycache__" in name or ".groundplan/" in name or "/tests/" in name
    ]
    assert f"{meta}licenses/LICENSE" in names
    assert len(names) == len(set(names))


def test_the_wheel_works_by_itself(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = (
        "import sys; sys.path.insert(0, 'site')\n"
        "import groundplan; assert groundplan.__file__.startswith(sys.argv[1]), groundplan.__file__\n"
        "from groundplan.cli.main import run\n"
        "sys.exit(run(['init', 'tiny', '--env', 'ml-dev']) or run(['synth', '-f', 'tiny/groundplan.yaml']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "terraform" / "ml-dev" / "main.tf.json").exists()


def test_versions_agree():
    assert groundplan.__version__ == CONFIG["project"]["version"]


def test_every_dependency_is_imported_somewhere():
    """A dependency that nothing imports makes every installation larger for nothing."""
    modules = {
        "pyyaml": "yaml",
        "python-dateutil": "dateutil",
        "grpcio": "grpc",
        "protobuf": "google.protobuf",
    }
    code = "\n".join(
        path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py")
    )
    for requirement in CONFIG["project"]["dependencies"]:
        name = requirement.partition(">")[0]
        module = modules.get(name, name)
        assert name == "tzdata" or f"import {module}" in code or f"from {module}" in code, name
