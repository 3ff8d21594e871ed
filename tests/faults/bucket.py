"""Real runs with their state in a bucket that fails now and then: doubles of both clouds."""

import os
import re
import shlex
import subprocess
from contextlib import contextmanager

import cli_factory
from faults.world import World

from groundplan.engines.terraform.offline.cloud import Cloud, CloudObject
from tests.support.cloud_storage import CloudStorage, Fault
from tests.support.mirror import Mirror

BUCKET = "state"
BLUEPRINT = cli_factory.BLUEPRINT + f'organization: "123456789012"\nstate: {{bucket: {BUCKET}}}\n'
CALLS = (
    ("POST", "tfstate"),
    ("PUT", "tfstate"),
    ("GET", "tfstate"),
    ("POST", "tflock"),
    ("DELETE", "tflock"),
    ("", ""),
)
WAYS = ({"status": 503}, {"status": 500}, {"status": 403}, {"drop": "before"}, {"drop": "after"})


OWN = CloudObject(
    "google_storage_bucket", BUCKET, BUCKET, {"id": BUCKET, "name": BUCKET, "versioning": [{"enabled": True}]}
)


class BucketWorld(World):
    """A folder whose real runs reach the doubles."""

    def __init__(self, folder, storage, mirror):
        super().__init__(folder)
        self.work = folder / ".groundplan" / "run"
        self.objects = mirror.cloud
        self.environment = storage.environment | mirror.environment
        self.storage = storage

    def cloud(self):
        """Every object that exists, without the bucket of the states: no stack is to make it."""
        return {key: found for key, found in super().cloud().items() if key != (OWN.type, OWN.key)}

    def raw_states(self):
        """Stack → bytes of its state in the bucket."""
        found = {}
        for item in self.storage.buckets.list(BUCKET)[0]:
            if item.name.endswith("/default.tfstate"):
                found[item.name.split("/")[-2]] = item.content
        return found


@contextmanager
def bucket_world(folder):
    """A world with an empty bucket."""
    cli_factory.project(folder, BLUEPRINT)
    with CloudStorage(BUCKET) as storage, Mirror(folder) as mirror:
        Cloud(mirror.cloud).add(OWN)  # the engine looks whether it is versioned
        yield BucketWorld(folder, storage, mirror)


def failures(rng):
    """The bucket refuses, or hangs up before or after it did what was asked; a few calls of one kind."""
    (method, part), way = rng.choice(CALLS), rng.choice(WAYS)
    return [Fault(method, part, after=rng.randrange(6), times=rng.choice((1, 2, 4, 40)), **way)]


def released(world, said):
    """Release a lock that was left behind as the message says; False if it names no lock."""
    found = re.search(r"(/\S+ -chdir=\S+ force-unlock) (\d+)", said)
    if found:
        words = [*shlex.split(found[1]), "-force", found[2]]
        subprocess.run(words, env=os.environ | world.environment, check=True, capture_output=True)
    return bool(found)
