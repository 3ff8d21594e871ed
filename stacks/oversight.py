"""What an environment must not change of itself: who may do what, emergencies, what is logged, its budget.

The foundation holds these, so that no pipeline of an environment can give people rights, stop the audit logs
or raise the budget. Without a foundation whoever applies the environment is an administrator anyway, and its
own stack holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groundplan.facts.services import Group
from groundplan.modules.audit import add_audit_logs
from groundplan.modules.break_glass import add_break_glass
from groundplan.modules.budget import add_budget
from groundplan.modules.people import add_people

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint, Environment
    from groundplan.modules.graph import Graph, Reference
    from groundplan.modules.services import Services


def add_oversight(
    graph: Graph,
    blueprint: Blueprint,
    env: Environment,
    project: str | Reference,
    number: Callable[[], str | Reference],
    services: Services,
    caller: Services,
) -> None:
    """Add what watches over one environment.

    Args:
        graph: the foundation's, else the environment's.
        blueprint: whose platform it is.
        env: the environment.
        project: its project.
        number: gives that project's number.
        services: the APIs of that project.
        caller: the APIs of the project that calls count against.
    """
    add_people(graph, env, project, services)
    add_break_glass(graph, env, project, blueprint.organization, services, caller)
    add_audit_logs(graph, env, project, services)
    add_budget(graph, env, number, caller)


def oversight_apis(env: Environment) -> list[Group]:
    """The APIs of all of it, in one project."""
    groups: list[Group] = ["audit_logs"] if env.audit_logs else []
    groups += ["break_glass"] if env.access.break_glass else []
    return groups + (["budget"] if env.budget else [])
