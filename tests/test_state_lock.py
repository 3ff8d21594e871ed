"""Held state locks: what real engines say about them (against a double of Cloud Storage), and what we say."""

import datetime as dt
import getpass
import json
import shlex
import socket
import subprocess
import threading
import time

import pytest

from groundplan.engines.terraform import state_lock
from groundplan.engines.terraform.engine import Engine, find_engines
from groundplan.engines.terraform.runner import RunError
from groundplan.engines.terraform.state_lock import explain, translated
from tests.support.cloud_storage import CloudStorage, Fault
from tests.support.roots import BUCKET, LOCK, builtin_root

ENGINES = find_engines()
one_engine = pytest.mark.parametrize("engine", ENGINES[:1], ids=["one"])
UUID = "4c9d2c1e-1111-2222-3333-444455556666"
INFO = """\
Lock Info:
  ID:        1796058009228580
  Path:      gs://state/ml-dev/default.tflock
  Operation: OperationTypeApply
  Who:       ci@runner-7
  Version:   1.15.5
  Created:   2026-11-30 09:15:02.123456789 +0000 UTC
  Info:      
"""  # noqa: W291 - as Terraform prints it
CONFLICT = 'writing "gs://state/ml-dev/default.tflock" failed: googleapi: Error 412: conditionNotMet'


@pytest.fixture(params=ENGINES, ids=lambda engine: f"{engine.name}-{engine.kind}")
def engine(request):
    return request.param


@pytest.fixture
def storage():
    with CloudStorage(BUCKET) as storage:
        yield storage


@pytest.fixture
def root(tmp_path, engine, storage):
    """Make an initialized root whose state is in the bucket."""
    return lambda name, command="": builtin_root(tmp_path / name, engine, storage, command)


def hold(storage, who="ci@runner-7"):
    """Somebody else's lock, with the content that Terraform gives it."""
    content = {"ID": UUID, "Operation": "OperationTypeApply", "Info": "", "Who": who, "Version": "1.12.0"}
    content |= {"Created": "2026-11-30T09:15:02.123456789Z", "Path": f"gs://state/{LOCK}"}
    return storage.buckets.insert(BUCKET, LOCK, json.dumps(content).encode())


def failure(terraform, action):
    with pytest.raises(RunError) as caught:
        action()
    return translated(caught.value, "ml-dev", terraform.engine, terraform.directory)


def planning(terraform):
    return failure(terraform, lambda: terraform.plan(terraform.directory / "plan"))


def locks(storage):
    return [item for item in storage.buckets.list(BUCKET)[0] if item.name == LOCK]


@pytest.mark.parametrize(
    "text",
    [
        f"Error acquiring the state lock\nError message: {CONFLICT}\n{INFO}",
        f"Error loading state: {CONFLICT}\n{INFO}",  # what init says
        "\n".join(f"│ {line}" for line in f"Error message: {CONFLICT}\n{INFO}".splitlines()),
    ],
    ids=["plan", "init", "box"],
)
def test_who_holds_a_lock_and_since_when(text):
    lock = explain(text)
    assert (lock.generation, lock.path) == ("1796058009228580", f"gs://state/{LOCK}")
    assert (lock.operation, lock.who, lock.version) == ("apply", "ci@runner-7", "1.15.5")
    assert lock.created == dt.datetime(2026, 11, 30, 9, 15, 2, tzinfo=dt.UTC)
    assert not lock.released
    assert not lock.left_behind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Error 403: the caller lacks storage.objects.create",
        f"{CONFLICT.replace('412', '403')}\nstorage: object doesn't exist",
        "Error creating Cluster: googleapi: Error 412: conditionNotMet",
        "ID: 7",
    ],
)
def test_other_errors_are_not_about_a_lock(text):
    assert explain(text) is None


def test_what_is_not_known_is_left_out():
    info = INFO.replace("2026-11-30 09:15:02.123456789", "0001-01-01 00:00:00").replace("1.15.5", "")
    assert explain(info).holder == "ci@runner-7 (apply)"
    assert explain(CONFLICT).holder == "somebody"


def test_an_id_that_is_not_a_generation_is_never_advised(tmp_path):
    lock = explain(INFO.replace("1796058009228580", UUID))
    assert lock.generation == ""
    assert state_lock.release_command(lock, ENGINES[0], tmp_path) == ""


def test_the_dummy_lock_of_a_vanished_object_counts_as_released():
    lock = explain(f"{CONFLICT}\n{INFO.replace('1796058009228580', '-9223372036854775808')}")
    assert lock.released
    assert lock.who == ""


@pytest.mark.terraform
def test_a_held_lock_names_its_holder_and_the_command_that_releases_it(root, storage, engine):
    terraform = root("dev")
    lock = hold(storage)
    error = planning(terraform)
    assert error.exit_code == 4
    since = dt.datetime(2026, 11, 30, 9, 15, tzinfo=dt.UTC).astimezone().strftime("%Y-%m-%d %H:%M %z")
    assert error.message == (
        f"the state of ml-dev is locked by ci@runner-7 (apply since {since}, Terraform 1.12.0)"
    )
    command = shlex.split(error.hint.splitlines()[-1])
    assert str(lock.generation) in command[-1]
    assert UUID not in error.hint + error.message + error.detail
    assert locks(storage) == [lock]
    if engine.kind == "binary":
        released = subprocess.run(
            command, env=terraform.environment, input="yes\n", capture_output=True, text=True, check=False
        )
        assert released.returncode == 0, released.stderr
    else:  # what gcloud does with NAME#GENERATION
        url, _, generation = command[-1].partition("#")
        assert (command[:3], url) == (["gcloud", "storage", "rm"], f"gs://state/{LOCK}")
        storage.buckets.delete(BUCKET, LOCK, {"generation": generation})
    assert locks(storage) == []
    assert terraform.plan(terraform.directory / "plan")


@pytest.mark.terraform
def test_the_uuid_inside_the_lock_object_does_not_release_it(root, storage, engine):
    terraform = root("dev")
    lock = hold(storage)
    for wrong in (UUID, str(lock.generation - 1)):
        ended = subprocess.run(
            [*engine.command, "force-unlock", "-force", wrong],
            cwd=terraform.directory,
            env=dict(terraform.environment),
            capture_output=True,
            check=False,
        )
        assert ended.returncode == 1
    assert locks(storage) == [lock]


@pytest.mark.terraform
def test_of_two_applies_at_once_one_is_refused(root, storage, tmp_path):
    """The first one waits inside its apply until the second one was refused."""
    done = tmp_path / "done"
    first, second = root("one", f"until [ -e {done} ]; do sleep 0.05; done"), root("two")
    for terraform in (first, second):
        terraform.plan(terraform.directory / "plan")
    applying = threading.Thread(target=first.apply, args=(first.directory / "plan",))
    applying.start()
    try:
        while not locks(storage):
            time.sleep(0.02)
        error = failure(second, lambda: second.apply(second.directory / "plan"))
    finally:
        done.touch()
        applying.join()
    assert f"is locked by {getpass.getuser()}@{socket.gethostname()} (apply since" in error.message
    assert "It bears your own name" in error.hint
    assert not first.plan(first.directory / "plan"), "the first one was not disturbed"
    assert locks(storage) == []


@one_engine
@pytest.mark.terraform
def test_a_lock_whose_answer_was_lost_is_our_own(root, storage):
    """Cloud Storage took the lock, the answer never arrived: the run locks itself out."""
    terraform = root("dev")
    storage.faults = [Fault("POST", "tflock", drop="after")]
    error = planning(terraform)
    assert str(locks(storage)[0].generation) in error.hint
    assert "It bears your own name" in error.hint


@pytest.mark.terraform
def test_a_lock_that_stays_after_an_apply(root, storage):
    terraform = root("dev")
    terraform.plan(terraform.directory / "plan")
    storage.faults = [Fault("DELETE", "tflock", status=403)]
    error = failure(terraform, lambda: terraform.apply(terraform.directory / "plan"))
    assert error.message == "apply of ml-dev did its work, but could not release the lock on the state"
    assert str(locks(storage)[0].generation) in error.hint
    assert terraform.state_list() == ["terraform_data.a"]


@one_engine
@pytest.mark.terraform
def test_a_lock_that_nobody_can_read(root, storage):
    terraform = root("dev")
    hold(storage)
    storage.faults = [Fault("GET", "tflock", status=403, times=9)]
    error = planning(terraform)
    assert error.message == "the state of ml-dev is locked by somebody"
    assert f"gs://state/{LOCK}" in error.hint
    assert "storage.objects.get" in error.hint


@one_engine
@pytest.mark.terraform
def test_a_lock_that_is_released_while_it_is_read(root, storage):
    terraform = root("dev")
    storage.faults = [Fault("POST", "tflock", status=412, times=9)]
    error = planning(terraform)
    assert "was released" in error.message
    assert error.hint == "Run the same command again."


@one_engine
@pytest.mark.terraform
def test_init_of_an_empty_bucket_meets_a_lock(root, storage):
    """The first ``init`` writes an empty state, so it takes the lock; its message has another form."""
    hold(storage)
    with pytest.raises(RunError) as caught:
        root("dev")
    assert "locked by ci@runner-7" in translated(caught.value, "ml-dev", ENGINES[0], caught.value.log).message


@pytest.mark.terraform
def test_a_local_state_is_locked_only_as_long_as_a_process_lives(tmp_path, engine):
    wait = f"touch {tmp_path}/runs; until [ -e {tmp_path}/done ]; do sleep 0.05; done"
    terraform = builtin_root(tmp_path / "dev", engine, command=wait)
    terraform.plan(tmp_path / "plan")
    applying = threading.Thread(target=terraform.apply, args=(tmp_path / "plan",))
    applying.start()
    try:
        while not (tmp_path / "runs").exists():
            time.sleep(0.02)
        error = planning(terraform)
    finally:
        (tmp_path / "done").touch()
        applying.join()
    assert "is locked by" in error.message
    assert "ends with the process" in error.hint
    assert "force-unlock" not in error.hint


def test_a_lock_error_does_not_hide_a_worse_one(tmp_path):
    from groundplan.engines.terraform.events import Diagnostic

    lock = Diagnostic(severity="error", summary="Error releasing the state lock", detail=INFO)
    other = Diagnostic(severity="error", summary="quota exceeded", address="google_container_cluster.main")
    error = RunError("apply", [lock, other], tmp_path / "apply.log", "")
    shown = translated(error, "ml-dev", Engine("terraform", "1.15.5", "binary", tmp_path / "tf"), tmp_path)
    assert shown.message == "apply failed: quota exceeded"
    assert "force-unlock 1796058009228580" in shown.hint
    assert "apply.log" in shown.hint
