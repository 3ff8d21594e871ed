"""A budget: what an environment's project may cost in a month, and at which shares of it somebody is told.

A budget tells; it stops nothing. It belongs to the billing account, so only the foundation's administrator
can make it, and no pipeline of an environment can raise it. Those who administer the billing account get the
mails. Its amount is in the account's currency: any other is refused (Cloud Billing docs, "Create budgets").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groundplan.modules.graph import Graph, Reference, text
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment


def add_budget(
    graph: Graph, env: Environment, number: Callable[[], str | Reference], services: Services
) -> None:
    """Add the budget of one environment, if it has one.

    Args:
        graph: the foundation's, or the environment's where there is no foundation.
        env: the environment.
        number: gives the number of its project.
        services: the APIs of the project that calls count against.
    """
    if env.budget is None or env.billing_account is None:
        return
    with graph.at("budget"):
        graph.add(
            "google_billing_budget",
            env.name,
            billing_account=env.billing_account,
            display_name=env.project_id,
            amount={
                "specified_amount": {
                    "units": str(env.budget.monthly),
                    "currency_code": env.budget.currency,
                }
            },
            budget_filter={
                "projects": [text("projects/", number())],
                "calendar_period": "MONTH",
                "credit_types_treatment": "INCLUDE_ALL_CREDITS",
            },
            threshold_rules=[
                {"threshold_percent": share, "spend_basis": "CURRENT_SPEND"}
                for share in sorted(set(env.budget.alerts))
            ],
            depends_on=services.needs("billingbudgets"),
        )
