"""One run of the campaign: a fault at a random point of an apply or destroy, what must hold, and healing.

What must hold after each fault:

- the exit code is one that is right for it, and the message says what to do; never a traceback;
- every state can be read (after a kill: once the next run has looked at it), has its lineage, and knows all
  that it knew before, unless that was to be destroyed;
- nothing exists that the state does not know, and the other way round, but for what was under way when
  something died;
- the same command again, or the one that the message names, heals it: the next plan is empty, and cloud and
  states agree.
"""

import contextlib
import json
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cli_factory
from faults.bucket import bucket_world, failures, released
from faults.kinds import BY_NAME, KINDS, Kind, Point, Running
from faults.world import World, addresses, is_left

from groundplan.engines.terraform.known_errors import KNOWN

ENVIRONMENT = "ml-dev"
ROUNDS = 6  # of healing; each may name more objects to take over
DISK_MIB = 48  # the small disk: room for an apply, which wants 16 MiB free
SECONDS = 180  # no run takes longer
COMMANDS = {
    "foundation": ("apply", "foundation"),
    "create": ("apply", ENVIRONMENT),
    "change": ("apply", ENVIRONMENT),
    "destroy": ("destroy", ENVIRONMENT),
    "whole": ("apply", "--all"),
}


@dataclass(frozen=True)
class Run:
    """What one run does; all that is random in it follows from ``seed`` and ``number``.

    ``thorough``: plan once more in the end, though the apply that healed it has verified itself.
    """

    seed: int
    number: int
    blueprint: str
    operation: str
    kind: str
    thorough: bool = True

    def __str__(self):
        return f"{self.number}: {self.kind}, {self.operation} of {self.blueprint} (seed {self.seed})"


@dataclass
class Record:
    """What came of it. ``healed`` is ``again``, ``--adopt`` or ``unlock``: what the person had to do."""

    run: Run
    code: int = 0
    healed: str = ""
    seconds: float = 0
    problems: list[str] = field(default_factory=list)


class Worlds:
    """Prepared worlds of one blueprint: nothing applied, the foundation applied, an environment on it.

    Args:
        folder: where they are kept; what is there is used again.
        blueprint: a blueprint file.
    """

    def __init__(self, folder: Path, blueprint: Path) -> None:
        self.folder = folder / blueprint.stem
        self.has_foundation = "\nfoundation:" in blueprint.read_text()
        if not (self.folder / "sizes").exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            self._prepare(blueprint.read_text())

    def _prepare(self, text):
        world = World(cli_factory.project(self.folder / "nothing", text))
        sizes = {}
        for name, stack in (("foundation", "foundation"), ("environment", ENVIRONMENT)):
            world = world.copied_to(self.folder / name)
            if stack != "foundation" or self.has_foundation:
                result = world.groundplan("apply", stack, "--no-verify", "--offline", "--auto-approve")
                assert result.code == 0, result.err
            for log in world.work.glob("*/logs/*"):
                log.unlink()
            sizes[name] = len(world.cloud())
        (self.folder / "sizes").write_text(json.dumps(sizes))

    @property
    def operations(self):
        """What can be done with this blueprint."""
        return tuple(name for name in COMMANDS if self.has_foundation or name != "foundation")

    def steps(self, operation):
        """About how many resources an operation is about."""
        sizes = json.loads((self.folder / "sizes").read_text())
        first, one = sizes["foundation"], sizes["environment"] - sizes["foundation"]
        return {"foundation": first, "whole": first + 2 * one, "change": 6}.get(operation, one)

    def fresh(self, operation, folder):
        """A copy to do ``operation`` in."""
        starts = {"foundation": "nothing", "whole": "nothing", "create": "foundation"}
        world = World(self.folder / starts.get(operation, "environment")).copied_to(folder)
        if operation == "change":
            change(world)
        return world


def change(world):
    """Edit the blueprint: another label everywhere, a bucket more, larger pools."""
    path = world.folder / "groundplan.yaml"
    text = path.read_text()
    text = re.sub(r"(\n  labels: \{)", r"\1changed: yes-it-is, ", text)
    text = re.sub(r"(\n    buckets:\n)", r"\1      added: {}\n", text)
    text = text.replace("buckets: {", "buckets: {added: {}, ")
    path.write_text(text.replace("max: 3}", "max: 5}"))


def plan_runs(
    seed: int,
    number: int,
    worlds: dict[str, Worlds],
    kinds: tuple[Kind, ...] = KINDS,
    *,
    thorough: bool = True,
) -> list[Run]:
    """The runs of a campaign: every kind of fault in turn, blueprint and operation at random."""
    rng = random.Random(seed)
    deck = [kind for kind in kinds for _ in range(kind.weight)]
    runs = []
    for index in range(number):
        kind, blueprint = deck[index % len(deck)], rng.choice(sorted(worlds))
        fitting = [name for name in kind.operations if name in worlds[blueprint].operations]
        name = "the tests' own, real run" if kind.bucket else blueprint
        runs.append(Run(seed, index, name, rng.choice(fitting), kind.name, thorough))
    return runs


def execute(run: Run, worlds: Worlds, folder: Path) -> Record:
    """One run in a folder of its own, which stays if something is wrong."""
    began = time.monotonic()
    kind = BY_NAME[run.kind]
    try:
        record = (_with_bucket if kind.bucket else _offline)(run, kind, worlds, folder)
    except Exception as error:
        record = Record(run, problems=[f"the campaign itself: {error!r}", traceback.format_exc()])
    if not record.problems:
        shutil.rmtree(folder)
    record.seconds = time.monotonic() - began
    return record


def _offline(run, kind, worlds, folder):
    rng = random.Random(f"{run.seed}/{run.number}")
    point = Point(rng, run.operation, rng.randrange(max(1, int(worlds.steps(run.operation) * 0.9))))
    world = worlds.fresh(run.operation, folder)
    words = (*COMMANDS[run.operation], "--offline", "--auto-approve")
    with small_disk(world) if kind.full_disk else contextlib.nullcontext():
        return _judged(run, kind, world, words, lambda: _struck(kind, world, words, point))


def _with_bucket(run, kind, worlds, folder):
    rng = random.Random(f"{run.seed}/{run.number}")
    words = (*COMMANDS[run.operation], "--auto-approve", "--lock-timeout", "2s")
    with bucket_world(folder) as world:
        if run.operation == "destroy":
            assert world.groundplan(*COMMANDS["create"], "--auto-approve", "--no-verify").code == 0

        def struck():
            world.storage.faults += failures(rng)
            result = world.groundplan(*words)
            world.storage.faults.clear()
            return result

        return _judged(run, kind, world, words, struck)


def _judged(run, kind, world, words, struck):
    """Let the fault strike, and collect everything that is wrong then, and after healing."""
    before = world.states()
    result = struck()
    record = Record(run, result.code)
    record.problems += [*about_message(kind, result), *about_state(run, kind, before, world, result)]
    (world.work.parent / "ballast").unlink(missing_ok=True)
    record.healed, problems = heal(world, words, result)
    record.problems += problems or about_end(run, world)
    if record.problems:
        (world.folder / "said.txt").write_text(f"{run}\n{result.code}\n{result.out}\n{result.err}")
    return record


def _struck(kind, world, words, point):
    """The command with the fault."""
    variables = {"GROUNDPLAN_OFFLINE_FAULTS": json.dumps(kind.script(point))}
    if kind.strike is None:
        return cli_factory.groundplan(world.folder, *words, **variables)
    said = world.folder / "stderr"
    with said.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "groundplan", *words],
            cwd=world.folder,
            env=cli_factory.environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    kind.strike(Running(process, world, point))
    process.wait(SECONDS)
    return cli_factory.Result(process.returncode, "", said.read_text())


# -- what must hold


def about_message(kind, result) -> Iterator[str]:
    """The exit code, and whether the message helps."""
    if result.code not in kind.codes:
        yield f"exit code {result.code}"
    if "Traceback" in result.err or "bug of its own" in result.err:
        yield "a traceback"
    if result.code > 0 and not ("error: " in result.err and "\n  = " in result.err):
        yield "a message without advice"
    entry = next((known for known in KNOWN if known.name == kind.known), None)
    if result.code == 4 and entry:
        said = (entry.meaning.partition("{")[0], entry.action.partition("{")[0])
        if not any(words in result.err for words in said):
            yield f"the error is not explained as {kind.known}"


def about_state(run, kind, before, world, result) -> Iterator[str]:
    """States can be read and have lost nothing; cloud and states agree but for what was under way."""
    states = world.states()
    for stack, state in states.items():
        former = before.get(stack)
        if state is None and not kind.loses_track:
            yield f"the state of {stack} cannot be read"
        elif state is not None and former is not None:
            if state["lineage"] != former["lineage"]:
                yield f"{stack} has another lineage"
            lost = addresses(former) - addresses(state)
            if lost and run.operation != "destroy":
                yield f"{stack} forgot {sorted(lost)}"
    cut_off = None in states.values() or "was cut off" in result.err
    if kind.full_disk or kind.bucket or cut_off or not world.settled:
        return  # the next run has to find it out
    orphans, ghosts = mismatch(run, world)
    if kind.loses_track:
        excused = world.under_way() | set(re.findall(r"--adopt=(\w+)\.", result.err))
        orphans = {key for key in orphans if key[0] not in excused}
        ghosts = {key for key in ghosts if key[0] not in excused}
    if orphans:
        yield f"not in the state: {sorted(orphans)}"
    if ghosts:
        yield f"not in the cloud: {sorted(ghosts)}"


def mismatch(run, world):
    """What exists and is in no state; what is in a state and does not exist."""
    cloud, known = world.cloud(), world.recorded()
    orphans = {key for key, attributes in cloud.items() if key not in known}
    if run.operation == "destroy":
        orphans = {key for key in orphans if not is_left(cloud[key])}
    return orphans, set(known) - set(cloud)


def heal(world, words, result) -> tuple[str, list[str]]:
    """Do what the messages say, else run the same command again, until it is done; how, and what is wrong.

    A made-up conflict is about nothing that exists, so what the first message wants taken over may not be
    there: then the same command is next, as the message about that says.
    """
    how = "again"
    for _ in range(ROUNDS):
        adopting = re.search(r"= Take over: groundplan (.*)", result.err)
        locked = "locked by" in result.err and released(world, result.err)
        how = "--adopt" if adopting else "unlock" if locked else how
        former, result = result, world.groundplan(*(adoption(world, adopting[1]) if adopting else words))
        if adopting and "Run again without --adopt" in result.err:
            former, result, how = result, world.groundplan(*words), "again"
        if result.code == 0 and not adopting:
            return how, []
        if result.code not in (0, 4) or (result.err == former.err and not locked):
            return how, [f"running it again: exit code {result.code}\n{result.err}"]
    return how, [f"not healed after {ROUNDS} rounds\n{result.err}"]


def adoption(world, command):
    """The words of a command that takes things over; ids that only Google knows are looked up."""
    words = []
    for word in shlex.split(command):
        address = word.partition("=")[2].partition("=")[0]
        if word.startswith("--adopt=google_folder.") and "FOLDER_ID" in word:
            word = word.replace("folders/FOLDER_ID", folder_named(world, address))
        words.append(word)
    return words


def folder_named(world, address):
    """The id of the folder that a resource is about, as a person finds it in the console."""
    kind, _, name = address.partition(".")
    for path in world.work.glob("*/main.tf.json"):
        wanted = json.loads(path.read_text())["resource"].get(kind, {}).get(name)
        for (found, key), attributes in world.cloud().items():
            if wanted and found == kind and attributes["display_name"] == wanted["display_name"]:
                return key
    raise AssertionError(f"there is no folder for {address}")


def about_end(run, world) -> Iterator[str]:
    """An empty plan, and cloud and states that agree.

    Where Google gives the names, a second object may be made; then the person was told before.
    """
    orphans, ghosts = mismatch(run, world)
    doubled = {
        kind for said in world.said for kind in re.findall(r"makes another one.*--adopt=(\w+)\.", said)
    }
    orphans = {key for key in orphans if key[0] not in doubled}
    if orphans or ghosts:
        yield f"in the end not in the state: {sorted(orphans)}; not in the cloud: {sorted(ghosts)}"
    if run.operation == "destroy":
        left = addresses(world.states()[ENVIRONMENT])
        if left:
            yield f"not destroyed: {sorted(left)}"
    if run.operation == "destroy" or not run.thorough:
        return
    names = [word for word in COMMANDS[run.operation][1:] if word != "--all"]
    mode = [] if BY_NAME[run.kind].bucket else ["--offline"]
    result = world.groundplan("plan", *names, *mode, "--detailed-exitcode")
    if result.code != 0:
        yield f"the plan in the end is not empty: {result.code}\n{result.both}"


# -- a small disk


def small_disks() -> bool:
    """Can this machine give us one? It takes Linux and the right to mount."""
    if sys.platform != "linux" or not shutil.which("mount"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        mounted = _mount(Path(folder), 1).returncode == 0
        if mounted:
            subprocess.run(["umount", folder], check=True)
    return mounted


def _mount(place, mebibytes):
    words = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "none", str(place)]
    return subprocess.run(words, check=False, capture_output=True)


@contextlib.contextmanager
def small_disk(world):
    """Work files on a disk of ``DISK_MIB``; the cloud stays elsewhere, since Google's disks are not full."""
    place, kept = world.folder / ".groundplan", world.folder / "kept"
    (world.work / "cloud").mkdir(parents=True, exist_ok=True)
    place.rename(kept)
    (kept / "offline" / "cloud").rename(world.folder / "cloud")
    place.mkdir()
    assert _mount(place, DISK_MIB).returncode == 0
    try:
        shutil.copytree(kept, place, dirs_exist_ok=True)
        (place / "offline" / "cloud").symlink_to(world.folder / "cloud")
        yield
        shutil.copytree(place, world.folder / "disk", symlinks=True)  # to be looked at, if something is wrong
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
