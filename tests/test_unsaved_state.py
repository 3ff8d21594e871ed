"""States that Cloud Storage refuses: kept, saved as soon as possible, never put over newer ones."""

import json
import threading

import pytest

from groundplan.engines.terraform import unsaved_state
from groundplan.engines.terraform.engine import find_engines
from groundplan.engines.terraform.runner import RunError
from groundplan.errors import EngineError
from tests.support.cloud_storage import CloudStorage, Fault
from tests.support.roots import BUCKET, LOCK, STATE, builtin_root

pytestmark = pytest.mark.terraform
ENGINES = find_engines()
REFUSED = {"status": 403, "times": 99}


@pytest.fixture(params=ENGINES, ids=lambda engine: f"{engine.name}-{engine.kind}")
def engine(request):
    return request.param


@pytest.fixture
def storage(monkeypatch):
    monkeypatch.setattr(unsaved_state, "PAUSES_SECONDS", (0.0, 0.0))
    with CloudStorage(BUCKET) as storage:
        yield storage


def stored(storage):
    return json.loads(storage.buckets.get(BUCKET, STATE).content)


def failed_apply(terraform, storage, **fault):
    """Apply while Cloud Storage does not take the state."""
    terraform.plan(terraform.directory / "plan")
    storage.faults = [Fault("POST", "tfstate", **fault)]
    with pytest.raises(RunError, match="apply failed") as caught:
        terraform.apply(terraform.directory / "plan")
    return caught.value


@pytest.mark.parametrize(
    "fault", [{"status": 503}, {"drop": "after"}], ids=["refused once", "saved, but the answer was lost"]
)
def test_a_state_that_failed_once_is_saved_after_all(tmp_path, engine, storage, fault):
    terraform = builtin_root(tmp_path / "dev", engine, storage)
    error = failed_apply(terraform, storage, **fault)
    assert (terraform.directory / unsaved_state.NAME).exists()
    assert unsaved_state.saved(error, terraform)
    assert len(stored(storage)["resources"]) == 1
    assert not (terraform.directory / unsaved_state.NAME).exists()
    assert not terraform.plan(terraform.directory / "plan"), "no object is forgotten or made twice"


def test_a_state_that_cannot_be_saved_is_kept_and_stops_the_next_run(tmp_path, storage):
    terraform = builtin_root(tmp_path / "dev", ENGINES[0], storage)
    error = failed_apply(terraform, storage, **REFUSED)
    assert not unsaved_state.saved(error, terraform)
    with pytest.raises(EngineError, match="apply of ml-dev could not save its state") as caught:
        unsaved_state.settle(terraform, "ml-dev")
    assert str(terraform.directory / unsaved_state.NAME) in caught.value.hint
    assert "403" in caught.value.detail
    storage.faults.clear()
    unsaved_state.settle(terraform, "ml-dev")
    assert not terraform.plan(terraform.directory / "plan")
    calls = len(storage.calls)
    unsaved_state.settle(terraform, "ml-dev")
    assert len(storage.calls) == calls, "where nothing is unsaved, nothing is asked"


def test_a_newer_state_is_never_overwritten(tmp_path, engine, storage):
    terraform = builtin_root(tmp_path / "dev", engine, storage)
    error = failed_apply(terraform, storage, **REFUSED)
    unsaved = json.loads((terraform.directory / unsaved_state.NAME).read_text())
    storage.faults.clear()
    newer = unsaved | {"serial": 99}
    storage.buckets.insert(BUCKET, STATE, json.dumps(newer).encode())
    assert not unsaved_state.saved(error, terraform)
    assert (terraform.directory / unsaved_state.NAME).exists()
    assert stored(storage) == newer
    with pytest.raises(EngineError) as caught:
        unsaved_state.settle(terraform, "ml-dev")
    assert "serial 99" in caught.value.detail


def test_an_apply_that_also_failed_otherwise_is_still_failed(tmp_path, storage):
    """The resource is made, its provisioner fails, and then the state is refused."""
    terraform = builtin_root(tmp_path / "dev", ENGINES[0], storage, command="exit 7")
    error = failed_apply(terraform, storage, status=503)
    assert not unsaved_state.saved(error, terraform)
    assert stored(storage)["resources"][0]["instances"][0]["status"] == "tainted", "what was made is known"


def test_saving_waits_for_the_lock(tmp_path, storage):
    terraform = builtin_root(tmp_path / "dev", ENGINES[0], storage)
    error = failed_apply(terraform, storage, status=503)
    storage.buckets.insert(BUCKET, LOCK, json.dumps({"ID": "x", "Operation": "OperationTypePlan"}).encode())
    release = threading.Timer(0.5, storage.buckets.delete, (BUCKET, LOCK))
    release.start()
    assert unsaved_state.saved(error, terraform)
    release.join()
    assert len(stored(storage)["resources"]) == 1
