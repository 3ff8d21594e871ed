"""What rules of perimeters may name, in words that the checks and the modules share."""

from __future__ import annotations

import re

#: Key of the generated ingress rule for the identities that plan and apply.
AUTOMATION = "automation"

#: Access Context Manager: titles of rules have at most 100 characters, and are unique in a perimeter.
TITLE_LIMIT = 100

#: What may be named in rules (Google Cloud docs, VPC Service Controls, "Supported identities").
IDENTITY = re.compile(r"(user|serviceAccount|group):[^\s:@]+@[^\s@]+|principal(Set)?://\S+")
#: Access levels know people and service accounts only (the same page).
MEMBER = re.compile(r"(user|serviceAccount):[^\s:@]+@[^\s@]+")
LEVEL = re.compile(r"access_levels/([a-z][-a-z0-9]*)")
PROJECT = re.compile(r"projects/([0-9]+|[a-z][-a-z0-9.:]*)")
NETWORK = re.compile(r"//compute\.googleapis\.com/projects/[-a-z0-9.:]+/global/networks/[-a-z0-9]+")
SERVICE = re.compile(r"[a-z][-a-z0-9]*\.googleapis\.com")
PERIMETER = re.compile(r"accessPolicies/[0-9]+/servicePerimeters/[A-Za-z][A-Za-z0-9_]*")


def project_path(text: str) -> str | None:
    """The project of ``projects/ID`` or ``projects/NUMBER``; None for anything else."""
    match = PROJECT.fullmatch(text)
    return match[1] if match else None


def is_number(text: str) -> bool:
    """Whether ``projects/NUMBER`` is written."""
    project = project_path(text)
    return project is not None and project.isdigit()
