"""Real runs with their state in a bucket that fails now and then: doubles of both clouds."""

import os
import re
import shlex
import subprocess
from contextlib import contextmanager

import cli_factory
from faults.world import World

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


class BucketWorld(World):
    """A folder whose real runs reach the doubles."""

    def __init__(self, folder, storage, mirror):
        super().__init__(folder)
        self.work = folder / ".groundplan" / "run"
        self.objects = mirror.cloud
        self.environment = storage.environment | mirror.environment
        self.storage = storage

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
