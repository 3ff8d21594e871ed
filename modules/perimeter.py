"""The service perimeter around an environment's project: which Google APIs answer to whom, from where.

A perimeter closes the restricted services of its project: requests from outside need an ingress rule,
requests to other projects an egress rule, whatever IAM says (Google Cloud docs, "VPC Service Controls
overview"). It belongs to one environment, and only this stack writes it, rules included: separate resources
for members or rules would undo each other on every apply, and parallel writers lose updates (provider docs,
google_access_context_manager_service_perimeter_resource).

``dry-run`` fills ``spec``, which only logs; ``enforced`` fills ``status``. Both are attributes of one
resource, so moving from one to the other is an update. A trial beside an enforced perimeter is ``spec`` and
``status`` together.

Order: the perimeter comes after the service accounts that rules may name and after the routes to the
restricted addresses, and goes before them. Access Context Manager refuses a change of a perimeter whose
rules name an account that is gone, so the other way round nothing could be destroyed any more. Access
levels are replaced before they are deleted, since one that is in use cannot be; rules cannot, because two
of one title are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundplan.blueprints.naming import account_id, shorten
from groundplan.blueprints.perimeter_rules import AUTOMATION, project_path
from groundplan.errors import UsageError
from groundplan.facts.restricted_services import restricted
from groundplan.modules.graph import Graph, Lifecycle, Reference, Resource, Stack, Text, text

if TYPE_CHECKING:
    from groundplan.blueprints.model import AccessCondition, AccessLevel, Environment, PerimeterRule, RuleFrom

PERIMETER = "google_access_context_manager_service_perimeter"

NAME_LIMIT = 50  #: Access Context Manager: names of access levels and perimeters have at most 50 characters

#: Stands where the number of an access policy is not known yet. It is no policy, so nothing real fits it.
UNKNOWN_POLICY = "accessPolicies/apply-the-foundation-first"

IDENTITY_TYPES = {
    "any": "ANY_IDENTITY",
    "any-user": "ANY_USER_ACCOUNT",
    "any-service-account": "ANY_SERVICE_ACCOUNT",
}

#: The project of an environment by its name in rules: ``projects/123``, known or not.
Numbers = Callable[[str], str | Text]


@dataclass(frozen=True, slots=True)
class _Perimeter:
    """What all parts of a perimeter are made from."""

    env: Environment
    levels: Mapping[str, Resource]
    number: Numbers
    inside: tuple[str | Text, ...]  #: the project and the VPC networks of others that it uses
    automation: tuple[str, ...]  #: members that plan and apply this environment from outside


def add_perimeter(
    graph: Graph,
    env: Environment,
    *,
    policy: str | None,
    number: Numbers,
    used: Iterable[str],
    seed: str | None,
    depends_on: Sequence[Resource],
) -> Resource | None:
    """Add the environment's perimeter with its access levels, or put the project into an existing one.

    Args:
        graph: where to.
        env: the environment.
        policy: its access policy, ``123`` or ``accessPolicies/123``; None if nobody knows it yet.
        number: from ``projects/ID`` in rules to ``projects/NUMBER``.
        used: the APIs that it uses, by full name.
        seed: the project of the identities that plan and apply; None if there are none.
        depends_on: what must exist before.

    Returns:
        The perimeter, or the membership in one; None for no perimeter.
    """
    perimeter = env.perimeter
    if perimeter.mode == "none":
        return None
    own = number(f"projects/{env.project_id}")
    with graph.at("perimeter"):
        if perimeter.existing:
            dry = "dry_run_" if perimeter.mode == "dry-run" else ""
            return graph.add(
                f"{PERIMETER}_{dry}resource",
                "main",
                perimeter_name=perimeter.existing,
                resource=own,
                depends_on=depends_on,
            )
        parent = policy_name(policy)
        levels = {key: _level(graph, env, parent, key) for key in sorted(perimeter.access_levels)}
        parts = _Perimeter(env, levels, number, (own, *_networks(env)), _automation(env, seed))
        services = set(used)
        whole = _config(parts, services, perimeter.ingress, perimeter.egress)
        name = _name(env)
        return graph.add(
            PERIMETER,
            "main",
            parent=parent,
            name=f"{parent}/servicePerimeters/{name}",
            title=name,
            perimeter_type="PERIMETER_TYPE_REGULAR",
            status=whole if perimeter.mode == "enforced" else None,
            spec=whole if perimeter.mode == "dry-run" else _trial(parts, services),
            use_explicit_dry_run_spec=True if perimeter.mode == "dry-run" or perimeter.dry_run else None,
            depends_on=depends_on,
        )


def policy_name(policy: str | None) -> str:
    """``accessPolicies/123`` of ``123`` or of itself; ``UNKNOWN_POLICY`` of nothing."""
    return f"accessPolicies/{policy.removeprefix('accessPolicies/')}" if policy else UNKNOWN_POLICY


def require_policy(stack: Stack) -> None:
    """A real plan of a perimeter needs the number of its access policy, which cannot be changed later.

    Offline it does without: any policy that the stand-in does not hold is taken to be somebody else's.

    Raises:
        UsageError: nobody knows it yet.
    """
    if any(one.attributes["parent"] == UNKNOWN_POLICY for one in stack.graph.of_type(PERIMETER)):
        raise UsageError(
            f"the access policy that the perimeter of {stack.name} stands in is not known yet",
            hint="Apply the foundation first, which makes it and writes its number into the lock file; "
            "or write `perimeter: {access_policy: NUMBER}`.",
        )


def _name(env: Environment, *parts: str) -> str:
    """``llm_ml_prod``: letters, digits and underscores, the environment in it, never two the same."""
    return shorten("-".join((env.platform, env.name, *parts)), NAME_LIMIT).replace("-", "_")


def _networks(env: Environment) -> tuple[str, ...]:
    """The VPC networks of other projects. The network's whole project may be other environments' too."""
    shared = env.network.existing
    if shared is None:
        return ()
    return (f"//compute.googleapis.com/projects/{shared.host_project}/global/networks/{shared.network}",)


def _automation(env: Environment, seed: str | None) -> tuple[str, ...]:
    """The accounts that the foundation makes in its own project to plan and to apply this environment."""
    if seed is None:
        return ()
    accounts = (account_id(env, env.name, task) for task in ("apply", "plan"))
    return tuple(f"serviceAccount:{account}@{seed}.iam.gserviceaccount.com" for account in accounts)


def _level(graph: Graph, env: Environment, parent: str, key: str) -> Resource:
    level = env.perimeter.access_levels[key]
    with graph.at("access_levels", key):
        return graph.add(
            "google_access_context_manager_access_level",
            key,
            parent=parent,
            name=f"{parent}/accessLevels/{_name(env, key)}",
            title=_name(env, key),
            basic={
                "combining_function": "OR" if level.any_of else "AND",
                "conditions": _conditions(level),
            },
            lifecycle=Lifecycle(create_before_destroy=True),
        )


def _conditions(level: AccessLevel) -> list[dict[str, Any]]:
    """Each once, and in an order of their own: that of the blueprint means nothing."""
    found = {json.dumps(one): one for one in map(_condition, (*level.any_of, *level.all_of))}
    return [found[text] for text in sorted(found)]


def _condition(condition: AccessCondition) -> dict[str, Any]:
    found = {
        "ip_subnetworks": _sorted(condition.ip_ranges),
        "members": _sorted(condition.members),
        "regions": _sorted(condition.regions),
    }
    return {key: values for key, values in found.items() if values}


def _trial(parts: _Perimeter, used: set[str]) -> dict[str, Any] | None:
    """The dry run beside an enforced perimeter: the same, but for what the overlay says."""
    perimeter, trial = parts.env.perimeter, parts.env.perimeter.dry_run
    if trial is None:
        return None
    return _config(
        parts,
        used,
        perimeter.ingress if trial.ingress is None else trial.ingress,
        perimeter.egress if trial.egress is None else trial.egress,
        add=trial.restricted_services.add,
        remove=trial.restricted_services.remove,
    )


def _config(
    parts: _Perimeter,
    used: set[str],
    ingress: Mapping[str, PerimeterRule],
    egress: Mapping[str, PerimeterRule],
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
) -> dict[str, Any]:
    """A ``status`` or a ``spec``. Inside, the network reaches the restricted services and no others."""
    wanted = parts.env.perimeter.restricted_services
    own = restricted(used, wanted.add, wanted.remove)
    titled = {**_automation_rule(parts), **{key: _ingress(parts, key, rule) for key, rule in ingress.items()}}
    return {
        "resources": list(parts.inside),
        "restricted_services": sorted({*own, *add} - {*remove}),
        "vpc_accessible_services": {"enable_restriction": True, "allowed_services": ["RESTRICTED-SERVICES"]},
        "ingress_policies": [titled[key] for key in sorted(titled)] or None,
        "egress_policies": [_egress(parts, key, egress[key]) for key in sorted(egress)] or None,
    }


def _title(parts: _Perimeter, key: str) -> str:
    return f"{parts.env.name} {key}"


def _automation_rule(parts: _Perimeter) -> dict[str, dict[str, Any]]:
    """The way in for planning and applying, which happens outside; IAM says what the two may do.

    All services: a service that leaves the blueprint must still be reached once, to delete what it made.
    """
    if not parts.automation:
        return {}
    rule = {
        "title": _title(parts, AUTOMATION),
        "ingress_from": {"identities": list(parts.automation), "sources": [{"access_level": "*"}]},
        "ingress_to": {"resources": [parts.inside[0]], "operations": [{"service_name": "*"}]},
    }
    return {AUTOMATION: rule}


def _ingress(parts: _Perimeter, key: str, rule: PerimeterRule) -> dict[str, Any]:
    sources = [_source(parts, source) for source in _sorted(rule.from_.sources)]
    return {
        "title": _title(parts, key),
        # Without a source nobody would get in; who names none means any place.
        "ingress_from": {**_who(rule.from_), "sources": sources or [{"access_level": "*"}]},
        "ingress_to": _to(parts, rule),
    }


def _egress(parts: _Perimeter, key: str, rule: PerimeterRule) -> dict[str, Any]:
    sources = [_source(parts, source) for source in _sorted(rule.from_.sources)]
    where = {"sources": sources, "source_restriction": "SOURCE_RESTRICTION_ENABLED"} if sources else {}
    return {
        "title": _title(parts, key),
        "egress_from": {**_who(rule.from_), **where},
        "egress_to": _to(parts, rule),
    }


def _who(from_: RuleFrom) -> dict[str, Any]:
    if from_.identity_type:
        return {"identity_type": IDENTITY_TYPES[from_.identity_type]}
    return {"identities": _sorted(from_.identities)}


def _source(parts: _Perimeter, source: str) -> dict[str, str | Text | Reference]:
    level = source.removeprefix("access_levels/")
    if source == "*":
        return {"access_level": "*"}
    if level != source:
        return {"access_level": parts.levels[level]["name"]}
    return {"resource": parts.number(source) if project_path(source) else source}


def _to(parts: _Perimeter, rule: PerimeterRule) -> dict[str, Any]:
    resources = [parts.number(one) if project_path(one) else one for one in _sorted(rule.to.resources)]
    what: dict[str, Any] = {"roles": _sorted(rule.to.roles)} if rule.to.roles else {}
    operations = [
        _operation(service, one.methods, one.permissions) for service, one in sorted(rule.to.services.items())
    ]
    return {"resources": resources, **({"operations": operations} if operations else {}), **what}


def _operation(service: str, methods: Sequence[str], permissions: Sequence[str]) -> dict[str, Any]:
    """One service. Named without anything, all of it is meant, which the API wants to be told."""
    if service == "*":
        return {"service_name": "*"}
    selectors = [{"method": method} for method in _sorted(methods)]
    selectors += [{"permission": permission} for permission in _sorted(permissions)]
    return {"service_name": service, "method_selectors": selectors or [{"method": "*"}]}


def _sorted(values: Iterable[str]) -> list[str]:
    return sorted(set(values))


def project_numbers(
    own: str, own_number: str | Reference, known: Mapping[str, str], look_up: Callable[[str], Reference]
) -> Numbers:
    """How rules name projects: by number, which the API wants, and of which the blueprint knows a few.

    Args:
        own: id of the environment's project.
        own_number: its number.
        known: id → number, of the platform's other projects.
        look_up: for those whose number is not known yet.
    """

    def number(path: str) -> str | Text:
        project = path.removeprefix("projects/")
        if project.isdigit():
            return path
        found = own_number if project == own else known.get(project) or look_up(project)
        return f"projects/{found}" if isinstance(found, str) else text("projects/", found)

    return number
