"""Where an environment stands in the organization: access policies, tags, contacts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule

SCOPED = "Google Cloud docs, Access Context Manager, Scoped policies"
TAGS = "Google Cloud docs, Resource Manager, Creating and managing tags"
CONTACTS = "Google Cloud docs, Resource Manager, Managing contacts for notifications"

TAG_KEY = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
TAG_VALUE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|tagValues/[0-9]+")
MOST_TAGS = 50

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


@environment_rule("FO001", "a perimeter has an organization to stand in", source=SCOPED)
def perimeter_without_organization(view: EnvironmentView) -> Iterator[Problem]:
    """An access policy, which a perimeter stands in, is the organization's. Without one there can be none."""
    perimeter, blueprint = view.environment.perimeter, view.blueprint
    own = perimeter.mode != "none" and not (perimeter.existing or perimeter.access_policy)
    if own and blueprint.foundation and blueprint.organization is None:
        message = "a perimeter needs an organization"
        hint = 'Write `organization: "NUMBER"` at the top, or `mode: none`.'
        yield Problem(("perimeter", "mode"), message, hint)


@environment_rule("FO002", "new tags have an organization to be defined in", source=TAGS)
def tags_without_organization(view: EnvironmentView) -> Iterator[Problem]:
    """Keys and values of tags are the organization's: those of one project could not be used in another."""
    if view.blueprint.organization is None:
        for key, value in view.environment.tags.items():
            if not value.startswith("tagValues/"):
                message = f"the tag `{key}` needs an organization to be defined in"
                hint = 'Write `organization: "NUMBER"` at the top, or the value that exists: tagValues/123.'
                yield Problem(("tags", key), message, hint, at_key=True)


@environment_rule("FO003", "tags have names that Google Cloud accepts", source=TAGS)
def tag_names(view: EnvironmentView) -> Iterator[Problem]:
    """Resource Manager refuses other characters, only at apply.

    It takes a few more than groundplan, which keeps the addresses of tags unambiguous.
    """
    hint = "Lower-case letters, digits and hyphens, at most 63"
    tags = view.environment.tags
    for key, value in tags.items():
        if not TAG_KEY.fullmatch(key):
            yield Problem(("tags", key), f"`{key}` cannot be the key of a tag", f"{hint}.", at_key=True)
        if not TAG_VALUE.fullmatch(value):
            message = f"`{value}` cannot be the value of a tag"
            yield Problem(("tags", key), message, f"{hint}; or one that exists: tagValues/123.")
    if len(tags) > MOST_TAGS:
        message = f"there are {len(tags)} tags; a folder or project has at most {MOST_TAGS}"
        yield Problem(("tags",), message, "Remove those that no policy asks for.", at_key=True)


@environment_rule("FO004", "a contact is an e-mail address", source=CONTACTS)
def contacts(view: EnvironmentView) -> Iterator[Problem]:
    """Essential Contacts refuses anything else; what Google says about security would reach nobody."""
    for topic, addresses in view.environment.contacts.items():
        for index, address in enumerate(addresses):
            if not _EMAIL.fullmatch(address):
                message = f"`{address}` is not an e-mail address"
                yield Problem(("contacts", topic, index), message, "Write one: security@example.com.")
