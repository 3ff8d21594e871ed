"""The repository whose pipeline plans and applies an environment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundplan.blueprints.rules.base import LANGUAGE, EnvironmentView, Problem, environment_rule

GIT = "git docs, git-check-ref-format"

#: What the name of a branch cannot have. A pattern is none: the grant is on one branch.
_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|^[/.-]|[/.]$|\.lock(/|$)")


@environment_rule("AU001", "a pipeline has one repository", source=LANGUAGE)
def one_repository(view: EnvironmentView) -> Iterator[Problem]:
    """Two repositories that may both apply an environment undo each other; with none nobody is admitted."""
    written = {"github", "gitlab"} & set(view.names("automation") or ())
    if view.environment.automation and len(written) != 1:
        named = "both a GitHub and a GitLab repository" if written else "no repository"
        hint = "Write one of `github: OWNER/REPOSITORY` and `gitlab: GROUP/PROJECT`."
        yield Problem(("automation",), f"`automation` names {named}", hint, at_key=True)


@environment_rule("AU002", "automation has a foundation", source=LANGUAGE, severity="warning")
def without_foundation(view: EnvironmentView) -> Iterator[Problem]:
    """The identities that a pipeline becomes live in the seed project, outside of what they manage.

    Without one there is nobody that the pipeline could be.
    """
    automation = view.environment.automation
    named = automation and (automation.github or automation.gitlab)
    if named and view.blueprint.foundation is None:
        message = "`automation` needs a seed project for the identities of the pipeline"
        hint = "Write `foundation: {project: ID}` at the top, or remove `automation`."
        yield Problem(("automation",), message, hint, at_key=True)


@environment_rule("AU003", "automation names a branch", source=GIT)
def branch(view: EnvironmentView) -> Iterator[Problem]:
    """The applying identity is bound to one branch; a pattern, or what git refuses, matches no token ever."""
    automation = view.environment.automation
    if automation and _NOT_IN_BRANCHES.search(automation.branch):
        message = f"`{automation.branch}` cannot be the name of a branch"
        hint = "Write the branch that may apply, without refs/heads/: main."
        yield Problem(("automation", "branch"), message, hint)
    elif automation and automation.branch.startswith("refs/"):
        message = f"`{automation.branch}` is a whole ref; a branch is written without refs/heads/"
        yield Problem(("automation", "branch"), message, f"Write {automation.branch.rpartition('/')[2]}.")
