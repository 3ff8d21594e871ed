"""What an environment must not be able to change of itself: who may do what, what is logged, its budget.

The foundation holds these, so that no pipeline of an environment can give people rights, stop the audit logs
or raise the budget. Without a foundation whoever applies the environment is an administrator anyway, and its
own stack holds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.modules.people import add_people

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment
    from groundplan.modules.graph import Graph, Reference
    from groundplan.modules.services import Services


def add_oversight(graph: Graph, env: Environment, project: str | Reference, services: Services) -> None:
    """Add what watches over one environment.

    Args:
        graph: the foundation's, else the environment's.
        env: the environment.
        project: its project.
        services: the APIs of that project.
    """
    add_people(graph, env, project, services)
