"""Whose credentials a real run would use, found out without the network and without showing a secret."""

import json

import pytest

from groundplan.engines.terraform import credentials, environment
from groundplan.engines.terraform.credentials import describe, require
from groundplan.errors import EngineError

SECRET = "-----BEGIN PRIVATE KEY-----"
ACCOUNT = "planner@llm-seed.iam.gserviceaccount.com"
SERVICE_ACCOUNT = {"type": "service_account", "client_email": ACCOUNT, "private_key": SECRET}
USER = {"type": "authorized_user", "client_id": "x", "client_secret": SECRET, "refresh_token": SECRET}
IMPERSONATION = (
    f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{ACCOUNT}:generateAccessToken"
)
FEDERATED = {"type": "external_account", "audience": "//iam.googleapis.com/projects/1/x"}


@pytest.fixture
def home(tmp_path):
    """A caller's environment with a home directory in which nobody is logged in."""
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home")}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return str(path)


def test_without_credentials_a_real_run_does_not_begin(home):
    with pytest.raises(EngineError) as caught:
        require(home, state_in_bucket=False)
    assert caught.value.exit_code == 4
    assert "gcloud auth application-default login" in caught.value.hint
    assert describe(home) == "no credentials"


def test_a_login_with_gcloud(home, tmp_path):
    write(tmp_path / "home" / credentials.ADC_FILE, USER)
    require(home, state_in_bucket=True)
    assert describe(home) == "your Google account (application default credentials)"


@pytest.mark.parametrize(
    ("content", "who"),
    [
        (SERVICE_ACCOUNT, f"service account {ACCOUNT}"),
        (USER, "your Google account"),
        (FEDERATED, "workload identity federation"),
        (
            FEDERATED | {"service_account_impersonation_url": IMPERSONATION},
            f"workload identity federation as {ACCOUNT}",
        ),
        (
            {"type": "impersonated_service_account", "service_account_impersonation_url": IMPERSONATION},
            f"impersonated service account {ACCOUNT}",
        ),
    ],
)
def test_kinds_of_credentials_files(home, tmp_path, content, who):
    base = home | {"GOOGLE_APPLICATION_CREDENTIALS": write(tmp_path / "key.json", content)}
    require(base, state_in_bucket=True)
    assert describe(base) == f"{who} (GOOGLE_APPLICATION_CREDENTIALS)"


@pytest.mark.parametrize("variable", credentials.PROVIDER_KEYS)
@pytest.mark.parametrize("as_path", [True, False])
def test_a_key_in_a_variable(home, tmp_path, variable, as_path):
    path = write(tmp_path / "key.json", SERVICE_ACCOUNT)
    base = home | {variable: path if as_path else json.dumps(SERVICE_ACCOUNT)}
    require(base, state_in_bucket=False)
    assert describe(base) == f"service account {ACCOUNT} ({variable})"


@pytest.mark.parametrize("variable", ["GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON"])
def test_the_backend_does_not_read_every_variable_of_the_provider(home, tmp_path, variable):
    base = home | {variable: json.dumps(SERVICE_ACCOUNT)}
    with pytest.raises(EngineError, match="none for the bucket") as caught:
        require(base, state_in_bucket=True)
    assert "GOOGLE_CREDENTIALS" in caught.value.hint
    require(base | {"GOOGLE_BACKEND_CREDENTIALS": json.dumps(SERVICE_ACCOUNT)}, state_in_bucket=True)
    write(tmp_path / "home" / credentials.ADC_FILE, USER)
    require(base, state_in_bucket=True)


def test_the_first_of_several_is_used(home, tmp_path):
    everything = home | {
        "GOOGLE_OAUTH_ACCESS_TOKEN": SECRET,
        "GOOGLE_CREDENTIALS": json.dumps(SERVICE_ACCOUNT),
        "GOOGLE_APPLICATION_CREDENTIALS": write(tmp_path / "key.json", USER),
        "GCE_METADATA_HOST": "metadata.google.internal",
    }
    said = []
    for variable in [v for v in everything if v != "HOME"]:
        said.append(describe(everything))
        del everything[variable]
    assert said == [
        "an access token (GOOGLE_OAUTH_ACCESS_TOKEN)",
        f"service account {ACCOUNT} (GOOGLE_CREDENTIALS)",
        "your Google account (GOOGLE_APPLICATION_CREDENTIALS)",
        "the service account of this machine (GCE_METADATA_HOST)",
    ]


@pytest.mark.parametrize("value", ["/nowhere/key.json", '{"type": "service_account', SECRET, "{}", "x\0y"])
@pytest.mark.parametrize("variable", ["GOOGLE_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS"])
def test_a_variable_that_leads_nowhere_is_named_but_not_shown(home, tmp_path, variable, value):
    write(tmp_path / "home" / credentials.ADC_FILE, USER)
    with pytest.raises(EngineError) as caught:
        require(home | {variable: value}, state_in_bucket=True)
    assert variable in caught.value.message
    assert value not in caught.value.message + caught.value.hint + caught.value.detail


def test_a_login_that_only_gcloud_finds(home, tmp_path):
    """Go's libraries do not read CLOUDSDK_CONFIG."""
    path = write(tmp_path / "config" / credentials.ADC_FILE.name, USER)
    with pytest.raises(EngineError) as caught:
        require(home | {"CLOUDSDK_CONFIG": str(tmp_path / "config")}, state_in_bucket=False)
    assert f"GOOGLE_APPLICATION_CREDENTIALS={path}" in caught.value.hint


def test_impersonation_is_said_and_passed_on(home):
    acting = {
        "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT": "applier@llm-seed.iam.gserviceaccount.com",
        "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT": "state@llm-seed.iam.gserviceaccount.com",
    }
    base = home | acting | {"GOOGLE_OAUTH_ACCESS_TOKEN": SECRET}
    said = describe(base)
    assert said.endswith(", acting as applier@llm-seed.iam.gserviceaccount.com")
    assert SECRET not in said
    assert environment.real(base).items() >= (acting | {"GOOGLE_OAUTH_ACCESS_TOKEN": SECRET}).items()
