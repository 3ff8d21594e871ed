"""People: what each persona may do in an environment, by its tier.

The role table is a fact (``facts/personas.json``). A grant is always an additive member, never an
authoritative list: what others were granted stays. Who stands in two personas, or twice in one, gets each
role once.

Roles on the project are granted by the foundation, where there is one, so that the pipeline of an environment
can give nobody a role on it. Roles on single buckets, datasets and repositories are granted by the
environment's own stack, which makes these things. What exists already and is only used is not opened to
people: it may be anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundplan.blueprints.naming import terraform_name
from groundplan.facts.personas import Persona, rights
from groundplan.facts.roles import JOB_USER, short
from groundplan.modules.graph import Graph, Reference
from groundplan.modules.names import stack_name
from groundplan.modules.services import Services
from groundplan.modules.targets import GRANTS, Targets

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
#: IAM compares e-mail addresses and domains without regard to case, and stores them in lower case.
_CASELESS = ("user:", "group:", "domain:", "serviceAccount:")


@dataclass(frozen=True, slots=True)
class PersonGrant:
    """One role of one principal, and the key of the blueprint that asks for it."""

    principal: str
    role: str
    origin: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its part of a resource's name."""
        return terraform_name(principal_name(self.principal), short(self.role))


def normalised(principal: str) -> str:
    """A principal as IAM stores it: ``group:ML@example.com`` is ``group:ml@example.com``."""
    kind = next((kind for kind in _CASELESS if principal.startswith(kind)), None)
    return principal if kind is None else kind + principal[len(kind) :].lower()


def principal_name(principal: str) -> str:
    """A principal as part of a resource's name: readable, and different for different principals."""
    import hashlib

    digest = hashlib.sha256(principal.encode()).hexdigest()[:6]
    return f"{_NOT_IN_NAMES.sub('-', principal.lower()).strip('-')[:60].rstrip('-')}-{digest}"


def members(env: Environment, persona: Persona) -> list[str]:
    """The principals of a persona, normalised, each once, sorted."""
    written: tuple[str, ...] = getattr(env.access, persona)
    return sorted({normalised(principal) for principal in written})


def project_grants(env: Environment) -> list[PersonGrant]:
    """Every role that people have on the environment's project, each once, sorted."""
    found: dict[tuple[str, str], PersonGrant] = {}
    for principal, role, origin in _project_grants(env):
        found.setdefault((principal, role), PersonGrant(principal, role, origin))
    return [found[key] for key in sorted(found)]


def add_people(graph: Graph, env: Environment, project: str | Reference, services: Services) -> None:
    """Grant people their roles on the environment's project.

    Args:
        graph: the foundation's, or the environment's where there is no foundation.
        env: the environment.
        project: its project.
        services: the APIs of that project.
    """
    for grant in project_grants(env):
        with graph.at(*grant.origin):
            graph.add(
                "google_project_iam_member",
                terraform_name(env.name, grant.name),
                project=project,
                role=grant.role,
                member=grant.principal,
                depends_on=services.needs("cloudresourcemanager"),
            )


def open_to_people(graph: Graph, env: Environment, targets: Targets) -> None:
    """Grant people their roles on the single things that the environment makes."""
    for kind, things in targets.items():
        found: dict[tuple[str, str], Persona] = {}
        for persona, allowed in rights(env.tier).items():
            if role := allowed.things.get(kind):
                for principal in members(env, persona):
                    found.setdefault((principal, role), persona)
        for key, target in things.items():
            for (principal, role), persona in sorted(found.items()) if not target.item.existing else ():
                with graph.at("access", persona):
                    graph.add(
                        GRANTS[kind],
                        stack_name((key, target.item), principal_name(principal), short(role)),
                        role=role,
                        member=principal,
                        **target.attributes,
                    )


def _project_grants(env: Environment) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Principal, role, origin below the environment."""
    for persona, allowed in rights(env.tier).items():
        extra = (JOB_USER,) if "bigquery" in allowed.things and env.storage.bigquery else ()
        for principal in members(env, persona):
            for role in (*allowed.project, *extra):
                yield principal, role, ("access", persona)
    for principal, granted in env.access.grants.items():
        for role in granted:
            yield normalised(principal), role, ("access", "grants", principal)
