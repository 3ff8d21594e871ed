"""The files under ``facts/provider/``: their names and their layout, one attribute a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from groundplan.facts.schema import Block, Index, NestedBlock, ResourceType


def file_name(name: str) -> str:
    """Where a type stands: ``google_project.json``, ``data/google_project.json``, ``provider.json``."""
    return f"data/{name.removeprefix('data.')}.json" if name.startswith("data.") else f"{name}.json"


def read_types(folder: Path) -> dict[str, ResourceType]:
    """All types that ``folder`` holds, by name; nothing if there is no such folder."""
    return {
        prefix + file.stem: msgspec.json.decode(file.read_bytes(), type=ResourceType)
        for prefix, place in (("", folder), ("data.", folder / "data"))
        for file in sorted(place.glob("*.json"))
        if file.name != "index.json"
    }


def read_texts(folder: Path) -> dict[str, str]:
    """Every file's text, by its name below ``folder``."""
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*.json"))
    }


def write_texts(texts: Mapping[str, str], folder: Path) -> None:
    """Make ``folder`` hold exactly ``texts``; every file is whole at any time."""
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    for name in read_texts(folder).keys() - texts.keys():
        (folder / name).unlink()


def index_text(index: Index) -> str:
    """The text of ``index.json``."""
    return json.dumps(msgspec.to_builtins(index), indent=1, ensure_ascii=False) + "\n"


def type_text(resource: ResourceType) -> str:
    """The text of one type's file."""
    fields = msgspec.to_builtins(resource)
    fields.pop("block", None)
    lines = [f" {_line(name)}:{_line(value)}" for name, value in fields.items()]
    return "{\n" + ",\n".join([*lines, f' "block":{_block(resource.block, 2)}']) + "}\n"


def _block(block: Block, depth: int) -> str:
    indent = " " * depth
    members = {
        "attributes": {name: _facts(attribute, "type") for name, attribute in block.attributes.items()},
        "blocks": {name: _nested(nested, depth + 1) for name, nested in block.blocks.items()},
    }
    inside = ",\n".join(
        f'{indent}"{kind}":{{\n'
        + ",\n".join(f'{indent} "{name}":{text}' for name, text in texts.items())
        + "}"
        for kind, texts in members.items()
        if texts
    )
    return f"{{\n{inside}}}" if inside else "{}"


def _nested(nested: NestedBlock, depth: int) -> str:
    facts = _facts(msgspec.structs.replace(nested, block=Block()), "nesting")
    return f'{facts[:-1]},"block":{_block(nested.block, depth + 1)}}}'


def _facts(member: Any, first: str) -> str:
    """One member on one line: what it is before how it behaves."""
    fields = msgspec.to_builtins(member)
    fields.pop("block", None)
    return _line({first: fields.pop(first), **fields})


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
