"""What changed between two generations of the provider's facts, as a report in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from provider_behaviour import Behaviour

from groundplan.facts.schema import Attribute, Block, CtyType, NestedBlock, Provider, ResourceType, walk

#: Fields whose change is no news: it shows in the title, or further below.
NO_CHANGE = frozenset({"provider_version", "block"})


@dataclass(frozen=True)
class Report:
    """Every list holds finished lines."""

    before: str  #: release, empty for none
    after: str
    types_added: list[str]
    types_removed: list[str]
    missing: list[str]  #: wanted types that neither provider has
    added: list[str]  #: attributes and blocks of types that were there before
    removed: list[str]
    changed: list[str]
    differ: list[str]  #: google and google-beta disagree about a common member
    stale: list[str]  #: entries of the behaviour without an attribute
    unknown: list[str]  #: attributes and blocks whose behaviour is not known


def report(
    before: Mapping[str, ResourceType],
    after: Mapping[str, ResourceType],
    shapes: Mapping[str, Mapping[Provider, Block]],
    known: Mapping[str, Behaviour],
    wanted: Iterable[str],
) -> Report:
    """What changed from ``before`` to ``after``, and what ``after`` does not know."""
    common = sorted(before.keys() & after.keys())
    return Report(
        before=next((resource.provider_version for resource in before.values()), ""),
        after=next(resource.provider_version for resource in after.values()),
        types_added=sorted(after.keys() - before.keys()),
        types_removed=sorted(before.keys() - after.keys()),
        missing=sorted(set(wanted) - after.keys()),
        added=[line for name in common for line in _only_in(name, after[name], before[name])],
        removed=[line for name in common for line in _only_in(name, before[name], after[name])],
        changed=[line for name in common for line in _changed(name, before[name], after[name])],
        differ=[line for name in sorted(shapes) for line in _differences(name, shapes[name])],
        stale=[line for name in sorted(known) for line in _stale(name, known[name], after.get(name))],
        unknown=[line for name in sorted(after) for line in _unknown(name, after[name])],
    )


def _only_in(name: str, this: ResourceType, other: ResourceType) -> Iterator[str]:
    paths = dict(walk(other.block)).keys()
    yield from (
        f"{name} {path}: {describe(member)}" for path, member in walk(this.block) if path not in paths
    )


def _changed(name: str, old: ResourceType, new: ResourceType) -> Iterator[str]:
    yield from (f"{name}: {change}" for change in _changes(old, new))
    yield from _member_changes(name, old.block, new.block)


def _member_changes(name: str, old: Block, new: Block) -> Iterator[str]:
    after = dict(walk(new))
    for path, was in walk(old):
        now = after.get(path, was)
        if type(was) is type(now):
            yield from (f"{name} {path}: {change}" for change in _changes(was, now))
        else:
            yield f"{name} {path}: {describe(was)} -> {describe(now)}"


def _changes(old: msgspec.Struct, new: msgspec.Struct) -> Iterator[str]:
    for field in old.__struct_fields__:
        was, now = getattr(old, field), getattr(new, field)
        if field not in NO_CHANGE and was != now:
            yield f"{field} {_words(was)} -> {_words(now)}"


def _differences(name: str, shapes: Mapping[Provider, Block]) -> Iterator[str]:
    if len(shapes) < 2:
        return
    google, beta = shapes["google"], shapes["google-beta"]
    paths = dict(walk(beta)).keys()
    yield from (f"{name} {path}: only google has it" for path, _ in walk(google) if path not in paths)
    yield from (f"{line} (google -> google-beta)" for line in _member_changes(name, google, beta))


def _stale(name: str, known: Behaviour, resource: ResourceType | None) -> Iterator[str]:
    if resource is None:
        yield f"{name}: no such type"
        return
    paths = dict(walk(resource.block)).keys()
    yield from (f"{name} {path}" for path in sorted(known.entries) if path not in paths)


def _unknown(name: str, resource: ResourceType) -> Iterator[str]:
    paths = [path for path, member in walk(resource.block) if member.force_new is None]
    if paths:
        yield f"{name} ({len(paths)}): {', '.join(paths)}"


def describe(member: Attribute | NestedBlock) -> str:
    """Type and role in a few words: ``list(string), optional, computed``."""
    if isinstance(member, NestedBlock):
        words = [f"{member.nesting} block", *(["required"] if member.min_items else [])]
    else:
        roles = ("required", "optional", "computed", "write_only")
        words = [_type(member.type), *(role for role in roles if getattr(member, role))]
    return ", ".join(words + ["google-beta"] * (member.provider == "google-beta"))


def _type(cty: CtyType) -> str:
    """A type as it is written in Terraform's language: ``map(string)``, ``list(object)``."""
    if isinstance(cty, str):
        return cty
    kind, of = cty
    return kind if kind == "object" else f"{kind}({_type(of)})"


def _words(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def render(report: Report) -> str:
    """The report as Markdown; sections without a line are left out."""
    sections = {
        "Types added": report.types_added,
        "Types removed": report.types_removed,
        "Wanted, but in neither provider": report.missing,
        "Attributes and blocks added": report.added,
        "Attributes and blocks removed": report.removed,
        "Changed": report.changed,
        "google and google-beta differ": report.differ,
        "Behaviour without an attribute (remove it from tools/behaviour)": report.stale,
        "Behaviour not known (read the provider's source, add it to tools/behaviour)": report.unknown,
    }
    parts = [f"# Provider schema: {report.before or 'nothing'} -> {report.after}"]
    parts += [f"## {title}: {len(lines)}\n\n" + _bullets(lines) for title, lines in sections.items() if lines]
    return "\n\n".join(parts) + "\n"


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
