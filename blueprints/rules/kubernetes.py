"""The syntax of Kubernetes label keys and values, which taints share.

Source: Kubernetes docs, Labels and Selectors, syntax and character set.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")


def key_mistake(key: str) -> str:
    """What is wrong with a key, as advice; empty if nothing is."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (_PREFIX.fullmatch(prefix) and len(prefix) <= 253):
        return "What stands before the / is a DNS name in lower case: example.com/role."
    if not _NAME.fullmatch(name):
        return "A name has letters, digits, -, _ and ., at most 63, and no sign at its ends: role."
    return ""


def value_mistake(value: str) -> str:
    """What is wrong with a value, as advice; empty if nothing is."""
    if value and not _NAME.fullmatch(value):
        return "A value has letters, digits, -, _ and ., at most 63, and no sign at its ends."
    return ""
