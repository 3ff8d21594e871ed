"""The APIs of a project, enabled in the right order, so that everything else can depend on its own.

Service Usage enables the others and Resource Manager reads the project, so these two come first. An API is
never switched off: others may use it, and what it made would be lost (provider docs,
google_project_service).

Enabling an API is eventually consistent. The provider waits until the API is listed as enabled and repeats
clashing activations; each resource depends on its API, so nothing of it starts earlier. A call may still
meet "has not been used in project" in the minute after; applying again goes on where it stopped. There is
no sleep between: it would need one more provider, and a fixed wait is too long or too short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from groundplan.blueprints.naming import terraform_name
from groundplan.errors import InternalError
from groundplan.facts.services import api, needed
from groundplan.modules.graph import Graph, Reference, Resource


@dataclass(frozen=True, slots=True)
class Services:
    """The enabled APIs of one project, by full name."""

    enabled: Mapping[str, Resource]

    def needs(self, *names: str) -> tuple[Resource, ...]:
        """What a resource of these APIs depends on: ``services.needs("compute", "container")``.

        Raises:
            InternalError: nothing enables one of them.
        """
        missing = sorted({api(name) for name in names} - set(self.enabled))
        if missing:
            raise InternalError(f"nothing enables {', '.join(missing)}: facts/services.json must name it")
        return tuple(self.enabled[api(name)] for name in names)


def add_services(
    graph: Graph,
    names: Iterable[str],
    *,
    project: str | Reference | None = None,
    prefix: tuple[str, ...] = (),
    depends_on: tuple[Resource, ...] = (),
) -> Services:
    """Enable APIs, and those that every project needs.

    Args:
        graph: where to.
        names: full names.
        project: the project; else the graph's.
        prefix: what resource names begin with, where a stack enables APIs in several projects.
        depends_on: what must exist before the first one.
    """
    enabled: dict[str, Resource] = {}
    first = ("serviceusage.googleapis.com", "cloudresourcemanager.googleapis.com")
    for name in (*first, *sorted({*names, *needed("base")} - {*first})):
        enabled[name] = graph.add(
            "google_project_service",
            terraform_name(*prefix, name.removesuffix(".googleapis.com")),
            project=project,
            service=name,
            disable_on_destroy=False,
            disable_dependent_services=False,
            depends_on=depends_on if name == first[0] else [enabled[f] for f in first if f in enabled],
        )
    return Services(enabled)
