"""A bad and a good example for each code, as somebody would write them: one file for each area.

An example is a part of a blueprint: keys of the file, of an environment, or of a cluster.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from groundplan.blueprints.model import BlueprintFile, EnvironmentSpec
from groundplan.blueprints.shapes import of_model

FOLDER = Path(__file__).parent

HEAD = "apiVersion: groundplan/v1\nname: example\n"
SYSTEM = "system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}"


@dataclass(frozen=True)
class Example:
    """What a rule refuses or warns of, and what to write instead."""

    bad: str
    good: str


def example(code: str) -> Example | None:
    """The example for a code; None if there is none."""
    return _area(code[:2]).get(code)


def complete(part: str) -> str:
    """A whole blueprint around a part of one, with a pool for system pods where it has pools."""
    keys = [line.partition(":")[0] for line in part.splitlines() if line[:1].isalpha()]
    if {*keys} <= of_model(BlueprintFile).keys.keys() - {"name"}:
        environments = "" if "environments" in keys else "environments: {ml-dev: {}}\n"
        return HEAD + part + environments
    levels = ["environments", "ml-dev"]
    if not {*keys} <= of_model(EnvironmentSpec).keys.keys():
        levels += ["clusters", "main"]
        if "system:" not in part:
            part = part.replace("node_pools:\n", f"node_pools:\n  {SYSTEM}\n")
    for level in reversed(levels):
        part = f"{level}:\n{textwrap.indent(part, '  ')}"
    return HEAD + part


@functools.cache
def _area(letters: str) -> Mapping[str, Example]:
    import yaml

    path = FOLDER / f"{letters}.yaml"
    if not path.is_file():
        return {}
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {code: Example(**texts) for code, texts in found.items()}
