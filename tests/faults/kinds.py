"""The faults of the campaign: what goes wrong, when, and what groundplan may answer."""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from faults.world import World, engine_of, gone, kill

MADE = ("create", "create", "change", "foundation", "whole")
ALL = (*MADE, "change", "destroy", "destroy")

Script = list[dict]  #: faults of the stand-in, as its module ``faults`` describes them

#: Every operation takes this long at least, so that something is under way when a process is killed.
SLOW = {"action": "create", "delay_seconds": 0.03}
SLOW_DELETE = {"action": "delete", "delay_seconds": 0.03}
SLOW_ANSWER = {"action": "finish", "delay_seconds": 0.03}
LINGERING = [SLOW, SLOW_DELETE, SLOW_ANSWER]


@dataclass
class Point:
    """Where in a run the fault strikes: at the ``at``-th operation of such an ``operation``."""

    rng: random.Random
    operation: str
    at: int


@dataclass
class Running:
    """A groundplan that is at work in a world."""

    process: subprocess.Popen
    world: World
    point: Point

    def begun(self):
        """Wait until one operation more has begun than the point says; False if the run ends before."""
        while self.process.poll() is None:
            if self.world.events("apply_start") > self.point.at:
                time.sleep(self.point.rng.uniform(0, 0.06))
                return self.process.poll() is None
            time.sleep(0.005)
        return False


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: what the report calls it.
        script: what the stand-in does.
        strike: what is done to the running groundplan, which then is a process of its own.
        operations: where it makes sense; the more often named, the more often chosen.
        codes: exit codes that are right; 0 is where the fault did not strike, or did no harm.
        known: the entry in the table of known errors that explains it.
        loses_track: objects may be left that the state does not know, and the other way round.
        full_disk: the work files are on a small disk.
        bucket: a real run, with its state in the double of Cloud Storage.
        weight: how often it is chosen.
    """

    name: str
    script: Callable[[Point], Script] = lambda point: []
    strike: Callable[[Running], None] | None = None
    operations: tuple[str, ...] = ALL
    codes: tuple[int, ...] = (0, 4)
    known: str = ""
    loses_track: bool = False
    full_disk: bool = False
    bucket: bool = False
    weight: int = 1


def refused(text: str, *, action: str = "", type: str = "*") -> Callable[[Point], Script]:
    """From the point on, a few calls are refused."""

    def script(point):
        changed = point.rng.choice(("create", "update"))
        verb = action or {"destroy": "delete", "change": changed}.get(point.operation, "create")
        early = type != "*" or point.operation == "change"
        fault = {"type": type, "action": verb, "error": text, "times": point.rng.randrange(1, 4)}
        return [fault | {"after": point.rng.randrange(2) if early else point.at}, SLOW, SLOW_DELETE]

    return script


def crash(point):
    """The provider dies before or after the cloud did what was asked."""
    verb = {"destroy": "delete", "change": "update"}.get(point.operation, "create")
    after = min(point.at, 3) if point.operation == "change" else point.at
    action = point.rng.choice((verb, "finish"))
    return [{"action": action, "after": after, "crash": True, "delay_seconds": 0.05}, SLOW, SLOW_DELETE]


def slow(point):
    """Some operations take a second."""
    late = {"after": point.at, "times": 3, "delay_seconds": 1}
    return [late | {"action": action} for action in ("create", "update", "delete")]


def lingering(point):
    """All operations take a little, so that a kill meets some of them."""
    return LINGERING


def kill_groundplan(running):
    """The engine lives on without a provider; every second time we do not wait for its end."""
    if running.begun():
        engine = engine_of(running.process.pid)
        kill(running.process.pid)
        running.process.wait()
        if running.point.rng.random() < 0.5:
            running.world.settled = False
        elif engine:
            assert gone(engine), "the engine outlives groundplan by far"


def kill_engine(running):
    """Terraform itself is killed."""
    if running.begun():
        engine = engine_of(running.process.pid)
        if engine:
            kill(engine)


def signals(*numbers):
    """Signals to groundplan, with a moment between them."""

    def strike(running):
        if running.begun():
            for number in numbers:
                kill(running.process.pid, number)
                time.sleep(running.point.rng.uniform(0.05, 0.3))

    return strike


def fill_disk(running):
    """Leave a few kilobytes of the small disk."""
    if running.begun():
        disk = running.world.folder / ".groundplan"
        left = running.point.rng.choice((0, 4, 16, 40, 80)) * 1024
        with (disk / "ballast").open("wb") as file, contextlib.suppress(OSError):  # it may be full by now
            status = os.statvfs(disk)
            os.posix_fallocate(file.fileno(), 0, max(1, status.f_bavail * status.f_frsize - left))


API = (
    "Error 403: Kubernetes Engine API has not been used in project 123 before or it is disabled. Enable it "
    "by visiting https://console.developers.google.com/apis/api/container.googleapis.com/overview"
    "?project=123 then retry., accessNotConfigured"
)
MAY_NOT_CREATE = "Error 403: Required 'compute.networks.create' permission for 'projects/x', forbidden"
MAY_NOT_READ = "Error 403: Required 'storage.buckets.get' permission for 'x', forbidden"
QUOTA = 'Error 403: Insufficient regional quota to satisfy request: resource "CPUS": is short 8, forbidden'
STOCK_OUT = (
    "Google Compute Engine: Not all instances running in IGM. Current errors: [GCE_STOCKOUT]: The zone does "
    "not have enough resources available to fulfill the request."
)
EXISTS = "Error 409: Requested entity already exists, alreadyExists"
CONCURRENT = "Error 409: There were concurrent policy changes. Please retry., aborted"
RATE = "Error 429: Quota exceeded for quota metric 'Write requests', rateLimitExceeded"
IN_USE = "Error 400: The resource 'x' is already being used by 'y', resourceInUseByAnotherResource"
DEADLINE = "timeout while waiting for state to become 'DONE' (last state: 'RUNNING', timeout: 30m0s)"
POOL = "google_container_node_pool"

KINDS = (
    Kind("API not enabled", refused(API), operations=MADE, known="api-disabled"),
    Kind("permission denied", refused(MAY_NOT_CREATE), known="permission"),
    Kind(
        "permission denied while reading",
        refused(MAY_NOT_READ, action="read"),
        operations=("change", "destroy"),
        known="permission",
    ),
    Kind("quota", refused(QUOTA), operations=MADE, known="quota"),
    Kind(
        "stock-out, pool half made",
        refused(STOCK_OUT, action="finish", type=POOL),
        operations=("create", "create", "whole"),
        known="stock-out",
    ),
    Kind("conflict", refused(EXISTS), operations=MADE, known="exists"),
    Kind("concurrent policy change", refused(CONCURRENT), known="concurrent"),
    Kind("rate limit", refused(RATE), known="rate"),
    Kind("in use", refused(IN_USE), operations=("destroy",), known="in-use"),
    Kind(
        "deadline, though the work was done",
        refused(DEADLINE, action="finish"),
        operations=("create", "destroy"),
        known="deadline",
        loses_track=True,
    ),
    Kind("slow operations", slow, codes=(0,)),
    Kind("provider crash", crash, known="provider-died", loses_track=True, weight=2),
    Kind("kill -9 of groundplan", lingering, kill_groundplan, codes=(0, -9), loses_track=True, weight=2),
    Kind("kill -9 of terraform", lingering, kill_engine, loses_track=True, weight=2),
    Kind("disk full", lingering, fill_disk, loses_track=True, full_disk=True, weight=2),
    Kind("Ctrl-C", lingering, signals(signal.SIGINT), codes=(0, 130)),
    Kind("SIGTERM", lingering, signals(signal.SIGTERM), codes=(0, 130)),
    Kind(
        "Ctrl-C twice",
        lingering,
        signals(signal.SIGINT, signal.SIGINT),
        codes=(0, 130),
        loses_track=True,
        weight=2,
    ),
    Kind("state bucket lost", operations=("create", "destroy"), loses_track=True, bucket=True, weight=2),
)
BY_NAME = {kind.name: kind for kind in KINDS}
