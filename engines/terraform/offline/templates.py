"""Templates such as ``projects/{{project}}/locations/{{location}}``: filled in, and read backwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from groundplan.facts.import_ids import ALIASES
from groundplan.facts.schema import ResourceType

#: ``clusters/{{cluster}}``, ``{{urlencode(service)}}`` or ``{{name}}``.
_FIELD = re.compile(r"([A-Za-z]+/)?\{\{(urlencode\()?(\w+)\)?\}\}")


def fields(template: str) -> tuple[str, ...]:
    """The names in a template, in order."""
    return tuple(match[3] for match in _FIELD.finditer(template))


def fill(template: str, lookup: Callable[[str], Any]) -> str:
    """The template with every ``{{name}}`` replaced by ``lookup(name)``.

    After a literal folder (``clusters/{{cluster}}``) a long form is cut to its last part, as the real
    provider does: the attribute may hold a name or a whole id.
    """

    def replace(match: re.Match[str]) -> str:
        folder, encoded, name = match[1] or "", match[2], match[3]
        value = str(lookup(name))
        if folder and "/" in value:
            value = value.rpartition("/")[2]
        return folder + (quote(value, safe="") if encoded else value)

    return _FIELD.sub(replace, template)


def import_readings(kind: ResourceType, given: str) -> Iterator[dict[str, str]]:
    """The attribute values that each matching import format reads out of an id, most specific first."""
    for template in kind.import_formats:
        escaped = re.escape(template.replace("{{peering-network}}", "{{network}}"))
        pattern = re.sub(r"\\\{\\\{(\w+)\\\}\\\}", r"(?P<\1>\\S+)", escaped)
        suffix = r"(?: (?P<condition_title>.+))?" if kind.iam in ("member", "binding") else ""
        try:
            match = re.fullmatch(pattern + suffix, given)
        except re.error:  # a part that occurs twice
            continue
        if match:
            parts = {name: value for name, value in match.groupdict().items() if value is not None}
            yield {ALIASES.get(name, name): value for name, value in parts.items()} | parts
