"""Service perimeters as a whole: what they hold, what they close, and whether they are enforced."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping

from groundplan.blueprints import perimeter_rules as words
from groundplan.blueprints.model import AccessCondition, PerimeterRule, RestrictedServices
from groundplan.blueprints.rules.base import (
    BlueprintView,
    EnvironmentView,
    Problem,
    blueprint_rule,
    environment_rule,
)
from groundplan.blueprints.rules.passage import likely, written_rules
from groundplan.blueprints.tree import Path
from groundplan.facts.restricted_services import restricted_services
from groundplan.facts.services import api, needed

RULES = "Google Cloud docs, VPC Service Controls, Ingress and egress rules"
SERVICES = "Google Cloud docs, VPC Service Controls, Supported products and limitations"
LEVELS = "Google Cloud docs, Access Context Manager, AccessLevel"
PERIMETERS = "Google Cloud docs, VPC Service Controls, Service perimeter configuration"
DRY_RUN = "Google Cloud docs, VPC Service Controls, Dry run mode"
SCOPED = "Google Cloud docs, Access Context Manager, Scoped policies"
HERE = "The blueprint language"

#: Only Google's own network routes these; requests from them arrive with another source.
PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))


@environment_rule("PM009", "a trial stands beside an enforced perimeter", source=DRY_RUN)
def trial(view: EnvironmentView) -> Iterator[Problem]:
    """A perimeter that is itself a dry run has nothing to be tried beside."""
    perimeter = view.environment.perimeter
    if perimeter.dry_run and perimeter.mode != "enforced":
        yield Problem(
            ("perimeter", "dry_run"),
            f"there is no enforced perimeter beside the trial; the mode is {perimeter.mode}",
            "Write what you want to try in the perimeter itself.",
            at_key=True,
        )


@environment_rule("PM010", "a perimeter of somebody else gets the project and nothing else", source=HERE)
def existing(view: EnvironmentView) -> Iterator[Problem]:
    """Two writers of one perimeter undo each other. Without a mode the project would not be in it."""
    perimeter = view.environment.perimeter
    if perimeter.existing is None:
        return
    if not words.PERIMETER.fullmatch(perimeter.existing):
        message = f"`{perimeter.existing}` is no name of a perimeter"
        hint = "It is written accessPolicies/NUMBER/servicePerimeters/NAME."
        yield Problem(("perimeter", "existing"), message, hint)
    if perimeter.mode == "none":
        yield Problem(
            ("perimeter", "existing"),
            "the perimeter is named, and the environment's project is not in it",
            "Write `mode: enforced`, or `mode: dry-run` for its dry run.",
        )
    own = {
        "access_levels": perimeter.access_levels,
        "access_policy": perimeter.access_policy,
        "dry_run": perimeter.dry_run,
        "egress": perimeter.egress,
        "ingress": perimeter.ingress,
        "restricted_services": perimeter.restricted_services.add or perimeter.restricted_services.remove,
    }
    for key, value in own.items():
        if value:
            hint = "Whoever owns the perimeter says that."
            yield Problem(("perimeter", key), f"`{key}` cannot be beside `existing`", hint, at_key=True)


@environment_rule("PM011", "access levels have conditions that hold for somebody", source=LEVELS)
def levels(view: EnvironmentView) -> Iterator[Problem]:
    """An empty condition and a private address range are refused at apply."""
    for key, level in view.environment.perimeter.access_levels.items():
        path: Path = ("perimeter", "access_levels", key)
        if bool(level.any_of) == bool(level.all_of):
            hint = "Write one of `any_of` and `all_of`."
            both = "both `any_of` and `all_of`" if level.any_of else "no condition"
            yield Problem(path, f"the access level `{key}` has {both}", hint, at_key=True)
        for kind, conditions in (("any_of", level.any_of), ("all_of", level.all_of)):
            for index, condition in enumerate(conditions):
                yield from _condition((*path, kind, index), condition)


def _condition(path: Path, condition: AccessCondition) -> Iterator[Problem]:
    if not (condition.ip_ranges or condition.members or condition.regions):
        yield Problem(path, "the condition says nothing", "Write `ip_ranges`, `members` or `regions`.")
    for index, text in enumerate(condition.ip_ranges):
        if mistake := _range_mistake(text):
            yield Problem((*path, "ip_ranges", index), f"`{text}` cannot be a source of requests", mistake)
    for index, text in enumerate(condition.members):
        if not words.MEMBER.fullmatch(text):
            hint = "Access levels know people and service accounts: user: and serviceAccount:."
            yield Problem((*path, "members", index), f"`{text}` cannot be in an access level", hint)
    for index, text in enumerate(condition.regions):
        if not re.fullmatch(r"[A-Z]{2}", text):
            hint = "A region is the code of a country, ISO 3166-1: DE."
            yield Problem((*path, "regions", index), f"`{text}` is no region", hint)


def _range_mistake(text: str) -> str:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        return "A range has a prefix length and no host bits: 203.0.113.0/24."
    if isinstance(network, ipaddress.IPv4Network) and any(network.subnet_of(one) for one in PRIVATE):
        return "Google's APIs see public addresses; requests from a VPC have its network as their source."
    return ""


@environment_rule("PM012", "production's perimeter is enforced", source=DRY_RUN, severity="warning")
def unenforced(view: EnvironmentView) -> Iterator[Problem]:
    """A dry run only logs what it would have refused."""
    env = view.environment
    if env.tier == "production" and env.perimeter.mode == "dry-run":
        hint = "Look at the logged violations, then write `mode: enforced`: an update of one word."
        yield Problem(("perimeter", "mode"), f"the perimeter of `{env.name}` protects nothing yet", hint)


@blueprint_rule("PM013", "each environment has a perimeter of its own", source=HERE)
def shared(view: BlueprintView) -> Iterator[Problem]:
    """Inside of one perimeter everything reaches everything, so nothing keeps two environments apart."""
    yield from _same(view, "existing", "the perimeter {0} is that of `{1}` too")


@blueprint_rule(
    "PM014", "each environment has an access policy of its own", source=SCOPED, severity="warning"
)
def shared_policy(view: BlueprintView) -> Iterator[Problem]:
    """Who may change a policy may change every perimeter in it, and applies of both collide."""
    yield from _same(view, "access_policy", "the access policy {0} is that of `{1}` too")


def _same(view: BlueprintView, key: str, message: str) -> Iterator[Problem]:
    taken: dict[str, Path] = {}
    for name, environment in view.blueprint.environments.items():
        written = getattr(environment.perimeter, key)
        path = ("environments", name, "perimeter", key)
        if written and environment.perimeter.mode != "none":
            number = written.removeprefix("accessPolicies/")
            first = taken.setdefault(number, path)
            if first != path:
                yield Problem(
                    path,
                    message.format(written, first[1]),
                    "Give each environment its own.",
                    related=(("the other one", first),),
                )


@environment_rule("PM015", "access levels are used", source=RULES, severity="warning")
def unused(view: EnvironmentView) -> Iterator[Problem]:
    """An access level opens nothing until a rule names it as a source."""
    used = {source for one in written_rules(view) for source in one.rule.from_.sources}
    for key in view.environment.perimeter.access_levels:
        if f"access_levels/{key}" not in used:
            hint = f"Name it in a rule: `from: {{sources: [access_levels/{key}]}}`."
            yield Problem(
                ("perimeter", "access_levels", key), f"no rule lets `{key}` pass", hint, at_key=True
            )


@environment_rule("PM016", "changes to restricted services change something", source=SERVICES)
def changes(view: EnvironmentView) -> Iterator[Problem]:
    """A misspelt name would leave open what was meant to be closed, or the other way round."""
    perimeter = view.environment.perimeter
    known = restricted_services().supported if "perimeter" in view.tree.entries else frozenset()
    added = perimeter.restricted_services.add
    places: list[tuple[Path, RestrictedServices]] = [
        (("perimeter", "restricted_services"), perimeter.restricted_services)
    ]
    if perimeter.dry_run:
        places.append(
            (("perimeter", "dry_run", "restricted_services"), perimeter.dry_run.restricted_services)
        )
    for path, written in places:
        for index, service in enumerate(written.add):
            if not words.SERVICE.fullmatch(service):
                hint = likely(service, known) or _LIKE
                yield Problem((*path, "add", index), f"`{service}` is no service", hint)
            elif service not in known and (close := likely(service, known)):
                yield Problem((*path, "add", index), f"VPC Service Controls has no `{service}`", close)
        for index, service in enumerate(written.remove):
            if service not in (*known, *added):
                hint = likely(service, known) or _LIKE
                yield Problem((*path, "remove", index), f"`{service}` is not restricted anyway", hint)


_LIKE = "A service is written storage.googleapis.com."


@environment_rule(
    "PM017", "the services that the environment uses are restricted", source=SERVICES, severity="warning"
)
def opened(view: EnvironmentView) -> Iterator[Problem]:
    """What a service holds that is used and not restricted can be taken out through it."""
    env = view.environment
    used = {api(name) for name in env.apis}
    used.update(needed("network", "cluster") if env.clusters else ())
    used.update(needed("buckets") if env.storage.buckets else ())
    for index, service in enumerate(env.perimeter.restricted_services.remove):
        if service in used:
            yield Problem(
                ("perimeter", "restricted_services", "remove", index),
                f"`{env.name}` uses {service}, and its perimeter would not protect it",
                "Let in who needs it by an ingress rule instead. Without it, nodes cannot reach it either.",
            )


@environment_rule("PM018", "somebody outside can still change an enforced perimeter's project", source=HERE)
def locked_out(view: EnvironmentView) -> Iterator[Problem]:
    """The first plan after such an apply is refused, and the perimeter can only be changed around it."""
    perimeter = view.environment.perimeter
    inside = perimeter.existing or view.blueprint.foundation or perimeter.ingress
    if perimeter.mode == "enforced" and not inside:
        yield Problem(
            ("perimeter", "mode"),
            "nobody outside of the perimeter could plan or apply any more",
            "Write an ingress rule for who does, or a `foundation:`, whose identities get one.",
        )


@environment_rule("PM019", "requests to other projects are let out", source=PERIMETERS, severity="warning")
def leaving(view: EnvironmentView) -> Iterator[Problem]:
    """What is in other projects is outside of the perimeter: requests for it are refused."""
    perimeter = view.environment.perimeter
    if perimeter.mode == "none" or perimeter.existing or perimeter.egress:
        return
    for path, project, service in _outside(view):
        yield Problem(
            path,
            f"the project {project} is outside of the perimeter, and no egress rule leads to it",
            "Write one: `egress: {NAME: {from: {identity_type: any}, to: {resources: [projects/NUMBER], "
            f"services: {{{service}: {{}}}}}}}}}}`.",
        )


def _outside(view: EnvironmentView) -> Iterator[tuple[Path, str, str]]:
    """What the environment takes from projects of others: where, the project, the service."""
    own = view.environment.project_id
    for path, _, pool in view.pools():
        held = pool.capacity.reservation
        if held and held.project and held.project != own:
            yield (*path, "capacity"), held.project, "compute.googleapis.com"
        for index, image in enumerate(pool.preload):
            if (project := _project(image)) not in ("", own):
                yield (*path, "preload", index), project, "compute.googleapis.com"
    for region, key in view.environment.encryption.keys.items():
        if (project := _project(key)) not in ("", own):
            yield ("encryption", "keys", region), project, "cloudkms.googleapis.com"


def _project(name: str) -> str:
    """The project of ``projects/ID/…``; empty if it names none."""
    match = words.PROJECT.match(name)
    return match[1] if match else ""


@environment_rule("PM020", "people who may do something get in", source=RULES, severity="warning")
def people_outside(view: EnvironmentView) -> Iterator[Problem]:
    """Whatever roles people have, an enforced perimeter refuses them from outside without an ingress rule."""
    access, perimeter = view.environment.access, view.environment.perimeter
    if perimeter.mode != "enforced" or perimeter.existing:
        return
    people = (access.operators, access.ml_engineers, access.data_scientists, access.auditors)
    if any(people) and not any(_lets_people_in(rule) for rule in perimeter.ingress.values()):
        yield Problem(
            ("access",),
            f"the perimeter of `{view.environment.name}` lets none of its people in",
            "Write an ingress rule: `ingress: {people: {from: {identities: [group:…], "
            "sources: [access_levels/NAME]}, to: …}}`.",
            at_key=True,
        )


def _lets_people_in(rule: PerimeterRule) -> bool:
    kinds = ("user:", "group:", "principal")
    named = any(identity.startswith(kinds) for identity in rule.from_.identities)
    return named or rule.from_.identity_type in ("any", "any-user")


@blueprint_rule("PM021", "perimeters let crossings through", source=PERIMETERS, severity="warning")
def crossings(view: BlueprintView) -> Iterator[Problem]:
    """What crosses leaves one perimeter and enters another: each wants a rule, whatever IAM says."""
    for key, crossing in view.blueprint.crossings.items():
        source, reader = map(view.blueprint.environments.get, (crossing.from_, crossing.to))
        if source is None or reader is None or source is reader:
            continue
        service = "bigquery" if crossing.read.startswith("bigquery/") else "storage"
        for inside, outside, direction in ((source, reader, "ingress"), (reader, source, "egress")):
            perimeter = inside.perimeter
            if perimeter.mode != "enforced" or perimeter.existing:
                continue
            project = f"projects/{outside.project_id}"
            if not _passes(getattr(perimeter, direction), direction, project):
                yield Problem(
                    ("crossings", key),
                    f"the perimeter of `{inside.name}` has no {direction} rule for it",
                    _rule_for(direction, project, f"projects/{inside.project_id}", service),
                    at_key=True,
                )


def _passes(rules: Mapping[str, PerimeterRule], direction: str, project: str) -> bool:
    """Whether some rule may be meant for the other project; one that names any by number may be."""
    for rule in rules.values():
        named = rule.from_.sources if direction == "ingress" else rule.to.resources
        if not named or any(one in ("*", project) or words.is_number(one) for one in named):
            return True
    return False


def _rule_for(direction: str, other: str, own: str, service: str) -> str:
    source, target = (f", sources: [{other}]", own) if direction == "ingress" else ("", other)
    return (
        f"Write one: `{direction}: {{NAME: {{from: {{identity_type: any{source}}}, "
        f"to: {{resources: [{target}], services: {{{service}.googleapis.com: {{}}}}}}}}}}`."
    )
