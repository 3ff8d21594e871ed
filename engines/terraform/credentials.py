"""Does a real run have credentials, and whose are they?

Asked before anything is done, and without the network. The variables and their order are those of the google
provider ("Google Provider Configuration Reference") and of Terraform's ``backend "gcs"``
(https://developer.hashicorp.com/terraform/language/backend/gcs), which do not read the same ones. The
metadata server of a Google Cloud machine is not guessed: whoever means it says so with
``GCE_METADATA_HOST``. No secret is kept or shown, only names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from groundplan.errors import EngineError

TOKEN = "GOOGLE_OAUTH_ACCESS_TOKEN"  # noqa: S105 - the variable's name
KEY_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
METADATA_SERVER = "GCE_METADATA_HOST"

#: Variables with a key, as a path or as the JSON itself, in the order in which they are read.
PROVIDER_KEYS = ("GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON")
BACKEND_KEYS = ("GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS")

#: Below the home directory. Go's libraries, unlike gcloud itself, do not read CLOUDSDK_CONFIG.
ADC_FILE = Path(".config/gcloud/application_default_credentials.json")

IMPERSONATION = "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"

HINT = (
    "Run `gcloud auth application-default login`. In CI, let its Google login set "
    "GOOGLE_APPLICATION_CREDENTIALS. On a Google Cloud machine, GCE_METADATA_HOST=metadata.google.internal "
    "means its own service account. `--offline` needs no account at all."
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where credentials come from, and whose they are, as far as that can be told without asking Google."""

    source: str  #: a variable or a file
    who: str  #: ``service account planner@…``, ``your Google account``, ``an access token``


class Key(msgspec.Struct):
    """The parts of a credentials file that are no secret; https://google.aip.dev/auth/4110."""

    type: str
    client_email: str = ""
    service_account_impersonation_url: str = ""

    @property
    def who(self) -> str:
        """Whose it is."""
        impersonated = self.service_account_impersonation_url.rpartition("/")[2].partition(":")[0]
        match self.type:
            case "authorized_user":
                return "your Google account"
            case "external_account" if impersonated:
                return f"workload identity federation as {impersonated}"
            case "external_account":
                return "workload identity federation"
            case _:
                return f"{self.type.replace('_', ' ')} {self.client_email or impersonated}".rstrip()


def require(environment: Mapping[str, str], *, state_in_bucket: bool) -> None:
    """Stop a real run that cannot succeed.

    Args:
        environment: the caller's environment.
        state_in_bucket: is some state in Cloud Storage? Its backend reads other variables than the provider.

    Raises:
        EngineError: there are no credentials, or what a variable names cannot be used.
    """
    if _find(environment, PROVIDER_KEYS) is None:
        raise EngineError(
            "a real run needs Google Cloud credentials, and there are none", hint=_hint(environment)
        )
    if state_in_bucket and _find(environment, BACKEND_KEYS) is None:
        raise EngineError(
            "there are credentials for the resources, but none for the bucket with the state",
            hint="Terraform's gcs backend reads GOOGLE_CREDENTIALS and application default credentials, "
            "but neither GOOGLE_CLOUD_KEYFILE_JSON nor GCLOUD_KEYFILE_JSON.",
        )


def describe(environment: Mapping[str, str]) -> str:
    """Who a real run is, in words: ``service account planner@… (GOOGLE_CREDENTIALS), acting as applier@…``.

    Raises:
        EngineError: what a variable names cannot be used.
    """
    found = _find(environment, PROVIDER_KEYS)
    if found is None:
        return "no credentials"
    impersonated = environment.get(IMPERSONATION)
    return f"{found.who} ({found.source})" + (f", acting as {impersonated}" if impersonated else "")


def _find(environment: Mapping[str, str], keys: tuple[str, ...]) -> Credentials | None:
    """The first credentials in the order in which Terraform looks."""
    if environment.get(TOKEN):
        return Credentials(TOKEN, "an access token")
    for variable in keys:
        if environment.get(variable):
            return Credentials(variable, _key(variable, _content(environment[variable])).who)
    if environment.get(KEY_FILE):
        return Credentials(KEY_FILE, _key(KEY_FILE, _read(Path(environment[KEY_FILE]))).who)
    usual = Path(environment.get("HOME", "/")) / ADC_FILE
    if usual.exists():
        return Credentials("application default credentials", _key(str(usual), _read(usual)).who)
    if environment.get(METADATA_SERVER):
        return Credentials(METADATA_SERVER, "the service account of this machine")
    return None


def _content(value: str) -> bytes:
    return value.encode() if value.lstrip().startswith("{") else _read(Path(value).expanduser())


def _read(path: Path) -> bytes:
    """The bytes of a file; empty if it cannot be read, which ``_key`` then reports without its content."""
    try:
        return path.read_bytes()
    except (OSError, ValueError):
        return b""


def _key(source: str, content: bytes) -> Key:
    try:
        return msgspec.json.decode(content, type=Key)
    except msgspec.MsgspecError:
        # The value may be a mangled key, so it is not shown.
        raise EngineError(
            f"the credentials in {source} cannot be read: there is no such file, or it is not a JSON key",
            hint="Repair that or remove it; without it the next place is looked at.",
        ) from None


def _hint(environment: Mapping[str, str]) -> str:
    elsewhere = Path(environment.get("CLOUDSDK_CONFIG") or "/nowhere") / ADC_FILE.name
    if elsewhere.exists():
        return f"Terraform does not read CLOUDSDK_CONFIG: export {KEY_FILE}={elsewhere}"
    return HINT
