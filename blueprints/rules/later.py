"""What the language says already and groundplan does not provision yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from groundplan.blueprints.model import BlueprintHead, EnvironmentSpec
from groundplan.blueprints.rules.base import BlueprintView, EnvironmentView, Problem, blueprint_rule
from groundplan.blueprints.shapes import Shape, of_model
from groundplan.blueprints.tree import Map, Node, Path, dotted

CODE = "LT001"  #: a real plan refuses what is warned of under this code
#: GKE tells the class of a node pool by one node label.
ONE_CLASS = "A node pool serves one compute class. Give this one a pool of its own."
HINT = "validate, show and synth accept it; a real plan stops until groundplan provisions it."


@blueprint_rule(CODE, "what is written is provisioned", source="groundplan", severity="warning")
def later(view: BlueprintView) -> Iterator[Problem]:
    """A key may be understood before its resources are made. Nothing is left out silently."""
    yield from top(view)
    for name, environment in view.environments.items():
        for problem in in_environment(environment):
            yield replace(problem, path=("environments", name, *problem.path))


def top(view: BlueprintView) -> Iterator[Problem]:
    """What stands above the environments."""
    yield from _later(view.root, of_model(BlueprintHead), view.blueprint, (), ())


def in_environment(view: EnvironmentView) -> Iterator[Problem]:
    """What one environment asks for."""
    yield from _later(view.tree, of_model(EnvironmentSpec), view.environment, (), ())
    for path, cluster in view.clusters():
        taken: set[str] = set()
        for name, order in sorted(cluster.compute_classes.items()):
            for index, key in enumerate(order):
                if key in taken:
                    place = (*path, "compute_classes", name, index)
                    yield Problem(place, f"`{key}` serves another compute class already", ONE_CLASS)
            taken.update(order)


def _later(node: Node, shape: Shape, value: Any, path: Path, called: Path) -> Iterator[Problem]:
    """The keys below ``node`` that are not provisioned yet and ask for something.

    Args:
        node: what was written.
        shape: its shape.
        value: its model.
        path: its path.
        called: the end of the path that messages show: from the last free key on.
    """
    if not isinstance(node, Map):
        return
    for name, entry in node.entries.items():
        inner = (*path, name)
        if shape.kind == "model":
            key = shape.keys.get(name)
            if key is None or not isinstance(value, BaseModel):
                continue
            written, shown = getattr(value, key.attribute, None), (*called, name)
            if not key.later:
                yield from _later(entry.value, key.shape, written, inner, shown)
            elif written != _default(value, key.attribute):
                yield Problem(inner, f"`{dotted(shown)}` is not provisioned yet", HINT, at_key=True)
        elif isinstance(value, dict) and name in value:
            yield from _later(entry.value, shape.step(name), value[name], inner, ())


def _default(value: BaseModel, attribute: str) -> Any:
    return type(value).model_fields[attribute].get_default(call_default_factory=True)
