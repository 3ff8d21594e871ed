"""Whom Google writes to about an environment: Essential Contacts instead of whoever is Owner.

A contact of a folder hears of all projects in it. There is one for each address, with all topics it is for:
the service takes an address once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import terraform_name
from groundplan.modules.graph import Graph, Reference, Text
from groundplan.modules.project import Project

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment


def add_contacts(graph: Graph, env: Environment, home: Reference | Text, seed: Project) -> None:
    """Add the contacts of an environment to ``home``: ``folders/NUMBER`` or ``projects/NUMBER``."""
    topics: dict[str, set[str]] = {}
    for topic, addresses in env.contacts.items():
        for address in addresses:
            topics.setdefault(address, set()).add(topic.upper().replace("-", "_"))
    for address in sorted(topics):
        wanted = {"ALL"} if "ALL" in topics[address] else topics[address]
        graph.add(
            "google_essential_contacts_contact",
            terraform_name(env.name, _slug(address)),
            parent=home,
            email=address,
            language_tag="en",
            notification_category_subscriptions=sorted(wanted),
            depends_on=seed.services.needs("essentialcontacts"),
        )


def _slug(address: str) -> str:
    """An address as part of a resource's name, such that no two addresses give one name."""
    words = {"@": "_at_", ".": "_"}
    return re.sub(r"[^A-Za-z0-9-]", lambda found: words.get(found[0], f"_{ord(found[0]):x}_"), address)
