"""Rules of service perimeters: who may pass, from where, to what.

Neither the provider nor Terraform looks into them before an apply.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from groundplan.blueprints import perimeter_rules as words
from groundplan.blueprints.model import PerimeterRule
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.tree import Path
from groundplan.blueprints.words import closest
from groundplan.facts.restricted_services import restricted_services
from groundplan.facts.services import api

RULES = "Google Cloud docs, VPC Service Controls, Ingress and egress rules"
IDENTITIES = "Google Cloud docs, VPC Service Controls, Supported identities"
METHODS = "Google Cloud docs, VPC Service Controls, Supported service method restrictions"

PERMISSION = re.compile(r"[a-z][A-Za-z0-9]*(\.[a-zA-Z][A-Za-z0-9]*){2,}")
#: Methods of most services: ``ArtifactRegistry.GetTag``, ``artifactregistry.googleapis.com/DockerRead``.
METHOD = re.compile(r"([A-Za-z][A-Za-z0-9_]*\.)+[A-Za-z][A-Za-z0-9_]*|[a-z.]+\.googleapis\.com/[A-Za-z0-9]+")


@dataclass(frozen=True)
class WrittenRule:
    """One rule with its place and its direction."""

    path: Path
    direction: str  #: ingress or egress
    key: str
    rule: PerimeterRule


def written_rules(view: EnvironmentView) -> Iterator[WrittenRule]:
    """Every ingress and egress rule, those on trial too."""
    perimeter = view.environment.perimeter
    yield from _directed(("perimeter",), "ingress", perimeter.ingress)
    yield from _directed(("perimeter",), "egress", perimeter.egress)
    if perimeter.dry_run:
        trial = ("perimeter", "dry_run")
        yield from _directed(trial, "ingress", perimeter.dry_run.ingress or {})
        yield from _directed(trial, "egress", perimeter.dry_run.egress or {})


def _directed(start: Path, direction: str, rules: Mapping[str, PerimeterRule]) -> Iterator[WrittenRule]:
    for key, rule in rules.items():
        yield WrittenRule((*start, direction, key), direction, key, rule)


@environment_rule("PM001", "a rule says by identities or by their type who may pass", source=RULES)
def who(view: EnvironmentView) -> Iterator[Problem]:
    """Access Context Manager refuses a rule with neither or both, only at apply."""
    for one in written_rules(view):
        from_ = one.rule.from_
        if from_.identities and from_.identity_type:
            yield Problem(
                (*one.path, "from", "identity_type"),
                "`identities` and `identity_type` cannot both be written",
                "Keep `identities`, which says more.",
                related=(("identities", (*one.path, "from", "identities")),),
                at_key=True,
            )
        elif not from_.identities and not from_.identity_type:
            yield Problem(
                one.path,
                f"the rule `{one.key}` does not say who may pass",
                "Write `from: {identities: [...]}`, or `identity_type: any-service-account` and the like.",
                at_key=True,
            )


@environment_rule("PM002", "identities are written with their kind", source=IDENTITIES)
def identities(view: EnvironmentView) -> Iterator[Problem]:
    """Access Context Manager knows people, groups, service accounts and the identities of pools."""
    for one in written_rules(view):
        for index, identity in enumerate(one.rule.from_.identities):
            if not words.IDENTITY.fullmatch(identity):
                yield Problem(
                    (*one.path, "from", "identities", index),
                    f"`{identity}` is no identity that a perimeter knows",
                    _kind(identity, "user:, group:, serviceAccount:, principal:// or principalSet://"),
                )


def _kind(identity: str, kinds: str) -> str:
    if re.fullmatch(r"[^\s:@]+@\S+\.gserviceaccount\.com", identity):
        return f"Write serviceAccount:{identity}."
    if re.fullmatch(r"[^\s:@]+@\S+", identity):
        return f"Write what it is before it, as in user:{identity}."
    return f"It begins with {kinds}."


@environment_rule("PM003", "rules name services that the perimeter restricts", source=RULES)
def services(view: EnvironmentView) -> Iterator[Problem]:
    """A rule for another service has no effect; a misspelt one is refused at apply."""
    rules = list(written_rules(view))
    closed = sorted(_restricted(view)) if rules else []
    for one in rules:
        path = (*one.path, "to", "services")
        for service, what in one.rule.to.services.items():
            if service == "*" and (what.methods or what.permissions):
                yield Problem((*path, service), "all services have no methods in common", "Write `{}`.")
            elif service != "*" and service not in closed:
                yield Problem(
                    (*path, service),
                    f"the perimeter does not restrict `{service}`",
                    likely(service, closed) or _not_in_list(),
                    at_key=True,
                )


def _restricted(view: EnvironmentView) -> set[str]:
    """All that some form of the perimeter could restrict: what is supported, and what the blueprint adds."""
    perimeter = view.environment.perimeter
    trial = perimeter.dry_run.restricted_services.add if perimeter.dry_run else ()
    gone = set(perimeter.restricted_services.remove)
    return ({*restricted_services().supported, *perimeter.restricted_services.add} - gone) | {*trial}


def likely(service: str, known: Collection[str]) -> str:
    """The service that was probably meant, as a hint; nothing where none is near."""
    if (full := api(service)) in known and full != service:
        return f"Write {full}."
    names = [one.partition(".")[0] for one in known]
    close = closest(service.partition(".")[0], names, 0.75)
    return f"Did you mean `{api(close)}`?" if close else ""


def _not_in_list() -> str:
    return (
        f"VPC Service Controls cannot protect it, as of {restricted_services().checked}. "
        "If it can by now, add it to `restricted_services`."
    )


@environment_rule("PM004", "methods and permissions are those of their service", source=METHODS)
def methods(view: EnvironmentView) -> Iterator[Problem]:
    """A method that does not exist is refused at apply, or lets nothing pass."""
    for one in written_rules(view):
        for service, what in one.rule.to.services.items():
            path = (*one.path, "to", "services", service)
            for index, method in enumerate(what.methods):
                if mistake := _method_mistake(service, method):
                    message = f"`{method}` is no method of {service}"
                    yield Problem((*path, "methods", index), message, mistake)
            for index, permission in enumerate(what.permissions):
                if not PERMISSION.fullmatch(permission):
                    yield Problem(
                        (*path, "permissions", index),
                        f"`{permission}` is no permission",
                        "A permission is written bigquery.tables.getData.",
                    )


def _method_mistake(service: str, method: str) -> str:
    """What is wrong with a method; empty if nothing is, as far as it is known."""
    if method == "*":
        return ""
    facts = restricted_services()
    known, form = facts.methods.get(service, ()), facts.method_forms.get(service)
    if method in known:
        return ""
    if close := difflib.get_close_matches(method, known, n=1, cutoff=0.93):
        return f"Did you mean `{close[0]}`?"
    if form and not re.fullmatch(form.pattern, method):
        return f"Methods of it are written {form.example}."
    owner = next((other for other, names in facts.methods.items() if method in names), service)
    if owner != service:
        return f"It is one of {owner}."
    return "" if METHOD.fullmatch(method) else "A method is written ArtifactRegistry.GetRepository."


@environment_rule("PM005", "a rule says what it opens", source=RULES)
def what(view: EnvironmentView) -> Iterator[Problem]:
    """Access Context Manager wants services or roles, never both, and the projects that they are in."""
    for one in written_rules(view):
        to = one.rule.to
        if to.services and to.roles:
            yield Problem(
                (*one.path, "to", "roles"), "`services` and `roles` cannot both be written", at_key=True
            )
        elif not to.services and not to.roles:
            hint = "Write `to: {services: {storage.googleapis.com: {}}}`, or `roles`."
            yield Problem(one.path, f"the rule `{one.key}` opens nothing", hint, at_key=True)
        elif not to.resources:
            hint = 'Write `to: {resources: ["*"]}`, or projects.'
            yield Problem(one.path, f"the rule `{one.key}` names no projects", hint, at_key=True)


@environment_rule("PM006", "rules lead to projects on the right side of the perimeter", source=RULES)
def targets(view: EnvironmentView) -> Iterator[Problem]:
    """A target of an ingress rule that is not inside is refused at apply (error 400)."""
    own = f"projects/{view.environment.project_id}"
    platform = {f"projects/{env.project_id}" for env in view.blueprint.environments.values()}
    for one in written_rules(view):
        for index, target in enumerate(one.rule.to.resources):
            place = (*one.path, "to", "resources", index)
            if target == "*":
                continue
            if one.direction == "ingress" and target != own:
                message = f"`{target}` is not in the perimeter of `{view.environment.name}`"
                yield Problem(place, message, f'Write {own}, or "*".')
            elif one.direction == "egress" and target == own:
                yield Problem(place, f"`{target}` is inside the perimeter", "It needs no rule to be reached.")
            elif one.direction == "egress" and not words.is_number(target) and target not in platform:
                yield Problem(place, f"`{target}` is no project number", _NUMBER)


_NUMBER = "Perimeters know projects by number: projects/123456789012."


@environment_rule("PM007", "titles of rules are unique and have at most 100 characters", source=RULES)
def titles(view: EnvironmentView) -> Iterator[Problem]:
    """Access Context Manager refuses a second rule of one title, ingress or egress, and longer titles."""
    generated = words.AUTOMATION if view.blueprint.foundation else ""
    taken: dict[tuple[Path, str], Path] = {}
    for one in written_rules(view):
        length = len(view.environment.name) + 1 + len(one.key)
        if length > words.TITLE_LIMIT:
            hint = f"A title has at most {words.TITLE_LIMIT}, the environment's name and a blank included."
            yield Problem(one.path, f"the title of this rule has {length} characters", hint, at_key=True)
        if one.key == generated:
            message = f"`{one.key}` is the title of the rule for the identities that plan and apply"
            yield Problem(one.path, message, "Choose another one.", at_key=True)
        first = taken.setdefault((one.path[:-2], one.key), one.path)
        if first != one.path:
            yield Problem(
                one.path,
                f"there is an {first[-2]} rule `{one.key}` already",
                "Titles are unique in a perimeter.",
                related=(("the other one", first),),
                at_key=True,
            )


@environment_rule("PM008", "sources are access levels, projects or networks", source=RULES)
def sources(view: EnvironmentView) -> Iterator[Problem]:
    """Access Context Manager refuses anything else at apply."""
    platform = {f"projects/{env.project_id}" for env in view.blueprint.environments.values()}
    for one in written_rules(view):
        for index, source in enumerate(one.rule.from_.sources):
            place = (*one.path, "from", "sources", index)
            if source == "*" or words.LEVEL.fullmatch(source) or words.NETWORK.fullmatch(source):
                continue
            if words.project_path(source) is None:
                message = f"`{source}` is no source"
                yield Problem(place, message, "Write access_levels/NAME, projects/NUMBER or a VPC network.")
            elif not words.is_number(source) and source not in platform:
                yield Problem(place, f"`{source}` is no project number", _NUMBER)
