"""Which organization policies an environment gets: those of its preset, and its own over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.model import OrgPolicy
from groundplan.blueprints.tree import Path
from groundplan.facts.org_policies import Value, preset

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment

SKIP_DEFAULT_NETWORK = "compute.skipDefaultNetworkCreation"


def effective(env: Environment) -> dict[str, OrgPolicy]:
    """The policies of an environment by constraint, in alphabetical order."""
    policies = {name: _of(value, env) for name, value in preset(env.org_policies.preset).items()}
    policies |= env.org_policies.override
    return {name: policies[name] for name in sorted(policies) if policies[name].kind != "unset"}


def written_at(env: Environment, constraint: str) -> Path:
    """Where the blueprint asks for a policy: the constraint's own line, else that of the preset."""
    if constraint in env.org_policies.override:
        return ("org_policies", "override", constraint)
    return ("org_policies", "preset")


def regions(env: Environment) -> tuple[str, ...]:
    """The regions that an environment is in, sorted."""
    return tuple(sorted({env.region, *(env.cluster_region(cluster) for cluster in env.clusters.values())}))


def _of(value: Value, env: Environment) -> OrgPolicy:
    if value == "regions":
        value = {"allow": tuple(f"in:{region}-locations" for region in regions(env))}
    if isinstance(value, bool):
        return OrgPolicy(kind="enforced" if value else "off")
    if isinstance(value, str):
        return OrgPolicy.model_validate({"kind": value})
    return OrgPolicy(kind="values", allow=value.get("allow", ()), deny=value.get("deny", ()))
