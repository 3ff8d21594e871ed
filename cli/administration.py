"""What is said before the foundation is planned or applied for real: who must run it, and who does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundplan.cli.project import FOUNDATION
from groundplan.errors import PolicyError

if TYPE_CHECKING:
    from groundplan.cli.runs import Run, Shown
    from groundplan.modules.graph import Stack


def tell(run: Run, stacks: Sequence[Stack]) -> None:
    """Say which roles the foundation takes, if it is among the stacks of a real run."""
    foundation = next((stack for stack in stacks if stack.name == FOUNDATION), None)
    if foundation is None or run.project.offline:
        return
    from groundplan.engines.terraform.credentials import describe
    from groundplan.facts.administrator import administrator
    from groundplan.stacks.administrator import administrator_grants

    grants = administrator_grants(foundation)
    say, style = run.output.say, run.output.err
    say(style("The foundation is applied by an administrator, with these roles:", "heading"))
    roles = max(len(grant.role) for grant in grants)
    places = max(len(grant.where) for grant in grants)
    for grant in grants:
        say(f"  {grant.role:<{roles}}  on {grant.where:<{places}}  {grant.reason}")
    say("  What exists already can be changed by whoever made it; another administrator needs roles/owner on")
    say(f"  the projects. Checked {administrator().checked}.")
    say(f"This run: {describe(os.environ)}.")


def refuse_loss(run: Run, shown: Sequence[Shown]) -> None:
    """A foundation cannot go whole: it would delete the bucket that remembers what it has done so far.

    Raises:
        PolicyError: a real plan would delete or replace the bucket of its own state.
    """
    from groundplan.engines.terraform.bootstrap import loses_own_state
    from groundplan.engines.terraform.state_bucket import place

    for one in shown:
        if not run.project.offline and loses_own_state(one.stack, one.plan):
            raise PolicyError(
                f"refused, nothing was changed: {one.stack.name} would delete the bucket with its own state, "
                f"{place(one.stack)}",
                hint="A bucket stays in its region: `foundation.region` is for good. To take everything "
                "down, destroy the environments by name; what the foundation made then goes with its "
                f"projects: gcloud projects delete {one.stack.graph.project}",
            )
