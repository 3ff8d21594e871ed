"""A blueprint's folder with a cloud: what exists, what the states say, what is under way."""

import base64
import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import cli_factory

Key = tuple[str, str]  #: resource type, and what the stand-in stores the object under


class World:
    """A folder with ``groundplan.yaml``; nothing need have been applied yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / ".groundplan" / "offline"
        self.objects = self.work / "cloud"
        self.environment: dict[str, str] = {}
        self.said: list[str] = []  #: what commands wrote to stderr
        self.settled = True  #: false while an engine may still be at work that nobody waits for

    def copied_to(self, folder: Path) -> "World":
        """The same world in another folder, which must not exist."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return World(folder)

    def groundplan(self, *words):
        """Run a command."""
        result = cli_factory.groundplan(self.folder, *words, **self.environment)
        self.said.append(result.err)
        return result

    def cloud(self):
        """Every object that exists: key → attributes."""
        found = {}
        for path in self.objects.glob("google_*/*.json"):
            stored = json.loads(path.read_text())
            found[stored["type"], stored.get("key", stored["id"])] = stored["attributes"]
        return found

    def raw_states(self):
        """Stack → bytes of its state."""
        return {path.parent.name: path.read_bytes() for path in self.work.glob("*/terraform.tfstate")}

    def states(self):
        """Stack → state; None for one that cannot be read."""
        return {stack: _parsed(content) for stack, content in self.raw_states().items()}

    def recorded(self):
        """What the states say exists: key → ``stack address``.

        Terraform keeps no private data of a tainted object, which is found by its id then.
        """
        ids = {(kind, attributes.get("id")): (kind, key) for (kind, key), attributes in self.cloud().items()}
        found = {}
        for stack, state in self.states().items():
            for resource in (state or {}).get("resources", ()):
                for instance in resource["instances"] if resource["mode"] == "managed" else ():
                    own = (resource["type"], instance["attributes"]["id"])
                    private = json.loads(base64.b64decode(instance.get("private", "e30=")))
                    key = (own[0], private["offline"]) if "offline" in private else ids.get(own, own)
                    found[key] = f"{stack} {resource['type']}.{resource['name']}"
        return found

    def under_way(self):
        """Types of the resources that an engine began to work on, and did not complete."""
        return set().union(*(_under_way(log.read_bytes()) for log in self.work.glob("*/logs/apply.jsonl")))

    def events(self, kind):
        """How many events of this kind the present apply has had."""
        wanted = f'"type":"{kind}"'.encode()
        return sum(_content(log).count(wanted) for log in self.work.glob("*/logs/apply.jsonl"))


def addresses(state):
    """The managed resources in a state."""
    return {f"{r['type']}.{r['name']}" for r in state["resources"] if r["mode"] == "managed"}


def is_left(attributes):
    """Google keeps it when Terraform destroys it: APIs stay enabled, abandoned objects exist."""
    return attributes.get("disable_on_destroy") is False or attributes.get("deletion_policy") == "ABANDON"


def _parsed(content):
    try:
        state = json.loads(content)
    except ValueError:
        return None
    return state if isinstance(state, dict) and state.get("lineage") else None


def _under_way(log):
    started, ended = set(), set()
    for line in log.splitlines():
        event = json.loads(line) if line.startswith(b"{") and line.endswith(b"}") else {}
        if "hook" in event:
            operation = event["hook"]["resource"]["addr"], event["hook"].get("action")
            if event["type"] == "apply_start":
                started.add(operation)
            elif event["type"] == "apply_complete":
                ended.add(operation)
    return {address.partition(".")[0] for address, _ in started - ended}


def _content(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


# -- processes, as Linux shows them


def engine_of(pid):
    """The engine that a groundplan has started, without its stand-in; None if none runs."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            ours = entry.name.isdigit() and int(_status(entry)[1]) == pid
            if ours and b"offline.server" not in (entry / "cmdline").read_bytes():
                return int(entry.name)
    return None


def gone(pid, seconds=20):
    """Wait until a process is gone, or a zombie that nobody waits for; False if it stays."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if _status(Path("/proc") / str(pid))[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def kill(pid, number=signal.SIGKILL):
    """Send a signal; nothing happens if the process is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _status(entry):
    """State and parent of a process."""
    return (entry / "stat").read_text().rpartition(")")[2].split()[:2]
