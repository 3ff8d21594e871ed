"""Text in a blueprint is text."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.rules.base import BlueprintView, Problem, blueprint_rule
from groundplan.blueprints.tree import Items, Map, Node, Path, Scalar

MARKS = ("${", "%{")


@blueprint_rule("TX001", "nothing is interpolated", source="The blueprint language")
def interpolation(view: BlueprintView) -> Iterator[Problem]:
    """Blueprints have no expressions, and no field needs the marks that Terraform takes for one."""
    for path, scalar, at_key in _texts(view.root, ()):
        mark = next((mark for mark in MARKS if mark in scalar.text), None)
        if mark:
            yield Problem(
                path,
                f"`{mark}` begins an expression of Terraform, and blueprints have none",
                "Write the value itself. Names of other things are written as they are: buckets/datasets.",
                at_key=at_key,
            )


def _texts(node: Node, path: Path) -> Iterator[tuple[Path, Scalar, bool]]:
    if isinstance(node, Scalar):
        yield path, node, False
    elif isinstance(node, Items):
        for index, item in enumerate(node.items):
            yield from _texts(item, (*path, index))
    elif isinstance(node, Map):
        for name, entry in node.entries.items():
            yield (*path, name), entry.key, True
            yield from _texts(entry.value, (*path, name))
