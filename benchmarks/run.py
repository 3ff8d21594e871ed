"""How fast groundplan is, as ratios and CPU seconds measured in one run: ``python benchmarks/run.py``.

Writes ``benchmarks/results/speed.md``. CPU seconds are user + system time of the process and its children,
the least of several runs: on a shared machine wall time says more about the neighbours. No test uses them.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "blueprints" / "library"
RESULTS = Path(__file__).parent / "results" / "speed.md"


def cpu_seconds(command: Sequence[str], *, cwd: Path | None = None, repeat: int = 5) -> float:
    """The least CPU time of ``repeat`` runs of a command that must succeed."""
    return min(_one(command, cwd) for _ in range(repeat))


def surroundings() -> dict[str, str]:
    """The environment of a user: compiled modules are kept, nothing moves on a terminal."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"CI": "1"}


def _one(command: Sequence[str], cwd: Path | None) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, env=surroundings())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_mib(command: Sequence[str]) -> float:
    """Peak memory of a Python program that prints its own ``ru_maxrss`` last."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) / 1024


def groundplan(*arguments: str) -> list[str]:
    """The command line of groundplan in this interpreter."""
    return [sys.executable, "-m", "groundplan", *arguments]


def large(environments: int = 3, pools: int = 24) -> str:
    """A blueprint whose environments have at least 60 resources each."""
    names = ["ml-dev", "ml-staging", "ml-prod", *(f"ml-extra-{n}" for n in range(environments - 3))][
        :environments
    ]
    lines = [
        "apiVersion: groundplan/v1",
        "name: bench",
        'organization: "123456789012"',
        "foundation: {project: bench-seed}",
        "defaults:",
        "  billing_account: 01AB23-CD45EF-678901",
        "  network: {address_space: 10.0.0.0/8}",
        "  clusters:",
        "    main:",
        "      node_pools:",
        "        system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}",
        *(
            f"        pool{n}: {{machine: g2-standard-12, capacity: spot, nodes: {{min: 0, max: 4}}}}"
            for n in range(pools)
        ),
        "  storage:",
        "    buckets:",
        *(f"      data{n}: {{soft_delete: 7d}}" for n in range(10)),
        "  workloads:",
        *(
            f"    job{n}: {{reads: [buckets/data{n}], writes: [buckets/data{(n + 1) % 10}]}}"
            for n in range(10)
        ),
        "environments:",
        *(
            f"  {name}:"
            if name.startswith(("ml-dev", "ml-st", "ml-pr"))
            else f"  {name}: {{tier: development}}"
            for name in names
        ),
    ]
    return "\n".join(lines) + "\n"


WORK_ALONE = """
import json, resource, sys, time
from pathlib import Path
from groundplan.blueprints.reader import read
from groundplan.blueprints.lock import Lock, allocate
from groundplan.stacks.catalog import stacks
from groundplan.engines.terraform.writer import document, dumps
text = Path(sys.argv[1]).read_text()
times = []
for n in range(int(sys.argv[2])):
    began = time.process_time()
    blueprint = read("bench.yaml", text=text).blueprint
    made = stacks(blueprint, allocate(blueprint, Lock()))
    written = [dumps(stack) for stack in made]
    times.append(time.process_time() - began)
plain = [document(stack) for stack in made]
began = time.process_time()
for one in plain:
    json.dumps(one, indent=2, sort_keys=True)
dump = time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(sum(times), min(times), dump, sum(len(s.graph) for s in made), peak)
"""


def work_alone(blueprint: Path, times: int) -> list[float]:
    """[sum, least, json.dump, resources, peak KiB] of reading, building and writing ``times`` times."""
    done = subprocess.run(
        [sys.executable, "-c", WORK_ALONE, str(blueprint), str(times)],
        check=True,
        capture_output=True,
        text=True,
        env=surroundings(),
    )
    return [float(word) for word in done.stdout.split()]


def offline_share(blueprint: Path) -> tuple[float, float]:
    """CPU seconds of an offline plan: ours (command and stand-in), and the Terraform process's."""
    shim = textwrap.dedent(
        """\
        #!{python}
        import os, resource, subprocess, sys
        code = subprocess.run([{engine!r}, *sys.argv[1:]]).returncode
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open({log!r}, "a") as file:
            file.write(f"{{used.ru_utime + used.ru_stime}}\\n")
        sys.exit(code)
        """
    )
    import shutil

    engine = shutil.which("terraform")
    if engine is None:
        raise SystemExit("this measurement needs a terraform on PATH, to tell its process from ours")
    with tempfile.TemporaryDirectory() as folder:
        log, binary = Path(folder) / "cpu", Path(folder) / "terraform"
        binary.write_text(shim.format(python=sys.executable, engine=engine, log=str(log)))
        binary.chmod(0o755)
        command = groundplan(
            "-f",
            str(blueprint),
            "plan",
            "--offline",
            "--engine-binary",
            str(binary),
            "--work-dir",
            f"{folder}/work",
        )
        total = _one(command, None)
        words = log.read_text().split()
        terraform = sum(map(float, words))
        # Each shim is a Python of its own that a user would not run.
        shims = len(words) * cpu_seconds([sys.executable, "-c", "import subprocess, resource"], repeat=3)
        return total - terraform - shims, terraform


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-offline", action="store_true", help="leave out what needs a terraform binary")
    arguments = parser.parse_args()
    rows: list[tuple[str, str, str]] = []

    def row(what: str, figure: str, target: str) -> None:
        rows.append((what, figure, target))
        print(f"{what}: {figure} (target: {target})", flush=True)

    bare = cpu_seconds([sys.executable, "-c", "pass"])
    row("a bare Python interpreter", f"{bare:.3f} s", "–")
    row("`groundplan --help`", f"{cpu_seconds(groundplan('--help')):.3f} s", "under 0.15 s")
    largest = max(
        LIBRARY.glob("*.yaml"), key=lambda path: path.stat().st_size if "lock" not in path.name else 0
    )
    seconds = cpu_seconds(groundplan("-f", str(largest), "validate"))
    row(
        f"`groundplan validate`, largest shipped blueprint ({largest.stem})",
        f"{seconds:.3f} s",
        "under 0.4 s",
    )
    with tempfile.TemporaryDirectory() as folder:
        bench = Path(folder) / "bench.yaml"
        bench.write_text(large())
        _, least, dump, resources, _ = work_alone(bench, 5)
        command = groundplan("-f", str(bench), "synth", "-o", f"{folder}/out")
        seconds = cpu_seconds(command)
        row(
            f"`groundplan synth`, foundation and 3 environments, {resources:.0f} resources",
            f"{seconds:.3f} s",
            "under 0.5 s",
        )
        row("… reading, rules, graphs and writing without start-up", f"{least:.3f} s", "–")
        row(
            "… plain `json.dumps` of the same documents", f"{dump:.3f} s ({least / dump:.0f} times less)", "–"
        )
        ten, hundred = work_alone(bench, 10), work_alone(bench, 100)
        row(
            "100 blueprints in one process against 10: time",
            f"{hundred[0] / ten[0]:.1f} times",
            "about 10 times (linear)",
        )
        row(
            "100 blueprints in one process against 10: peak memory",
            f"{hundred[4] / ten[4]:.2f} times",
            "about 1 (no leak)",
        )
        if not arguments.no_offline:
            ours, terraform = offline_share(bench)
            share = ours / (ours + terraform)
            row(
                "offline plan of the same blueprint: our share of the CPU time",
                f"{share:.0%} ({ours:.2f} s of {ours + terraform:.2f} s)",
                "at most 40 %",
            )
    RESULTS.parent.mkdir(exist_ok=True)
    table = "\n".join(f"| {what} | {figure} | {target} |" for what, figure, target in rows)
    RESULTS.write_text(
        f"# Speed\n\nMeasured {time.strftime('%Y-%m-%d')} on {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}; CPU seconds, the least of several runs, all in one run of\n"
        f"`python benchmarks/run.py`.\n\n| what | measured | target |\n|---|---|---|\n{table}\n\n"
        "The same synthesis elsewhere, measured earlier (three stacks of 100 resources): cdktf with its\n"
        "prebuilt provider classes 18.7 s, cdktf with generic resources 2.3 s, plain `json.dump` 0.09 s.\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
