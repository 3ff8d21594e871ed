"""Organization policies of an environment: what nobody in it can do, whatever roles they hold.

They stand on the environment's folder, so that a new project is made under them: it then has no default
network and no default account that is Editor from its first minute on. An existing project stays in the
folder where it is, beside others; there they stand on the project alone.

All policies of one parent are made one after the other: the service answers 409 to changes at the same time.
What belongs under them depends on the last one. They take effect within minutes, not at once (Organization
Policy docs, "Creating and managing organization policies").

A constraint that Google does not have is made in the organization, once for all environments; its name has
the platform's in it, since another platform may make one too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.naming import terraform_name
from groundplan.blueprints.org_policies import SKIP_DEFAULT_NETWORK, effective
from groundplan.facts.org_policies import org_policies
from groundplan.modules.graph import Graph, Reference, Resource, Text, text

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint, Environment, OrgPolicy
    from groundplan.modules.project import Project

#: Rule flags are texts to the provider; a real boolean is refused.
_RULES: dict[str, dict[str, str]] = {
    "enforced": {"enforce": "TRUE"},
    "off": {"enforce": "FALSE"},
    "allow-all": {"allow_all": "TRUE"},
    "deny-all": {"deny_all": "TRUE"},
}


def add_custom_constraints(graph: Graph, blueprint: Blueprint, seed: Project) -> dict[str, Reference]:
    """Add the constraints of our own that any environment uses; constraint → its name in the organization."""
    used = {name for env in blueprint.environments.values() for name in effective(env)}
    made: dict[str, Reference] = {}
    last: list[Resource] = []
    for name in sorted(used & set(org_policies().custom)):
        custom = org_policies().custom[name]
        constraint = graph.add(
            "google_org_policy_custom_constraint",
            _slug(name),
            parent=f"organizations/{blueprint.organization}",
            name=_custom_name(blueprint.name, name),
            display_name=custom.title,
            description=org_policies().constraints[name].why,
            resource_types=[custom.resource],
            method_types=["CREATE", "UPDATE"],
            condition=custom.condition,
            action_type="DENY",
            depends_on=last or seed.services.needs("orgpolicy"),
        )
        made[name] = constraint["name"]
        last = [constraint]
    return made


def add_org_policies(
    graph: Graph,
    env: Environment,
    parent: str | Reference | Text,
    custom: Mapping[str, Reference],
    seed: Project,
) -> tuple[Resource, ...]:
    """Add the policies of an environment; what belongs under them depends on what is returned.

    Args:
        graph: the foundation's.
        env: the environment.
        parent: ``folders/NUMBER`` or ``projects/ID``.
        custom: what ``add_custom_constraints`` returned.
        seed: whose API is called.
    """
    last: tuple[Resource, ...] = seed.services.needs("orgpolicy")
    policies = effective(env)
    for name, policy in policies.items():
        constraint = custom.get(name, name)
        added = graph.add(
            "google_org_policy_policy",
            terraform_name(env.name, _slug(name)),
            name=text(parent, "/policies/", constraint),
            parent=parent,
            spec={"rules": [_rule(policy)]},
            depends_on=last,
        )
        last = (added,)
    return last if policies else ()


def skips_default_network(env: Environment) -> bool:
    """Whether a new project in the environment's folder comes without the default network."""
    policy = effective(env).get(SKIP_DEFAULT_NETWORK)
    return policy is not None and policy.kind == "enforced"


def _rule(policy: OrgPolicy) -> dict[str, Any]:
    if policy.kind in _RULES:
        return dict(_RULES[policy.kind])
    lists = {"allowed_values": sorted(set(policy.allow)), "denied_values": sorted(set(policy.deny))}
    return {"values": {name: values for name, values in lists.items() if values}}


def _slug(constraint: str) -> str:
    """A constraint as part of a resource's name: no two differ in the dots only."""
    return constraint.replace(".", "-")


def _custom_name(platform: str, constraint: str) -> str:
    """``custom.gkeNodeAutoRepair`` of the platform ``my-llm`` is ``custom.myLlmGkeNodeAutoRepair``."""
    first, *words = platform.split("-")
    what = constraint.removeprefix("custom.")
    return f"custom.{first}{''.join(map(str.capitalize, words))}{what[0].upper()}{what[1:]}"
