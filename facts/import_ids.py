"""The id under which an existing object is imported, from the attributes of its resource.

The forms are those of the provider's documentation (``import_formats`` of each resource type). Some of their
fields are called otherwise than the attributes that hold the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from groundplan.facts.schema import ResourceType

_FIELD = re.compile(r"\{\{([\w-]+)\}\}")

#: Field of a form → attribute.
ALIASES = {
    "bucket": "name",
    "bucket_name": "bucket",
    "folder_id": "folder",
    "id": "notification_id",
    "network_id": "network_name",
    "organization_id": "org_id",
    "peering-network": "network",
    "peering_id": "name",
    "project_id": "project",
    "sink_id": "name",
}


def import_id(kind: ResourceType, lookup: Callable[[str], str]) -> str:
    """The id to import an object by: the first form whose fields are all known; empty if there is none.

    Grants on a condition are told apart by the condition's title at the end (provider docs, IAM resources).

    Args:
        kind: the resource type.
        lookup: the value of an attribute; empty if it is not known. ``condition.title`` is asked for, too.
    """
    for form in kind.import_formats:
        values = {field: _value(kind, field, lookup) for field in _FIELD.findall(form)}
        if all(values.values()):
            filled = "".join(values.get(part, part) for part in _FIELD.split(form))
            title = lookup("condition.title") if kind.iam in ("member", "binding") else ""
            return f"{filled} {title}".rstrip()
    return ""


def _value(kind: ResourceType, field: str, lookup: Callable[[str], str]) -> str:
    """The value of a field. A whole path of an object is cut to the object's name, as the provider does."""
    name = field if field in kind.block.attributes else ALIASES.get(field, field)
    value = lookup(name)
    return value.rpartition("/")[2] if value.startswith(("projects/", "https://")) else value
