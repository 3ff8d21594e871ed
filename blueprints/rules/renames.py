"""What is said to be renamed was: the former key is gone, and one item has it."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.renames import Path, items
from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule


@environment_rule("NM013", "the former key of what was renamed is free", source="The blueprint language")
def former_keys(view: EnvironmentView) -> Iterator[Problem]:
    """Terraform can move one resource to one new address, and only if nothing else is at the old one."""
    found = dict(items(view.environment))
    claimed: dict[Path, Path] = {}
    for path, item in found.items():
        if not item.renamed_from:
            continue
        former = (*path[:-1], item.renamed_from)
        first = claimed.setdefault(former, path)
        if former in found:
            message = f"`{item.renamed_from}` is still there, so `{path[-1]}` was not renamed from it"
            hint = "Remove `renamed_from`, or the other one."
            related = (("the other one", former),) if former != path else ()
        elif first != path:
            message = f"`{first[-1]}` and `{path[-1]}` cannot both be what was `{item.renamed_from}`"
            hint = "Remove `renamed_from` from the one that is new."
            related = (("the other one", first),)
        else:
            continue
        yield Problem((*path, "renamed_from"), message, hint, related=related)
