"""Let hundreds of applies and destroys fail at random points, and write down what came of it.

::

    nice python tools/fault_campaign.py --runs 300 --seed 1        # writes docs/fault-campaign.md
    python tools/fault_campaign.py --runs 40 --seed 1 --only 17    # one run again, its folder stays

``tests/faults/campaign.py`` says what a run does and what must hold. A run in which something is wrong keeps
its folder, whose path is printed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from faults.campaign import Record, Run, Worlds, execute, plan_runs, small_disks  # noqa: E402
from faults.kinds import KINDS  # noqa: E402

from groundplan.engines.terraform.engine import find_engines  # noqa: E402

LIBRARY = ROOT / "blueprints" / "library"
REPORT = ROOT / "docs" / "fault-campaign.md"

INTRODUCTION = """\
# Fault campaign

`tools/fault_campaign.py` lets applies and destroys of the shipped blueprints fail at random points, offline,
with real Terraform, and judges each of them; `tests/faults/campaign.py` lists what must hold. In short: the
message says what to do, no state is lost, nothing exists without being known, and the same command again, or
the one that the message names, heals it. Everything random follows from the seed.
"""
LEGEND = """\
`passed`: the fault did not strike, or did no harm. `refused`: exit code 4 with an explanation. `stopped`:
exit code 130. `killed`: groundplan itself was killed. Of the runs that did not pass, `again` were healed by
the same command, `--adopt` by the command that the message names, which takes over what exists already, and
`unlock` after the lock was released as the message says.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="number of the one run to do; no report")
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--folder", type=Path, help="where to work; else a new temporary folder")
    options = parser.parse_args(arguments)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="fault-campaign-"))
    worlds = {path.stem: Worlds(folder / "worlds", path) for path in blueprints()}
    kinds = tuple(kind for kind in KINDS if not kind.full_disk or small_disks())
    runs = plan_runs(options.seed, options.runs, worlds, kinds)
    if options.only is not None:
        runs = [runs[options.only]]
    began = dt.datetime.now(dt.UTC)
    records = sorted(done(runs, folder, options.jobs), key=lambda record: record.run.number)
    if options.only is None:
        minutes = (dt.datetime.now(dt.UTC) - began).total_seconds() / 60
        options.report.write_text(report(records, options.seed, began, minutes), encoding="utf-8")
    return any(record.problems for record in records)


def blueprints() -> list[Path]:
    """The shipped ones."""
    return sorted(path for path in LIBRARY.glob("*.yaml") if not path.name.endswith(".lock.yaml"))


def done(runs: Sequence[Run], folder: Path, jobs: int) -> Iterator[Record]:
    """The records, as they come."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(one, run, folder) for run in runs]
        for future in as_completed(futures):
            record = future.result()
            print(f"{record.run}: {record.code}, {record.healed}, {record.seconds:.1f} s", flush=True)
            for problem in record.problems:
                print(f"  in {place(record.run, folder)}: {problem}", flush=True)
            yield record


def one(run: Run, folder: Path) -> Record:
    """One run, in a process of the pool."""
    worlds = {path.stem: path for path in blueprints()}
    blueprint = worlds.get(run.blueprint)
    return execute(run, Worlds(folder / "worlds", blueprint) if blueprint else None, place(run, folder))


def place(run: Run, folder: Path) -> Path:
    """Where a run works."""
    return folder / f"run-{run.seed}-{run.number}"


def report(records: Sequence[Record], seed: int, began: dt.datetime, minutes: float) -> str:
    """The campaign as Markdown."""
    wrong = [record for record in records if record.problems]
    lines = [
        INTRODUCTION,
        f"{len(records)} runs, seed {seed}, {began:%Y-%m-%d}, {find_engines()[0]}, {minutes:.0f} minutes: "
        f"{len(wrong)} with something wrong.",
        "",
        "| fault | runs | passed | refused | stopped | killed | again | --adopt | unlock |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for kind in KINDS:
        lines.append(row(kind.name, [record for record in records if record.run.kind == kind.name]))
    lines += [row("all", records), "", LEGEND, "| operation | runs | healed |", "|---|--:|--:|"]
    for operation, number in sorted(Counter(record.run.operation for record in records).items()):
        healed = sum(record.run.operation == operation and not record.problems for record in records)
        lines.append(f"| {operation} | {number} | {healed} |")
    if wrong:
        lines += ["", "## Wrong", ""]
        lines += [
            f"- {record.run}: {problem.splitlines()[0]}" for record in wrong for problem in record.problems
        ]
    return "\n".join(lines) + "\n"


def row(name: str, records: Sequence[Record]) -> str:
    """One line of the table."""
    codes = Counter(record.code for record in records)
    ways = Counter(record.healed for record in records if record.code != 0)
    cells = [
        len(records),
        codes[0],
        codes[4],
        codes[130],
        codes[-9],
        ways["again"],
        ways["--adopt"],
        ways["unlock"],
    ]
    return f"| {name} | {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
