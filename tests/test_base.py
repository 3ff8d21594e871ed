"""``plan --offline --base REF``: what a change does to what the blueprint of a git revision made."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from cli_factory import BLUEPRINT, edit, groundplan, project

from groundplan.cli import base
from groundplan.cli.revision import Revision
from groundplan.errors import UsageError

FOUNDED = BLUEPRINT.replace(
    "defaults:\n",
    'organization: "123456789012"\nfoundation: {project: tiny-seed}\n'
    "defaults:\n  billing_account: 01AB23-CD45EF-678901\n",
)


def git(folder, *words):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder, message="x"):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


def repository(folder, text=BLUEPRINT, at="."):
    """A repository with a blueprint and its lock file."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text(".groundplan/\n")
    where = project(folder / at, text)
    assert groundplan(where, "lock").code == 0
    commit(folder)
    return where


def files(folder):
    return {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts
    }


@pytest.fixture
def tidy(tmp_path, monkeypatch):
    """Where temporary folders are made, to see what is left of them."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.terraform
def test_a_change_is_shown_against_the_revision_and_nothing_else_is_touched(tmp_path, tidy):
    folder = repository(tmp_path / "repo", at="platform")
    assert groundplan(folder, "apply", "--offline", "--auto-approve", "--no-verify").code == 0
    edit(folder, "g2-standard-12", "g2-standard-24")
    edit(folder, "buckets: {data: {}}", "buckets: {other: {}}")
    edit(folder, "writes: [buckets/data]", "writes: [buckets/other]")
    before = files(tmp_path / "repo")

    shown = groundplan(folder, "plan", "--offline", "--base", "main", "--detailed-exitcode")

    assert shown.code == 2
    assert "± node pool l4" in shown.out
    assert "(node_config.guest_accelerator.count) forces it" in " ".join(shown.out.split())
    assert "- bucket data" in shown.out
    assert "+ bucket other" in shown.out
    assert "1 to replace, 1 to destroy" in shown.out
    commit_id = git(folder, "rev-parse", "--short=7", "HEAD")
    assert f"main ({commit_id}): applying ml-dev in a throw-away stand-in" in shown.err
    assert files(tmp_path / "repo") == before, "neither sources nor the stand-in's own cloud and state"
    assert list(tidy.iterdir()) == []


@pytest.mark.terraform
def test_what_the_foundation_learns_is_known_and_what_did_not_change_is_not_run(tmp_path, monkeypatch):
    seen, compare = [], base.compare
    monkeypatch.setattr(base, "compare", lambda *arguments: seen.append(compare(*arguments)) or seen[-1])
    folder = repository(tmp_path / "repo", FOUNDED.replace("  ml-dev:\n", "  ml-dev:\n  ml-staging:\n"))
    edit(folder, "  ml-dev:\n", "  ml-dev:\n    workloads: {tester: {reads: [buckets/data]}}\n")
    shown = groundplan(folder, "plan", "--offline", "--base", "HEAD", "--resources")
    assert "applying foundation, ml-dev in a throw-away" in shown.err
    assert "foundation: applying" in shown.err
    assert "ml-staging: " not in shown.err
    heads = [line for line in shown.out.splitlines() if " · offline" in line]
    assert [head.split()[0] for head in heads] == ["foundation", "ml-dev", "ml-staging"]
    assert ["nothing to do" in head for head in heads] == [True, False, True]
    assert re.search(r"nothing to do, [1-9]\d+ resources are as the blueprint says", heads[2])
    assert "+ tester" in shown.out
    assert "0 to change, 0 to replace, 0 to destroy" in shown.out
    assert re.search(r"principal://iam.googleapis.com/projects/\d+/", shown.out)
    assert not [resource for resource in seen[0].shown[1].stack.graph if resource.mode == "data"], (
        "the number is learned, so nobody has to look it up"
    )


@pytest.mark.terraform
def test_an_environment_that_left_the_blueprint_is_told_whole(tmp_path):
    folder = repository(tmp_path / "repo", FOUNDED + "  ml-old: {tier: development}\n")
    edit(folder, "  ml-old: {tier: development}\n", "")
    shown = groundplan(folder, "plan", "--offline", "--base", "HEAD")
    assert shown.code == 0
    assert re.search(r"environment ml-old is gone from the blueprint: \d\d resources?", shown.out)
    assert "would be left behind unmanaged" in shown.out
    assert "Among them: 1 bucket, 1 cluster, 2 node pools." in shown.out
    assert "The foundation deletes its project" in shown.out
    assert "`removed: {ml-old: {confirm: tiny-ml-old}}`" in shown.out

    with (folder / "groundplan.yaml").open("a") as file:
        file.write("removed: {ml-old: {confirm: tiny-ml-old}}\n")
    named = groundplan(
        folder, "plan", "ml-old", "--offline", "--base", "HEAD", "--json", "--detailed-exitcode"
    )
    assert named.code == 2
    assert named.json["stacks"] == []
    (gone,) = named.json["gone"]
    assert (gone["stack"], gone["tombstone"]) == ("ml-old", True)
    assert "google_container_cluster.main" in gone["resources"]


@pytest.mark.terraform
def test_a_blueprint_that_the_revision_does_not_have_is_all_new(tmp_path):
    folder = repository(tmp_path / "repo")
    edit(folder, "name: tiny", "name: tiny2")
    (folder / "groundplan.yaml").rename(folder / "new.yaml")
    shown = groundplan(folder, "-f", "new.yaml", "plan", "--offline", "--base", "HEAD", "--json")
    (stack,) = shown.json["stacks"]
    assert stack["resources"]["add"] > 15
    assert stack["unchanged"] == 0
    commit_id = git(folder, "rev-parse", "HEAD")
    assert (shown.json["base"], shown.json["gone"]) == ({"ref": "HEAD", "commit": commit_id}, [])


@pytest.mark.terraform
def test_a_base_that_cannot_be_applied_says_so_and_keeps_the_logs(tmp_path, tidy):
    folder = repository(tmp_path / "repo")
    edit(folder, "g2-standard-12", "g2-standard-24")
    faults = '[{"type": "google_container_cluster", "action": "create", "error": "no capacity"}]'
    failed = groundplan(folder, "plan", "--offline", "--base", "HEAD", GROUNDPLAN_OFFLINE_FAULTS=faults)
    assert failed.code == 4
    assert "the blueprint of HEAD (" in failed.err
    assert "cannot be applied offline" in failed.err
    (kept,) = tidy.iterdir()
    assert str(kept) in failed.err
    assert kept.stat().st_mode & 0o077 == 0


def test_what_cannot_be_a_base(tmp_path):
    folder = repository(tmp_path / "repo")
    unknown = groundplan(folder, "plan", "--offline", "--base", "nope")
    assert unknown.code == 64
    assert "git knows no revision 'nope'" in unknown.err
    assert groundplan(folder, "plan", "--offline", "--base=--all").code == 64
    blob = groundplan(folder, "plan", "--offline", "--base", "HEAD:groundplan.yaml")
    assert blob.code == 64
    assert "--offline" in groundplan(folder, "plan", "--base", "HEAD").err
    assert groundplan(folder, "plan", "--offline", "--base", "HEAD", "--out", "x").code == 64
    piped = groundplan(folder, "-f", "-", "plan", "--offline", "--base", "HEAD", stdin=BLUEPRINT)
    assert "what comes from stdin" in piped.err
    nobody = groundplan(folder, "plan", "ml-nope", "--offline", "--base", "HEAD")
    assert nobody.code == 64
    outside = project(tmp_path / "outside")
    no_repository = groundplan(
        outside, "plan", "--offline", "--base", "HEAD", GIT_CEILING_DIRECTORIES=str(tmp_path)
    )
    assert no_repository.code == 64
    assert "needs a git repository" in no_repository.err


@pytest.mark.parametrize("name", ["groundplan.yaml", "groundplan.lock.yaml"])
def test_a_base_with_errors_is_told_with_its_lines(tmp_path, name):
    folder = repository(tmp_path / "repo")
    good = (folder / name).read_text()
    (folder / name).write_text(good + "surprise: 1\n")
    commit(folder)
    (folder / name).write_text(good)
    refused = groundplan(folder, "plan", "--offline", "--base", "HEAD")
    assert refused.code == 1
    assert f"{name} as it was at HEAD (" in refused.err
    assert f"line {len(good.splitlines()) + 1}: " in refused.err
    assert "surprise" in refused.err


def test_a_revision_reads_files_from_a_folder_of_the_repository(tmp_path, monkeypatch):
    folder = repository(tmp_path / "repo", at="a/b")
    old = (folder / "groundplan.yaml").read_bytes()
    git(folder, "tag", "v1")
    edit(folder, "tiny", "other")
    commit(folder)
    revision = Revision.named("v1", folder)
    assert revision.read("groundplan.yaml") == old
    assert revision.read("missing.yaml") is None
    assert str(revision) == f"v1 ({revision.commit[:7]})"
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(UsageError, match="needs git"):
        Revision.named("v1", folder)


def test_a_linked_blueprint_is_read_where_it_is(tmp_path):
    folder = repository(tmp_path / "repo", at="real")
    link = Path(tmp_path / "link.yaml")
    link.symlink_to(folder / "groundplan.yaml")

    class Linked:
        file = str(link)

    assert base.present_file(Linked()) == (folder / "groundplan.yaml").resolve()
