"""The server: settings that must not leak between connections, its life, the wall to real state."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from offline_factory import NETWORK, SETTINGS, TYPES, Root

from groundplan.engines.terraform.offline.session import Standin
from groundplan.engines.terraform.runner import RunError
from groundplan.errors import EngineError

pytestmark = pytest.mark.terraform


@pytest.fixture
def standin(tmp_path):
    with Standin(tmp_path / "cloud", tmp_path / "standin.log", types=TYPES) as standin:
        yield standin
    assert "Traceback" not in (tmp_path / "standin.log").read_text()


@pytest.fixture
def root(tmp_path, standin):
    return Root(tmp_path / "root", standin, tmp_path / "cloud")


def test_aliases_keep_their_settings(root):
    names = ["alpha", "beta", "gamma", "delta"]
    root.write(
        {
            "google_pubsub_topic": {
                f"{name}{i}": {"name": f"{name}{i}", "provider": f"google.{name}"}
                for name in names
                for i in range(4)
            }
        },
        provider=[{"alias": name, "project": f"project-{name}"} for name in names],
    )
    root.apply()
    owners = {
        path.stem.rpartition("%2F")[2][:-1]: path.stem
        for path in (root.cloud / "google_pubsub_topic").iterdir()
    }
    assert owners.keys() == set(names)
    for path in (root.cloud / "google_pubsub_topic").iterdir():
        item = json.loads(path.read_text())
        assert item["attributes"]["project"] == f"project-{item['attributes']['name'][:-1]}"
    assert root.changes() == {}


def test_environments_on_one_server_keep_their_settings(tmp_path, standin):
    def live(name):
        root = Root(tmp_path / name, standin, tmp_path / "cloud")
        topics = {f"t{i}": {"name": f"topic{i}"} for i in range(10)}
        root.write({"google_pubsub_topic": topics}, provider=SETTINGS | {"project": name})
        root.apply()
        return root.changes()

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(live, ["ml-dev", "ml-prod"])) == [{}, {}]
    items = [json.loads(p.read_text()) for p in (tmp_path / "cloud" / "google_pubsub_topic").iterdir()]
    assert sorted(i["id"] for i in items) == sorted(
        f"projects/{name}/topics/topic{i}" for name in ("ml-dev", "ml-prod") for i in range(10)
    )


def test_state_of_the_real_provider_is_refused(root):
    root.write(NETWORK)
    root.apply()
    path = root.path / "terraform.tfstate"
    state = json.loads(path.read_text())
    state["resources"][0]["instances"][0]["private"] = "bnVsbA=="  # null, as the real provider leaves it
    state["serial"] += 1
    path.write_text(json.dumps(state))
    with pytest.raises(RunError, match="was not written offline"):
        root.changes()


def test_only_the_named_types_are_served(tmp_path):
    cloud = tmp_path / "cloud"
    with Standin(cloud, types={"google_compute_network"}) as standin:
        root = Root(tmp_path / "root", standin, cloud)
        root.write(NETWORK)
        root.apply()
        served = json.loads(root.terraform.providers_schema())["provider_schemas"]
        (provider,) = served.values()
        assert provider["resource_schemas"].keys() == {"google_compute_network"}


def test_the_server_dies_with_its_session_and_says_why_it_does_not_start(tmp_path):
    with Standin(tmp_path / "cloud") as standin:
        assert standin.alive
        assert os.getsid(standin.pid) != os.getsid(0)  # Ctrl-C in the terminal does not reach it
        pid = standin.pid
    assert not standin.alive
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="did not start") as caught, Standin(tmp_path / "file" / "cloud"):
        pass
    assert "NotADirectoryError" in caught.value.detail
