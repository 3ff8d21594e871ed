"""Who may import whom: the rooms in their order, and nobody the public face."""

import ast
import functools
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PUBLIC_FACE = {"groundplan.__init__", "groundplan.__main__"}


def contracts():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]


def rooms():
    return {path.name for path in (ROOT / "src" / "groundplan").iterdir() if path.is_symlink()}


@functools.cache
def nodes(path):
    """Every node of a file's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path):
    """What a file of a room imports from groundplan, as dotted names."""
    package = (".".join(("groundplan", *path.relative_to(ROOT).parts))).split(".")[:-2]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            yield ".".join([*base, *([node.module] if node.module else [])])


def test_import_linter_is_content():
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert command, "import-linter belongs to the development dependencies"
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_every_room_has_its_place():
    layers, forbidden = contracts()
    named = {
        name.strip().removeprefix("groundplan.") for layer in layers["layers"] for name in layer.split("|")
    }
    assert named == {*rooms(), "errors"}
    assert {name.removeprefix("groundplan.") for name in forbidden["source_modules"]} == rooms()


def test_no_room_imports_the_public_face():
    """import-linter cannot tell ``import groundplan`` from the import of a room, so this looks itself."""
    found = [
        (str(path.relative_to(ROOT)), name)
        for room in rooms()
        for path in (ROOT / room).rglob("*.py")
        for name in imports(path)
        if name == "groundplan" or name in PUBLIC_FACE
    ]
    assert found == []


def test_rooms_import_each_other_by_their_full_name():
    files = [path for room in rooms() for path in (ROOT / room).rglob("*.py")]
    assert len(files) > 50
    for path in files:
        for name in imports(path):
            assert name.partition(".")[0] not in rooms(), f"{path} imports {name}"


def test_only_cli_prints_and_exits():
    for path in (path for room in rooms() - {"cli"} for path in (ROOT / room).rglob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", path
