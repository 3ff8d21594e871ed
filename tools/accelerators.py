"""Writes ``facts/accelerators/catalog.json`` from the ``catalog.yaml`` beside it.

Usage: ``python tools/accelerators.py``. A misspelt key, a value of the wrong type, a fact without a source
and a reference to nothing stop it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from groundplan.facts.accelerators.model import Catalog

FOLDER = Path(__file__).parents[1] / "facts" / "accelerators"

#: Facts of each group; who states one of them states its source.
GROUPS = {
    "shape": ("vcpus", "memory_gb", "gpu", "tpu", "arm", "bare_metal", "attachable_gpus", "shapes"),
    "local_ssd": ("local_ssd", "without_local_ssd"),
    "disks": ("boot_disks", "data_disks", "max_disks", "disk_limits", "hyperdisk_ml_since"),
    "network": ("nics", "gbps", "gpudirect", "managed_dranet"),
    "consumption": ("consumption", "flex_start_zones"),
    "placement": ("compact", "compact_max", "compact_with_flex_start", "workload_policy"),
}


def main() -> None:
    """Write the file, or say what is wrong with its source."""
    (FOLDER / "catalog.json").write_bytes(generated(FOLDER / "catalog.yaml"))


def generated(source: Path) -> bytes:
    """The text of ``catalog.json``: what ``source`` says, checked and spelt out machine by machine.

    Raises:
        SystemExit: ``source`` has mistakes; all of them are in its text.
    """
    read: dict[str, Any] = yaml.safe_load(source.read_text())
    series = read.pop("series")
    read["machines"] = {
        name: _machine(name, title, _merged(group["common"], own), read["gpus"])
        for title, group in series.items()
        for name, own in group["machines"].items()
    }
    try:
        catalog = msgspec.convert(read, Catalog)
    except msgspec.ValidationError as error:
        raise SystemExit(f"{source}: {error}") from error
    mistakes = [*_unsourced(read), *_dangling(catalog, {*series})]
    if mistakes:
        raise SystemExit("\n".join(mistakes))
    return msgspec.json.format(msgspec.json.encode(catalog), indent=1) + b"\n"


def _machine(name: str, series: str, facts: Mapping[str, Any], gpus: Mapping[str, Any]) -> dict[str, Any]:
    """``facts`` with what follows from them: the memory of all GPUs, and no data disks with a limit of 0."""
    made = {"name": name, "series": series, **facts}
    if gpu := made.get("gpu"):
        each = gpus[gpu["type"]]["memory_gb"]
        made["gpu"] = {**gpu, "memory_gb": int(each * gpu["count"] * gpu.get("fraction", 1))}
    limits = made.get("disk_limits", {})
    made["data_disks"] = [disk for disk in made["data_disks"] if limits.get(disk) != 0]
    return made


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """``common`` with ``own`` on top: maps merge, everything else is replaced."""
    both = dict(common)
    for key, value in own.items():
        below = both.get(key)
        both[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return both


def _unsourced(read: Mapping[str, Any]) -> Iterator[str]:
    for name, facts in {**read["machines"], **read["cpu_families"]}.items():
        for group, fields in GROUPS.items():
            stated = [field for field in fields if facts.get(field) is not None]
            if stated and not facts["sources"].get(group):
                yield f"{name}: {', '.join(stated)}: no source for {group}"


def _dangling(catalog: Catalog, series: set[str]) -> Iterator[str]:
    """References to what the catalog does not have, and sources that nothing cites."""
    used: set[str] = set()
    for name, keys in _citations(catalog):
        used.update(keys)
        yield from (f"{name}: no such source: {key}" for key in keys if key not in catalog.sources)
    yield from (f"source {key}: nothing cites it" for key in catalog.sources if key not in used)
    for name, cpu in catalog.cpu_families.items():
        yield from (f"{name}: no such GPU: {gpu}" for gpu in cpu.attachable_gpus if gpu not in catalog.gpus)
    for dispute in catalog.disputes:
        unknown = [name for name in dispute.of if name not in catalog.machines and name not in series]
        yield from (f"dispute about {dispute.about}: no such machine: {name}" for name in unknown)


def _citations(catalog: Catalog) -> Iterator[tuple[str, Collection[str]]]:
    for name, shared in {**catalog.machines, **catalog.cpu_families}.items():
        for keys in shared.sources.values():
            yield name, keys
    for gpu, model in catalog.gpus.items():
        yield gpu, model.sources
    for name, feature in catalog.features.items():
        yield name, feature.sources
    for name in catalog.limits.__struct_fields__:
        yield f"limits of {name}", getattr(catalog.limits, name).sources
    for dispute in catalog.disputes:
        yield f"dispute about {dispute.about}", dispute.claims


if __name__ == "__main__":
    main()
