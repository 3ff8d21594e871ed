"""Providers that ``init`` chooses, installs and locks: mirror, dependency lock file, plugin cache."""

import json
import os
import subprocess
import sys
import time

import pytest

from groundplan.engines.terraform import dependency_lock, environment, plugin_cache
from groundplan.engines.terraform.engine import find_engines
from groundplan.engines.terraform.events import Diagnostic
from groundplan.engines.terraform.runner import RunError, Terraform
from groundplan.facts.schema import index
from tests.support.mirror import Mirror

pytestmark = pytest.mark.terraform
ENGINES = find_engines()
CHECKED = index().provider_version
TYPES = {"google_compute_network"}


@pytest.fixture(params=ENGINES, ids=lambda engine: f"{engine.name}-{engine.kind}")
def engine(request):
    return request.param


@pytest.fixture
def mirror(tmp_path):
    with Mirror(tmp_path, ["8.6.2", CHECKED, "9.1.0"], TYPES) as mirror:
        yield mirror


@pytest.fixture
def kept(tmp_path):
    return dependency_lock.beside(tmp_path / "blueprints" / "llm.yaml")


@pytest.fixture
def root(tmp_path, mirror, kept):
    """Make a root directory that needs google (and google-beta) and initialize it as a real run does."""
    kept.parent.mkdir(exist_ok=True)
    work = tmp_path / "run"
    cache = plugin_cache.environment({}, plugin_cache.directory(work))

    def make(name, constraint, *, beta=False, engine=ENGINES[0]):
        directory = work / name
        (directory / "logs").mkdir(parents=True, exist_ok=True)
        providers = ["google", "google-beta"] if beta else ["google"]
        needed = {p: {"source": f"hashicorp/{p}", "version": constraint} for p in providers}
        networks = {p: {"provider": p, "name": f"{name}-{p}"} for p in providers}
        content = {
            "terraform": [{"required_providers": needed}],
            "provider": {p: [{"project": f"llm-{p}"}] for p in providers},
            "resource": {"google_compute_network": networks},
        }
        (directory / "main.tf.json").write_text(json.dumps(content))
        variables = environment.real(os.environ) | mirror.environment | cache
        said = []
        terraform = Terraform(engine, directory, variables, directory / "logs", said.append)
        with plugin_cache.exclusive(work), dependency_lock.lent(kept, directory):
            terraform.init()
        return terraform

    return make


def test_the_stand_in_as_an_installed_provider(root, engine, mirror, kept):
    terraform = root("dev", "~> 8.6", beta=True, engine=engine)
    assert dependency_lock.selected(terraform.directory) == {"google": CHECKED, "google-beta": CHECKED}
    assert kept.read_text().count("h1:") >= 2
    terraform.plan(terraform.directory / "plan")
    terraform.apply(terraform.directory / "plan")
    names = {path.name for path in mirror.cloud.glob("google_compute_network/*")}
    assert names == {  # each provider instance has its own connection and its own settings
        "projects%2Fllm-google%2Fglobal%2Fnetworks%2Fdev-google.json",
        "projects%2Fllm-google-beta%2Fglobal%2Fnetworks%2Fdev-google-beta.json",
    }
    assert not terraform.plan(terraform.directory / "plan")


def test_one_lock_file_serves_stacks_with_different_providers(root, mirror, kept):
    root("prod", "~> 8.6", beta=True)
    first = kept.read_text()
    mirror.offer("8.9.0")
    dev = root("dev", "~> 8.6")
    assert dependency_lock.selected(dev.directory) == {"google": CHECKED}, "the choice is remembered"
    assert kept.read_text() == first, "and a stack without google-beta does not strike it out"
    assert first.startswith("# ")
    assert first.index('hashicorp/google"') < first.index('hashicorp/google-beta"')


def test_google_beta_follows_google(root, engine, mirror):
    root("prod", "~> 8.6", engine=engine)
    mirror.offer("8.9.0")
    locked = dependency_lock.selected(root("dev", "~> 8.6", beta=True, engine=engine).directory)
    assert locked == {"google": CHECKED, "google-beta": CHECKED}


def test_a_new_constraint_moves_on_and_an_old_choice_is_kept_within_it(root, mirror, kept):
    root("dev", "~> 8.6")
    assert dependency_lock.selected(root("dev", "~> 8.0, < 9").directory) == {"google": CHECKED}
    assert dependency_lock.selected(root("dev", ">= 9").directory) == {"google": "9.1.0"}
    assert 'version     = "9.1.0"' in kept.read_text()
    kept.unlink()
    assert dependency_lock.selected(root("dev", "~> 8.6.0").directory) == {"google": "8.6.2"}


def test_a_constraint_that_no_version_meets_changes_nothing(root, kept):
    root("dev", "~> 8.6")
    before = kept.read_bytes()
    with pytest.raises(RunError, match="init failed") as caught:
        root("dev", "~> 10.0")
    assert "~> 10.0" in caught.value.detail
    assert kept.read_bytes() == before


def test_a_package_that_is_not_what_was_locked_is_refused(root, kept):
    root("dev", "~> 8.6")
    forged = kept.read_text().replace("h1:", "h1:A", 1)
    kept.write_text(forged)
    with pytest.raises(RunError) as caught:
        root("prod", "~> 8.6")
    assert "checksums" in caught.value.detail
    assert kept.read_text() == forged


def test_versions_that_the_facts_are_not_about(root):
    assert dependency_lock.unknown_facts(root("dev", f"= {CHECKED}").directory) == []
    warnings = dependency_lock.unknown_facts(root("new", ">= 9", beta=True).directory)
    assert [w.summary for w in warnings] == [
        "no schema facts for google 9.1.0; checked against " + CHECKED,
        "no schema facts for google-beta 9.1.0; checked against " + CHECKED,
    ]
    assert all(isinstance(w, Diagnostic) and w.severity == "warning" for w in warnings)


def test_stacks_share_the_providers_they_download(root, tmp_path):
    cached = plugin_cache.directory(tmp_path / "run")
    dev, prod = root("dev", "~> 8.6"), root("prod", "~> 8.6")
    for terraform in (dev, prod):
        (installed,) = (terraform.directory / ".terraform/providers").glob("*/hashicorp/google/*/*")
        assert installed.is_symlink()
        assert installed.readlink().is_relative_to(cached)


@pytest.mark.parametrize("where", ["TF_CLI_CONFIG_FILE", ".terraformrc"])
def test_a_cache_of_the_persons_own_is_respected(tmp_path, where):
    ours = tmp_path / "ours"
    assert plugin_cache.environment({"TF_PLUGIN_CACHE_DIR": "/mine"}, ours) == {}
    config = tmp_path / ".terraformrc"
    config.write_text(f'plugin_cache_dir = "{tmp_path}"\n')
    base = {"HOME": str(tmp_path)} if where != "TF_CLI_CONFIG_FILE" else {where: str(config)}
    assert plugin_cache.environment(base, ours) == {}
    assert not ours.exists()
    config.write_text('# plugin_cache_dir = "x"\ndisable_checkpoint = true\n')
    assert plugin_cache.environment(base, ours) == {"TF_PLUGIN_CACHE_DIR": str(ours)}
    assert ours.is_dir()


def test_processes_take_turns_to_install(tmp_path):
    code = (
        "import sys, pathlib; from groundplan.engines.terraform import plugin_cache\n"
        "with plugin_cache.exclusive(pathlib.Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with other:
        assert other.stdout.readline() == b"in\n"
        began = time.monotonic()
        subprocess.Popen(["sh", "-c", f"sleep 0.3; kill {other.pid}"])
        with plugin_cache.exclusive(tmp_path):
            assert time.monotonic() - began > 0.2
