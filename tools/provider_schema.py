#!/usr/bin/env python3
"""Writes ``facts/provider/``: generated bindings of the google providers, joined with ``tools/behaviour/``.

python tools/provider_schema.py                      the release that is checked in
python tools/provider_schema.py --version 21.2.0     another one; read the report, then fill in behaviour
python tools/provider_schema.py --check              write nothing; exit 1 if the files would change
"""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec
import provider_files as files
import provider_report as reports
from provider_behaviour import NOTHING, BehaviourError, join, read_behaviour
from provider_bindings import Bindings, BindingsError, read_wheel

from groundplan.facts.schema import PROVIDERS, Block, Index, Provider, ResourceType

PACKAGES = ("cdktn-provider-google", "cdktn-provider-google-beta")
TOOLS = Path(__file__).resolve().parent
FACTS = TOOLS.parent / "facts" / "provider"
BEHAVIOUR = TOOLS / "behaviour"
CACHE = Path.home() / ".cache" / "groundplan" / "bindings"
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class Generated:
    """One generation: the text of every file by its name, and the report on what changed."""

    texts: dict[str, str]
    report: reports.Report


def generate(wheels: Sequence[Path], facts: Path, behaviour: Path, today: str) -> Generated:
    """Join the bindings in ``wheels`` with ``behaviour`` and compare with what ``facts`` holds.

    Args:
        wheels: one wheel for each provider.
        facts: folder of the present files; nothing is written to it.
        behaviour: folder with the behaviour, ``types.txt`` and ``sources.json``.
        today: date for the index if anything changed, YYYY-MM-DD.

    Raises:
        BindingsError: the bindings are not understood.
        BehaviourError: the behaviour does not fit the schema.
    """
    wanted = (behaviour / "types.txt").read_text(encoding="utf-8").split()
    read = [read_wheel(wheel, wanted) for wheel in wheels]
    known = read_behaviour(behaviour)
    shapes = _shapes(read)
    release = read[0].provider_version
    types = {name: join(name, release, shapes[name], known.get(name, NOTHING)) for name in shapes}
    texts = {files.file_name(name): files.type_text(resource) for name, resource in types.items()}
    return Generated(
        texts=_dated(_index(types, read[0], behaviour), texts, facts, today),
        report=reports.report(files.read_types(facts), types, shapes, known, wanted),
    )


def _shapes(read: Sequence[Bindings]) -> dict[str, dict[Provider, Block]]:
    """The schema of each type by provider."""
    by_provider = {found.provider: found for found in read}
    if by_provider.keys() != set(PROVIDERS) or len({found.provider_version for found in read}) != 1:
        releases = ", ".join(f"{found.provider} {found.provider_version}" for found in read)
        raise BindingsError(f"needed: one release of {' and '.join(PROVIDERS)}; given: {releases}")
    names = sorted(set().union(*(found.types for found in read)))
    return {
        name: {p: by_provider[p].types[name] for p in PROVIDERS if name in by_provider[p].types}
        for name in names
    }


def _index(types: Mapping[str, ResourceType], read: Bindings, behaviour: Path) -> Index:
    """The index, without its date."""
    origin = f"{' and '.join(PACKAGES)} {read.version}, of {read.date}: provider {read.provider_version}"
    sources = msgspec.json.decode((behaviour / "sources.json").read_bytes(), type=dict[str, str])
    by_provider: dict[str, list[str]] = {provider: [] for provider in PROVIDERS}
    for name, resource in types.items():
        if name.startswith("google_"):
            by_provider[resource.provider].append(name)
    return Index(
        provider_version=read.provider_version,
        bindings_version=read.version,
        checked="",
        sources={"bindings": origin, **sources},
        google=tuple(by_provider["google"]),
        google_beta=tuple(by_provider["google-beta"]),
    )


def _dated(index: Index, texts: Mapping[str, str], facts: Path, today: str) -> dict[str, str]:
    """All texts with the index: with the date it has if nothing changed, otherwise with today's."""
    present = files.read_texts(facts)
    if text := present.get("index.json"):
        date = msgspec.json.decode(text, type=dict[str, Any]).get("checked")
        unchanged = {**texts, "index.json": files.index_text(msgspec.structs.replace(index, checked=date))}
        if unchanged == present:
            return unchanged
    return {**texts, "index.json": files.index_text(msgspec.structs.replace(index, checked=today))}


def download(version: str, cache: Path) -> list[Path]:
    """The wheels of both packages; pip fetches what ``cache`` does not have (some 70 MB each)."""
    cache.mkdir(parents=True, exist_ok=True)
    wheels = []
    for package in PACKAGES:
        pattern = f"{package.replace('-', '_')}-{version}-*.whl"
        if not list(cache.glob(pattern)):
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*pip, "--dest", str(cache), f"{package}=={version}"], check=True)
        wheels += list(cache.glob(pattern))[:1]
    return wheels


def checked_in_version(facts: Path) -> str:
    """Version of the bindings that the files in ``facts`` were made from."""
    return msgspec.json.decode((facts / "index.json").read_bytes(), type=Index).bindings_version


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--version", help="Version of the bindings; the checked-in one unless given.")
@click.option("--wheel", "wheels", type=FILE, multiple=True, help="Read this wheel; give both providers'.")
@click.option("--cache", type=FOLDER, default=CACHE, show_default=True, help="Where wheels are kept.")
@click.option("--facts", type=FOLDER, default=FACTS, help="Folder to write; facts/provider unless given.")
@click.option("--behaviour", type=FOLDER, default=BEHAVIOUR, help="tools/behaviour unless given.")
@click.option("--report", type=FILE, help="Write the report to this file, not to the screen.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if the files would change.")
def main(
    version: str | None,
    wheels: tuple[Path, ...],
    cache: Path,
    facts: Path,
    behaviour: Path,
    report: Path | None,
    check: bool,
) -> None:
    """Write facts/provider/ from the generated bindings of the google providers and tools/behaviour/.

    Names, roles, types and nesting come from the packages cdktn-provider-google and
    cdktn-provider-google-beta; replacement, defaults, enums, ids and the like from tools/behaviour/. The
    report says what changed against the present files, and of which attributes the behaviour is not known.
    """
    try:
        found = list(wheels) or download(version or checked_in_version(facts), cache)
        generated = generate(found, facts, behaviour, datetime.date.today().isoformat())
    except (BindingsError, BehaviourError, subprocess.CalledProcessError) as error:
        raise click.ClickException(str(error)) from None
    text = reports.render(generated.report)
    if report:
        report.write_text(text, encoding="utf-8")
    else:
        click.echo(text, nl=False)
    if check:
        sys.exit(int(generated.texts != files.read_texts(facts)))
    files.write_texts(generated.texts, facts)


if __name__ == "__main__":
    main()
