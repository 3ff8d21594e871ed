"""How long all rules take over three environments of fifty node pools: ``python benchmarks/rules.py``.

Writes ``benchmarks/results/rules.md``. Measured is CPU time in one process, the least of several runs;
reading the YAML and building the models are measured apart. No test uses the figures.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from groundplan.blueprints import reader
from groundplan.blueprints.reader import judge
from groundplan.blueprints.rules import RULES
from groundplan.blueprints.tree import Source
from groundplan.facts.accelerators import catalog

RESULTS = Path(__file__).parent / "results" / "rules.md"
ENVIRONMENTS = ("ml-dev", "ml-staging", "ml-prod")
POOLS = 50
REPEAT = 15

#: What the rules may take beyond reading, in CPU seconds.
TARGET = 0.15


def blueprint() -> str:
    """Three environments, each with fifty pools of its own, over all machines of the catalog."""
    lines = ["apiVersion: groundplan/v1", "name: bench", "environments:"]
    for environment in ENVIRONMENTS:
        lines += [
            f"  {environment}:",
            "    clusters:",
            "      main:",
            "        zones: [a]",
            '        min_version: "1.34"',
        ]
        lines += [
            "        node_pools:",
            "          system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}",
        ]
        lines += [f"          {line}" for line in _pools()]
        lines += [
            "    storage: {buckets: {data: {}}, disks: {w: {type: hyperdisk-ml, size: 1TiB, zones: [a]}}}"
        ]
        lines += ["    workloads:"]
        lines += [f"      w{n}: {{reads: [buckets/data, disks/w], runs_on: [p{n}]}}" for n in range(10)]
    return "\n".join(lines) + "\n"


def _pools() -> Iterator[str]:
    machines = list(catalog().machines.values())
    for number in range(POOLS - 1):
        facts = machines[number % len(machines)]
        topology = f", topology: {facts.tpu.topology}" if facts.tpu else ""
        ways = ("spot", f"{{reservation: r{number}}}", "flex-start")
        way = ways[number % len(ways)]
        yield (
            f"p{number}: {{machine: {facts.name}, capacity: {way}, nodes: {{min: 0, max: 8}}{topology}, "
            "networking: auto, boot_disk: {size: 200GiB}, node_labels: {example.com/role: train}}"
        )


def least(run: Callable[[], object]) -> float:
    """The least CPU time of several runs."""
    times = []
    for _ in range(REPEAT):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    """Measure and write the result."""
    source = Source("bench.yaml", blueprint())
    _, found = judge(source)
    everything = least(lambda: judge(source))
    rules, reader.RULES = reader.RULES, ()
    reading = least(lambda: judge(source))
    reader.RULES = rules
    alone = everything - reading
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    size = f"{len(ENVIRONMENTS)} environments of {POOLS} node pools"
    text = f"""# The rules alone

{len(RULES)} rules over {size}, {len(found)} findings. CPU seconds, the least of {REPEAT} runs,
Python {platform.python_version()}, commit {commit}; written by `python benchmarks/rules.py`.

| what | measured | target |
|---|---|---|
| reading and models, without rules | {reading:.3f} s | – |
| the rules, beyond that | {alone:.3f} s | under {TARGET} s |
"""
    RESULTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
