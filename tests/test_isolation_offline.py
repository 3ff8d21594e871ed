"""All environments with enforced perimeters in one cloud: applied in one go, and gone in one go."""

from pathlib import Path

import pytest

from groundplan.blueprints.library import library_blueprints
from groundplan.cli.main import run


@pytest.mark.slow
@pytest.mark.terraform
def test_three_enforced_perimeters_come_and_go_in_one_go(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = library_blueprints()["serving-gpu"].read_text(encoding="utf-8")
    text = text.replace("perimeter: {mode: dry-run}", "perimeter: {mode: enforced}")
    text = text.replace("  ml-dev:\n", "  ml-dev:\n    perimeter: {mode: enforced}\n", 1)
    Path("groundplan.yaml").write_text(text, encoding="utf-8")
    assert run(["apply", "--all", "--offline", "--auto-approve", "-q"]) == 0
    assert run(["plan", "--offline", "--detailed-exitcode", "-q"]) == 0
    assert len(list(Path(".groundplan/offline/cloud").glob("*service_perimeter/*.json"))) == 3
    for name in ("ml-staging", "ml-prod"):
        text = text.replace(f"  {name}:\n", f"  {name}:\n    protect: false\n", 1)
    Path("groundplan.yaml").write_text(text, encoding="utf-8")
    assert run(["apply", "--all", "--offline", "--auto-approve", "-q"]) == 0
    assert run(["destroy", "--all", "--offline", "--auto-approve", "-q"]) == 0
    capsys.readouterr()
    left = {path.parent.name for path in Path(".groundplan/offline/cloud").glob("google_*/*.json")}
    assert left == set()
