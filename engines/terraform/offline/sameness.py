"""When two values count as the same: order of sets, unset against zero, and suppressed differences.

The rules are those of the plug-in SDK that the real provider is built on, and of the provider's own
difference-suppression functions as far as ``facts`` names their kind.
"""

from __future__ import annotations

import binascii
import datetime as dt
import ipaddress
import json
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from groundplan.facts.schema import Attribute, CtyType

from .codec import UNKNOWN

#: What the SDK cannot tell from "not set".
ZERO_VALUES: tuple[Any, ...] = (None, "", 0, [], {})  # False equals 0

_DURATION_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


def canonical(value: Any) -> str:
    """A sortable text of a JSON-like value, for comparing members of sets."""
    return json.dumps(value, sort_keys=True, default=repr)


def is_zero(value: Any) -> bool:
    """Is the value null or the zero of its type?"""
    return value is not UNKNOWN and value in ZERO_VALUES


def is_set(kind: CtyType) -> bool:
    """Is this Terraform type a set?"""
    return not isinstance(kind, str) and bool(kind[0] == "set")


def same_set(one: Any, other: Any) -> bool:
    """Do two lists hold the same members in any order?"""
    if not isinstance(one, list) or not isinstance(other, list):
        return False
    return sorted(map(canonical, one)) == sorted(map(canonical, other))


def same(kind: CtyType, one: Any, other: Any) -> bool:
    """Are two values of an attribute of type ``kind`` the same? Unset and zero are."""
    if one is UNKNOWN or other is UNKNOWN:
        return one is other
    if one == other or (is_zero(one) and is_zero(other)):
        return True
    return is_set(kind) and same_set(one, other)


def covers(configured: Any, prior: Any) -> bool:
    """Is everything that ``configured`` says found in ``prior``? Null and empty say nothing."""
    if configured is None or configured == [] or configured == prior:
        return True
    if isinstance(configured, dict) and isinstance(prior, dict):
        return all(covers(value, prior.get(key)) for key, value in configured.items())
    if isinstance(configured, list) and isinstance(prior, list):
        return len(configured) == len(prior) and all(map(covers, configured, prior))
    return False


def suppressed(attribute: Attribute, old: Any, new: Any) -> bool:
    """Is the step from ``old`` to ``new`` no difference, by the provider's own rule for this attribute?

    Kinds that ``facts`` does not know (``unknown``) show the difference.
    """
    kind = attribute.diff_suppress
    if kind is None or new is UNKNOWN or old is UNKNOWN:
        return False
    if kind == "empty_or_false":
        return is_zero(old) and is_zero(new)
    if kind.startswith("empty_or_default:"):
        default = kind.partition(":")[2]
        return {_text(old), _text(new)} == {"", default}
    rule = _RULES.get(kind)
    return rule is not None and isinstance(old, str) and isinstance(new, str) and rule(old, new)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _relative(link: str) -> str:
    """``projects/…`` of a full or partial link."""
    return re.sub(r"^https?://[^/]+/(compute/)?[a-z0-9]+/(?=projects/)", "", link)


def _last(link: str) -> str:
    return link.rpartition("/")[2]


def _same_link_or_name(old: str, new: str) -> bool:
    return _relative(old) == _relative(new) if "/" in new and "/" in old else _last(old) == _last(new)


def _same_network(old: str, new: str) -> bool:
    try:
        return ipaddress.ip_network(old) == ipaddress.ip_network(new)
    except ValueError:
        return False


def _same_network_or_size(old: str, new: str) -> bool:
    """``/20`` asks for any range of that size."""
    return _same_network(old, new) or (new.startswith("/") and old.endswith(new))


def _same_project(old: str, new: str) -> bool:
    """The API answers with the project's number where the configuration has its id."""
    return re.sub(r"projects/\d+", "projects/=", old) == re.sub(r"projects/[^/]+", "projects/=", new)


def seconds(duration: str) -> float:
    """Seconds of a Go duration such as ``1h30m`` or ``3600s``.

    Raises:
        ValueError: it is not one.
    """
    parts = re.findall(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)", duration)
    if not parts or "".join(map("".join, parts)) != duration.lstrip("+-"):
        raise ValueError(duration)
    total = sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)
    return -total if duration.startswith("-") else total


def _same_duration(old: str, new: str) -> bool:
    try:
        return dt.timedelta(seconds=seconds(old)) == dt.timedelta(seconds=seconds(new))
    except ValueError:
        return False


def _same_base64(old: str, new: str) -> bool:
    try:
        return b64decode(old) == b64decode(new)
    except binascii.Error:
        return False


def _same_key(old: str, new: str) -> bool:
    """The API answers with the key version in use."""
    return re.sub(r"/cryptoKeyVersions/\d+$", "", old) == new


_RULES: dict[str, Callable[[str, str], bool]] = {
    "self_link_path": lambda old, new: _relative(old) == _relative(new),
    "self_link_or_name": _same_link_or_name,
    "resource_name": lambda old, new: _last(old) == _last(new),
    "project_number": _same_project,
    "case": lambda old, new: old.lower() == new.lower(),
    "cidr": _same_network,
    "cidr_or_size": _same_network_or_size,
    "duration": _same_duration,
    "base64": _same_base64,
    "kms_key_version": _same_key,
}
