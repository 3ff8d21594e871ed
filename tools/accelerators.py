"""Writes ``facts/accelerators/catalog.json`` from the ``catalog.yaml`` beside it.

Usage: ``python tools/accelerators.py``. A key that is misspelt, a value of the wrong type and an unknown
source stop it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from groundplan.facts.accelerators.model import Catalog

FOLDER = Path(__file__).parents[1] / "facts" / "accelerators"


def main() -> None:
    """Write the file."""
    (FOLDER / "catalog.json").write_bytes(generated(FOLDER / "catalog.yaml"))


def generated(source: Path) -> bytes:
    """The text of ``catalog.json``: what ``source`` says, checked and spelled out machine by machine."""
    read: dict[str, Any] = yaml.safe_load(source.read_text())
    gpus = read["gpus"]
    read["machines"] = {
        name: machine(name, title, merged(series["common"], own), gpus)
        for title, series in read.pop("series").items()
        for name, own in series["machines"].items()
    }
    catalog = msgspec.convert(read, Catalog)
    for name, facts in {**catalog.machines, **catalog.cpu_families}.items():
        unknown = {key for keys in facts.sources.values() for key in keys} - set(catalog.sources)
        if unknown:
            raise SystemExit(f"{name}: no such source: {', '.join(sorted(unknown))}")
    return msgspec.json.format(msgspec.json.encode(catalog), indent=1) + b"\n"


def machine(name: str, series: str, facts: dict[str, Any], gpus: Mapping[str, Any]) -> dict[str, Any]:
    """``facts`` with what follows from them: the memory of all GPUs, disk types that cannot be attached."""
    made = {"name": name, "series": series, **facts}
    if gpu := made.get("gpu"):
        model = gpus[gpu["type"]]
        made["gpu"] = {**gpu, "memory_gb": int(model["memory_gb"] * gpu["count"] * gpu.get("fraction", 1))}
    if "data_disks" in made:
        limits = made.get("disk_limits", {})
        made["data_disks"] = [disk for disk in made["data_disks"] if limits.get(disk) != 0]
        made["hyperdisk_ml"] = "hyperdisk-ml" in made["data_disks"]
    return made


def merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """``common`` with ``own`` on top: maps merge, everything else is replaced."""
    both = dict(common)
    for key, value in own.items():
        below = both.get(key)
        both[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return both


if __name__ == "__main__":
    main()
