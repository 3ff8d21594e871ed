"""What an environment must not be able to change of itself: who may do what, what is logged, its budget.

The foundation holds these, so that no pipeline of an environment can give people rights, stop the audit logs
or raise the budget. Without a foundation whoever applies the environment is an administrator anyway, and its
own stack holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groundplan.facts.services import Group
from groundplan.modules.audit import add_audit_logs
from groundplan.modules.budget import add_budget
from groundplan.modules.people import add_people

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment
    from groundplan.modules.graph import Graph, Reference
    from groundplan.modules.services import Services


def add_oversight(
    graph: Graph,
    env: Environment,
    project: str | Reference,
    number: Callable[[], str | Reference],
    services: Services,
    caller: Services,
) -> None:
    """Add what watches over one environment.

    Args:
        graph: the foundation's, else the environment's.
        env: the environment.
        project: its project.
        number: gives that project's number.
        services: the APIs of that project.
        caller: the APIs of the project that calls to the billing account count against.
    """
    add_people(graph, env, project, services)
    add_audit_logs(graph, env, project, services)
    add_budget(graph, env, number, caller)


def oversight_apis(env: Environment) -> list[Group]:
    """The APIs of all of it, in one project."""
    groups: list[Group] = ["audit_logs"] if env.audit_logs else []
    return groups + (["budget"] if env.budget else [])
