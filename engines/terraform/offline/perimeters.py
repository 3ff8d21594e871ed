"""What Access Context Manager refuses of perimeters and access levels.

Sources: Google Cloud docs, VPC Service Controls, "Ingress and egress rules" and "Service perimeter
configuration"; public reports of its answers (terraform-google-vpc-service-controls 213 and 230,
terraform-provider-google 7969, terraform-google-project-factory 690).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from .cloud import Cloud, CloudObject, Refused
from .references import values_at

POLICY = "google_access_context_manager_access_policy"
LEVEL = "google_access_context_manager_access_level"
PERIMETER = "google_access_context_manager_service_perimeter"
MEMBERSHIPS = (f"{PERIMETER}_resource", f"{PERIMETER}_dry_run_resource")

_CONFIGS = ("status", "spec")
_RULES = ("ingress_policies", "egress_policies")
_LEVELS = ("access_levels", *(f"{rules}.{rules.split('_')[0]}_from.sources.access_level" for rules in _RULES))


def refuse_write(cloud: Cloud, item: CloudObject) -> None:
    """Everything about a perimeter's content that stops it from being made or changed.

    Raises:
        Refused: error 400: two rules of one title, an ingress rule that leads to a project outside, an
            access level that does not exist, a project in two enforced perimeters.
    """
    if item.type != PERIMETER:
        return
    for config in _configs(item):
        _check_titles(item, config)
        _check_targets(item, config)
        _check_levels(cloud, item, config)
    _check_elsewhere(cloud, item)


def refuse_delete(cloud: Cloud, item: CloudObject) -> None:
    """An access level goes after the perimeters that name it.

    Raises:
        Refused: error 400.
    """
    if item.type == LEVEL:
        for perimeter in cloud.all(PERIMETER):
            if item.id in _levels(perimeter):
                raise _bad(
                    item,
                    f"The access level '{item.id}' is in use by the service perimeter '{perimeter.id}'",
                    "Take it out of the perimeter first. With create_before_destroy Terraform does so.",
                    verb="deleting",
                )


def perimeter_of(cloud: Cloud, item: CloudObject) -> CloudObject | None:
    """The perimeter whose rules are checked again when a membership in it changes; None for all else."""
    if item.type not in MEMBERSHIPS:
        return None
    return cloud.get(PERIMETER, str(item.attributes.get("perimeter_name")))


def _check_titles(item: CloudObject, config: Mapping[str, Any]) -> None:
    titles = Counter(title for rules in _RULES for title in values_at(config, f"{rules}.title") if title)
    repeated = sorted(title for title, number in titles.items() if number > 1)
    if repeated:
        raise _bad(
            item,
            f"Duplicate title '{repeated[0]}' in the policies of the service perimeter",
            "Titles of ingress and egress rules are unique in a perimeter.",
        )


def _check_targets(item: CloudObject, config: Mapping[str, Any]) -> None:
    inside = {"*", *(config.get("resources") or ())}
    for targets in values_at(config, "ingress_policies.ingress_to.resources"):
        for target in targets or ():
            if target not in inside:
                raise _bad(
                    item,
                    f"The resource '{target}' in ingressTo is not in the service perimeter",
                    "Ingress rules lead to projects of the perimeter. Add the project first.",
                )


def _check_levels(cloud: Cloud, item: CloudObject, config: Mapping[str, Any]) -> None:
    """Those of a policy that is not in this cloud are somebody else's, and taken to be there."""
    for level in _levels_in(config):
        policy = level.removeprefix("accessPolicies/").partition("/")[0]
        if cloud.get(POLICY, policy) and cloud.get(LEVEL, level) is None:
            raise _bad(
                item, f"The access level '{level}' does not exist", "Create it first, and refer to its name."
            )


def _check_elsewhere(cloud: Cloud, item: CloudObject) -> None:
    own = _enforced(item)
    for other in cloud.all(PERIMETER):
        both = sorted(own & _enforced(other)) if other.id != item.id else []
        if both:
            raise _bad(
                item,
                f"'{both[0]}' is in the service perimeter '{other.id}' already",
                "A project or network is in one enforced perimeter only.",
            )


def _configs(item: CloudObject) -> Iterator[Mapping[str, Any]]:
    for name in _CONFIGS:
        yield from item.attributes.get(name) or ()


def _enforced(item: CloudObject) -> set[str]:
    return {one for config in item.attributes.get("status") or () for one in config.get("resources") or ()}


def _levels(item: CloudObject) -> set[str]:
    return {level for config in _configs(item) for level in _levels_in(config)}


def _levels_in(config: Mapping[str, Any]) -> Iterator[str]:
    for path in _LEVELS:
        for value in values_at(config, path):
            for level in value if isinstance(value, list) else [value]:
                if level and level != "*":
                    yield level


def _bad(item: CloudObject, text: str, advice: str, verb: str = "creating") -> Refused:
    return Refused(f"Error {verb} {item.type}: googleapi: Error 400: {text}, badRequest", advice)
