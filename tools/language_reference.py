"""Writes the reference in ``docs/blueprint.md``, and a list in README, from the language and its rules.

Usage: ``python tools/language_reference.py``. It reads the JSON Schema, so page and schema cannot disagree.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generated_part import rewrite

from groundplan.blueprints.json_schema import json_schema
from groundplan.blueprints.model import BlueprintFile, EnvironmentSpec, basics
from groundplan.blueprints.quantities import Matching
from groundplan.blueprints.shapes import Shape, of_model

TOOL = Path(__file__).name
LATER = " Not provisioned yet."
ROOT = "The file"

Schema = Mapping[str, Any]


def _kinds() -> Iterator[tuple[str, str, str]]:
    """Kinds of text with a name: the name, the pattern as the schema has it, and the same in words."""
    for name, alias in vars(basics).items():
        for constraint in getattr(alias, "__metadata__", ()):
            if isinstance(constraint, Matching):
                words = re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
                yield words, f"^({constraint.pattern})$", constraint.words


#: Kinds of text that are parsed, by a part of their pattern.
QUANTITIES = (
    ("smhdw", "duration", "`90m`, `3d`, `1d12h`"),
    ("MiB/s", "throughput", "`2400MiB/s`"),
    ("GiB", "size", "`200GiB`, `1TiB`"),
    (r"\.[0-9]+/[0-9]+", "range", "`10.64.0.0/20`"),
    ("[0-5][0-9]", "time", "`02:00`, in quotes"),
)


def main() -> None:
    """Write the pages."""
    for page, part in generated().items():
        rewrite(page, TOOL, part)


def generated() -> dict[str, str]:
    """The generated part of each page."""
    return {"README.md": _later(), "docs/blueprint.md": reference()}


def reference() -> str:
    """Each map of the language with its keys, the kinds of text, and the codes of all diagnostics."""
    schema = json_schema()
    definitions = {name: schema["$defs"][name] for name in _in_reading_order(schema)}
    sections = [_section(ROOT, schema)]
    sections += [_section(_title(name), one) for name, one in definitions.items()]
    return "\n\n".join([*sections, _kinds_of_text(), _codes()])


def _later() -> str:
    """The keys that are understood and not provisioned."""
    top = [
        path
        for path in not_provisioned(of_model(BlueprintFile))
        if path[0] not in ("defaults", "environments")
    ]
    keys = [".".join(path[-2:]) for path in [*top, *not_provisioned(of_model(EnvironmentSpec))]]
    return textwrap.fill(", ".join(f"`{key}`" for key in keys) + ".", width=118, break_on_hyphens=False)


def not_provisioned(shape: Shape) -> list[tuple[str, ...]]:
    """Keys that are understood and not provisioned, as paths; one path for a map of nothing else."""
    found: list[tuple[str, ...]] = []
    for key in shape.keys.values():
        below = (key.shape.item or key.shape) if key.shape.kind == "map" else key.shape
        later = [(key.name, *rest) for rest in not_provisioned(below)]
        whole = below.keys and {(key.name, one) for one in below.keys} == set(later)
        found += [(key.name,)] if key.later or whole else later
    return found


def _in_reading_order(schema: Schema) -> list[str]:
    """Names of the definitions, each after the one that first leads to it."""
    found: dict[str, None] = {}

    def visit(part: Any) -> None:
        for name in _references(part):
            if name not in found:
                found[name] = None
                visit(schema["$defs"][name])

    visit({key: value for key, value in schema.items() if key != "$defs"})
    return list(found)


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].rpartition("/")[2]
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def _title(name: str) -> str:
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", name.removesuffix("Spec")).lower()
    return words[0].upper() + words[1:]


def _section(title: str, schema: Schema) -> str:
    parts = [f"## {title}"]
    if schema.get("description") and title != ROOT:
        parts.append(schema["description"])
    forms = _forms(schema)
    if len(forms) > 1:
        parts.append("Written as " + " or ".join(_takes(form) for form in forms) + ".")
    keyed = next((form for form in forms if "properties" in form), None)
    if keyed:
        rows = [_row(key, one, key in schema.get("required", ())) for key, one in keyed["properties"].items()]
        parts.append("\n".join(["| key | takes | |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _row(key: str, schema: Schema, required: bool) -> str:
    text = schema.get("description", "")
    default = schema.get("default")
    notes = [text.removesuffix(LATER)]
    if required:
        notes.append("Required.")
    if default is not None and default != text:
        notes.append(f"Default: `{str(default).lower() if isinstance(default, bool) else default}`.")
    if text.endswith(LATER):
        notes.append(f"*{LATER.strip()}*")
    return f"| `{key}` | {_takes(schema)} | {' '.join(notes)} |"


def _forms(schema: Schema) -> list[Schema]:
    """The alternatives, without the null that removes."""
    alternatives = schema.get("anyOf", [schema])
    return [one for one in alternatives if one != {"type": "null"}]


def _takes(schema: Schema) -> str:
    """What may be written, in words."""
    forms = _forms(schema)
    if len(forms) > 1:
        return " or ".join(_takes(one) for one in forms)
    form = forms[0]
    if "$ref" in form:
        title = _title(form["$ref"].rpartition("/")[2])
        return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
    if "enum" in form or "const" in form:
        return ", ".join(f"`{one}`" for one in form.get("enum", [form.get("const")]))
    if "items" in form:
        return f"list of {_takes(form['items'])}"
    if "pattern" in form:
        return _kind(form["pattern"])
    return _map_or_value(form)


def _map_or_value(form: Schema) -> str:
    if form.get("type") == "object":
        if "properties" in form:
            return "{" + ", ".join(form["properties"]) + "}"
        item = next(iter(form.get("patternProperties", {}).values()), form.get("additionalProperties"))
        return f"map of {_takes(item)}" if isinstance(item, dict) and item else "map"
    if form.get("type") == ["string", "number", "boolean"]:
        return "text"
    words = {"boolean": "true, false", "integer": "whole number", "number": "number"}
    return words.get(str(form.get("type")), "date and time" if form.get("format") else "anything")


def _kind(pattern: str) -> str:
    for name, known, _ in _kinds():
        if known == pattern:
            return name
    return next((name for part, name, _ in QUANTITIES if part in pattern), "text")


def _kinds_of_text() -> str:
    rows = [f"| {name} | {_code(words)} |" for name, _, words in _kinds()]
    rows += [f"| {name} | {example} |" for _, name, example in QUANTITIES]
    return "\n".join(["## Kinds of text\n", "| | |", "|---|---|", *rows])


def _code(words: str) -> str:
    """The example after the colon as code, and the first word as the beginning of a sentence."""
    text, colon, example = words.partition(": ")
    return f"{text[0].upper()}{text[1:]}" + (f"{colon}`{example}`" if colon else "")


def _codes() -> str:
    return "## What is checked\n\nCodes of messages, and why each is checked: [the rules](rules.md)."


if __name__ == "__main__":
    main()
