"""Which roles the identities get, and why: ``roles.json``, dated and with its sources.

No basic role is among them, and none that reaches beyond the project or bucket it is granted on.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("roles.json")

#: Runs queries; whoever may read or write a dataset needs it, on the project that pays for them.
JOB_USER = "roles/bigquery.jobUser"
PROJECT_IAM_ADMIN = "roles/resourcemanager.projectIamAdmin"


class Roles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``roles.json``. Maps from roles give the reason why they are needed."""

    checked: str  #: YYYY-MM-DD
    sources: tuple[str, ...]
    node: dict[str, str]  #: node service account, on the project
    image_streaming: dict[str, str]  #: node service account, on the project, beside those of ``node``
    #: workload, on one thing: its kind as references have it → reading or writing → roles
    things: dict[str, dict[Literal["read", "write"], tuple[str, ...]]]
    #: permissions of a workload that mounts a bucket: those to read, and those that writing adds
    mounted: dict[Literal["read", "write"], tuple[str, ...]]
    state: dict[Literal["plan", "apply"], str]  #: automation, on the environment's own state
    #: automation, on the environment's own access policy
    access_policy: dict[Literal["plan", "apply"], str]
    plan: dict[str, str]  #: automation that plans, on the environment's project
    apply: dict[str, str]  #: automation that applies, on the environment's project
    grantable: tuple[str, ...]  #: what an environment's stack grants on its project


@functools.cache
def roles() -> Roles:
    """Everything that is known about roles."""
    return msgspec.json.decode(DATA.read_bytes(), type=Roles)


def only_grants(granted: tuple[str, ...]) -> str:
    """A condition under which ``projectIamAdmin`` may grant and take these roles, and no others.

    Source: Google Cloud docs, IAM, "Set limits on granting roles": at most ten roles in one ``hasOnly``.
    """
    names = ", ".join(f"'{role}'" for role in granted)
    return f"api.getAttribute('iam.googleapis.com/modifiedGrantsByRole', []).hasOnly([{names}])"


def short(role: str) -> str:
    """A role as part of a resource's name: ``compute-viewer``."""
    return role.rpartition("roles/")[2].replace(".", "-")
