"""Time and memory of the writer, cdktf and cdktn on the same stacks: ``python benchmarks/renderings.py``.

Each figure is the median of three fresh processes. Time counts from the finished graph to the document, with
the start of Node.js and the library's import; memory is the peak of all processes together, sampled, with
shared pages counted once per process. One run measures all three, so their ratios hold on any machine.
The table goes to ``benchmarks/results/renderings.md``.
"""

import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from groundplan.engines.cdktf import find_node, render_all
from groundplan.engines.terraform.writer import document
from groundplan.modules.graph import Graph, Lifecycle, Stack, text

RESULT = Path(__file__).parent / "results" / "renderings.md"
RENDERERS = ("writer", "cdktf", "cdktn")
STACKS = (1, 4, 12)  # one; a foundation with three environments; many
RUNS = 3
SAMPLE_SECONDS = 0.01
PAGE = resource.getpagesize()


def stack() -> Stack:
    """A stack of 100 resources: 3 clusters, 21 node pools, 19 buckets, 19 accounts and their 38 grants."""
    graph = Graph(project="llm-ml-prod", region="us-central1", labels={"cost-center": "ml", "env": "prod"})
    for number in range(3):
        cluster = graph.add(
            "google_container_cluster",
            f"c{number}",
            name=f"c{number}",
            location="us-central1",
            initial_node_count=1,
            remove_default_node_pool=True,
            private_cluster_config={"enable_private_nodes": True, "master_ipv4_cidr_block": "10.0.0.0/28"},
            workload_identity_config={"workload_pool": "llm-ml-prod.svc.id.goog"},
            lifecycle=Lifecycle(prevent_destroy=True),
        )
        for pool in range(7):
            graph.add(
                "google_container_node_pool",
                f"c{number}-p{pool}",
                cluster=cluster["id"],
                name=f"p{pool}",
                autoscaling={"min_node_count": 0, "max_node_count": 8},
                node_config={
                    "machine_type": "a3-highgpu-8g",
                    "guest_accelerator": {"type": "nvidia-h100-80gb", "count": 8},
                    "labels": {"pool": f"p{pool}"},
                    "taint": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
                },
                depends_on=[cluster],
            )
    for number in range(19):
        bucket = graph.add(
            "google_storage_bucket",
            f"b{number}",
            name=f"llm-{number}",
            location="US",
            lifecycle_rule=[{"action": {"type": "Delete"}, "condition": {"age": 30}}],
        )
        account = graph.add("google_service_account", f"a{number}", account_id=f"account-{number}")
        for role in ("objectViewer", "objectCreator"):
            graph.add(
                "google_storage_bucket_iam_member",
                f"b{number}-{role}",
                bucket=bucket["name"],
                role=f"roles/storage.{role}",
                member=text("serviceAccount:", account["email"]),
            )
    return Stack("ml-prod", graph)


def measure(renderer: str, count: int) -> dict[str, float]:
    """Render ``count`` stacks once, in this process."""
    stacks = [stack() for _ in range(count)]
    assert len(stacks[0].graph) == 100
    began, cpu = time.perf_counter(), sum(os.times()[:4])
    if renderer == "writer":
        [document(stack) for stack in stacks]
    else:
        render_all(stacks, renderer)
    return {
        "seconds": time.perf_counter() - began,
        "cpu": sum(os.times()[:4]) - cpu,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def observe(renderer: str, count: int) -> dict[str, float]:
    """``measure`` in a process of its own, with the memory of its descendants."""
    words = [sys.executable, __file__, renderer, str(count)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        peak = 0.0
        while child.poll() is None:
            peak = max(peak, resident(child.pid))
            time.sleep(SAMPLE_SECONDS)
        figures = json.load(child.stdout)
    return {**figures, "megabytes": max(peak, figures["megabytes"])}


def resident(pid: int) -> float:
    """Megabytes that a process and its descendants hold now."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):  # it has just ended
        return 0.0
    return pages * PAGE / 2**20 + sum(resident(int(child)) for child in children)


def table() -> str:
    """Measure everything and write it down."""
    lines = [
        "| stacks | renderer | seconds | of the writer's | CPU seconds | peak MB |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    for count in STACKS:
        # Rounds, not blocks: a disturbance of the machine meets all three alike.
        rounds = [{renderer: observe(renderer, count) for renderer in RENDERERS} for _ in range(RUNS)]
        median = {
            renderer: {
                name: statistics.median(figures[renderer][name] for figures in rounds)
                for name in ("seconds", "cpu", "megabytes")
            }
            for renderer in RENDERERS
        }
        for renderer, figures in median.items():
            ratio = figures["seconds"] / median["writer"]["seconds"]
            lines.append(
                f"| {count} | {renderer} | {figures['seconds']:.3f} | {ratio:,.0f} × "
                f"| {figures['cpu']:.2f} | {figures['megabytes']:.0f} |"
            )
    return "\n".join(lines)


def versions() -> str:
    """What was measured."""
    node = subprocess.run([str(find_node()), "--version"], capture_output=True, text=True, check=True).stdout
    packages = [f"{name} {importlib.metadata.version(name)}" for name in ("cdktf", "cdktn", "jsii")]
    return ", ".join([f"Python {platform.python_version()}", f"Node.js {node.strip()}", *packages])


def main() -> None:
    """Write the table."""
    content = f"""# The writer, cdktf and cdktn on the same stacks

Stacks of 100 resources. {versions()}.
Written by `python benchmarks/renderings.py`, which says how it measures.

{table()}
"""
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(content, encoding="utf-8")
    print(content)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
