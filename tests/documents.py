"""The blocks of a page of documentation: found, done as a reader would do them, compared with what they show.

In a ``console`` block lines after ``$`` are commands (all lines, where none has one); ``# exit 3`` behind a
command is the exit code it must have. What follows a command, if anything, is what it says. Seconds, the
engine and the number of spaces may differ; ``…`` stands for anything in a line and, alone, for any lines.
The blocks of a page share a folder. A ``yaml`` block that begins with ``# in FILE`` is an edit: what is in
the file under each of its keys, the first time, is replaced.
"""

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from cli_factory import Person, Result, environment, groundplan

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"\s+# exit (\d+)$")
EDIT = re.compile(r"# in (\S+)\n")

#: Lines that a terminal shows only while something runs.
PROGRESS = re.compile(r"^[\w-]+: (preparing|planning|reading the plan|applying|apply done.*)$")
VARYING = (
    (r"\d+\.\d+ s\b", "N s"),
    (r"(terraform|tofu) \d+\.\d+\.\d+(-\w+)?( \(embedded\))?", "ENGINE"),
    (r" +", " "),
)
ENGINE_SHOWN = "terraform 1.15.5 (embedded)"


@dataclass
class Block:
    """A fenced block, and the line of the page that it begins in."""

    language: str
    text: str
    line: int


@dataclass
class Command:
    """A command of a ``console`` block, and what the page says about how it ends."""

    text: str
    code: int
    line: int  #: number of the page's line below it, from 0
    shown: list[str] = field(default_factory=list)


def pages():
    """Every page of documentation that a newcomer may read."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, *languages):
    """The blocks of a page in these languages, or all."""
    text = page.read_text(encoding="utf-8")
    found = [Block(m[1], m[2], text[: m.start()].count("\n") + 1) for m in FENCE.finditer(text)]
    return [block for block in found if not languages or block.language in languages]


def commands(block):
    """The commands of a ``console`` block."""
    lines = block.text.splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    found = []
    for number, line in enumerate(lines, block.line + 1):
        if line.startswith("$ ") or (not prompted and line.strip()):
            text = line.removeprefix("$ ")
            exit_ = EXIT.search(text)
            found.append(Command(EXIT.sub("", text), int(exit_[1]) if exit_ else 0, number))
        elif found:
            found[-1].shown.append(line)
    return found


def edits(block):
    """The file that a ``yaml`` block edits; None where it is none."""
    match = EDIT.match(block.text)
    return match[1] if match else None


def parts(text):
    """The top-level keys of a piece of YAML, each with its lines."""
    for part in re.split(r"^(?=[\w-]+:)", text, flags=re.MULTILINE)[1:]:
        yield part.partition(":")[0], part


def _around(text, key):
    """What stands before the first ``key:`` and its lines, how far it is indented, and what comes after."""
    match = re.search(rf"^( *){re.escape(key)}:.*\n(?:\1 +.*\n)*", text, re.MULTILINE)
    assert match, f"there is no `{key}` to change"
    return text[: match.start()], match[1], text[match.end() :]


class Session:
    """A reader in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def edit(self, block):
        """Do what a ``yaml`` block says that is an edit; the blueprint must be valid then."""
        name = edits(block)
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        for key, part in parts(block.text):
            before, indent, after = _around(text, key)
            text = before + textwrap.indent(part, indent) + after
        path.write_text(text, encoding="utf-8")
        assert groundplan(self.folder, "validate", "-f", name).code == 0

    def run(self, command):
        """Run a command, or several that ``&&`` joins; the result is that of the last one."""
        for part in command.split(" && "):
            result = self._one(part)
            if result.code:
                break
        return result

    def _one(self, command):
        """groundplan runs in this process and is told yes, ``make`` on a copy, everything else in a shell."""
        words = shlex.split(command, comments=True)
        if words[0] == "cd" and len(words) == 2:
            self.folder = (self.folder / words[1]).resolve()
            return Result(0, "", "")
        if words[0] == "groundplan" and not re.search(r"[|&;<>$*]", command):
            return groundplan(self.folder, *words[1:], stdin=Person("y\n"))
        if command.startswith("make "):
            self.folder = repository(self.folder)
        return self._shell(command)

    def _shell(self, command):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=environment(PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return Result(done.returncode, done.stdout, "", done.stdout)


def repository(folder):
    """What ``make demo`` needs of the repository, with this interpreter's installation as its ``.venv``."""
    copy = folder / "repository"
    if copy.exists():
        return copy
    shutil.copytree(
        ROOT / "blueprints" / "library", copy / "blueprints" / "library", ignore=shutil.ignore_patterns(".*")
    )
    (copy / "docs").mkdir()
    (copy / ".venv" / "bin").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "docs/demo-next.txt"):
        shutil.copy(ROOT / name, copy / name)
    for name in ("python", "groundplan"):
        (copy / ".venv" / "bin" / name).symlink_to(Path(sys.executable).parent / name)
    for stamp in (".demo", ".dev"):
        (copy / ".venv" / stamp).touch()
    return copy


def difference(shown, said):
    """The first line that a page shows and the command did not say; None where they agree."""
    wanted = without_rest([normal(line) for line in shown])
    got = lines_of(said)
    position, anywhere = 0, False
    for line in wanted:
        if line == "…":
            anywhere = True
            continue
        found = place_of(line, got, position, anywhere=anywhere)
        if found is None:
            return line or "(an empty line)"
        position, anywhere = found + 1, False
    if not anywhere and position < len(got):
        return f"nothing more, but it says: {got[position]}"
    return None


def place_of(line, got, position, *, anywhere):
    """Where a normal line stands in what was said, from ``position`` on or at it; None if it does not."""
    pattern = re.compile(".*".join(re.escape(part) for part in line.split("…")))
    places = range(position, len(got) if anywhere else min(position + 1, len(got)))
    return next((place for place in places if pattern.fullmatch(got[place])), None)


def lines_of(said):
    """The normal lines that a terminal keeps, without empty ones at the end."""
    return without_rest([normal(line) for line in said.splitlines() if not PROGRESS.match(line)])


def without_rest(lines):
    """Without empty lines at the end."""
    while lines and not lines[-1]:
        lines.pop()
    return lines


def refresh(page, command, said):
    """Bring the lines that a page shows and that are a little different now up to date."""
    text = page.read_text(encoding="utf-8").splitlines()
    now = [line for line in said.splitlines() if line.strip() and not PROGRESS.match(line)]
    for number, line in enumerate(command.shown, command.line):
        if line.strip() and "…" not in line and not any(normal(line) == normal(one) for one in now):
            near = difflib.get_close_matches(line, now, n=1, cutoff=0.7)
            text[number] = re.sub(VARYING[1][0], ENGINE_SHOWN, near[0]) if near else line
    page.write_text("\n".join(text) + "\n", encoding="utf-8")


def normal(line):
    """A line without what differs from run to run."""
    for pattern, replacement in VARYING:
        line = re.sub(pattern, replacement, line)
    return line.strip()
