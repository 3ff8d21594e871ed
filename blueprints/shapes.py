"""What may stand where in a blueprint, read off the models: known keys, and whether maps, lists or values.

The reader, the merge and the rules walk the tree of a file along its shape, so none of them lists keys.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from groundplan.blueprints.model import BlueprintFile, Model, Whole
from groundplan.blueprints.tree import Path

Kind = Literal["model", "map", "list", "value", "any"]


@dataclass(frozen=True)
class Shape:
    """What may stand at one place.

    Attributes:
        kind: a map with known keys (``model``), with free keys (``map``), a list, one value, or anything.
        model: the model of a map with known keys.
        item: what the items of a map or list are.
    """

    kind: Kind
    model: type[Model] | None = None
    item: Shape | None = None

    @property
    def keys(self) -> Mapping[str, Key]:
        """The known keys; empty where keys are free or there are none."""
        return _keys(self.model) if self.model else {}

    @property
    def whole(self) -> bool:
        """Whether an environment's value replaces that of the defaults instead of being merged with it."""
        return self.kind in ("list", "value") or (self.model is not None and issubclass(self.model, Whole))

    @property
    def short_form(self) -> bool:
        """Whether a map may also be written as one scalar."""
        return self.model is not None and self.model.short_form

    def step(self, step: str | int) -> Shape:
        """The shape of what stands below a key or at a list item; anything where the key is not known."""
        if self.kind == "model":
            key = self.keys.get(str(step))
            return key.shape if key else ANY
        return self.item or ANY

    def walk(self, path: Path) -> Shape:
        """The shape of what stands at ``path``."""
        return functools.reduce(lambda shape, step: shape.step(step), path, self)


@dataclass(frozen=True)
class Key:
    """A known key: its attribute in the model, what stands below it, what it is for."""

    name: str
    attribute: str
    shape: Shape
    description: str = ""
    required: bool = False
    later: bool = False  #: understood, but not provisioned yet


ANY = Shape("any")
VALUE = Shape("value")


def of_model(model: type[Model]) -> Shape:
    """The shape of a model."""
    return Shape("model", model)


@functools.cache
def _keys(model: type[Model]) -> Mapping[str, Key]:
    keys = {key.name: key for key in (_key(name, info) for name, info in model.model_fields.items())}
    if issubclass(model, Whole) and model.written:
        return {name: keys.get(name, Key(name, name, ANY)) for name in model.written}
    return keys


def _key(attribute: str, info: FieldInfo) -> Key:
    extra = info.json_schema_extra
    return Key(
        name=info.alias or attribute,
        attribute=attribute,
        shape=_shape(info.annotation),
        description=info.description or "",
        required=info.is_required(),
        later=isinstance(extra, dict) and bool(extra.get("x-groundplan-later")),
    )


def _shape(annotation: Any) -> Shape:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(arguments[0])
    if origin in (Union, types.UnionType):
        kinds = [_shape(one) for one in arguments if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else VALUE
    if origin is dict:
        return Shape("map", item=_shape(arguments[1]))
    if origin is tuple:
        return Shape("list", item=_shape(arguments[0]))
    if annotation is Any:
        return ANY
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return of_model(annotation)
    return VALUE


#: Names of places that do not follow from the name of the model.
_CALLED = {
    "BlueprintFile": "the top of the file",
    "EnvironmentSpec": "an environment",
    "Lustre": "a Lustre instance",
    "Filestore": "a Filestore instance",
    "Tombstone": "an entry of `removed`",
    "ServiceMethods": "a service",
}


def called(shape: Shape, path: Path) -> str:
    """What people call a place: ``a node pool``, ```boot_disk```."""
    model = shape.model.__name__ if shape.model else ""
    if model in _CALLED:
        return _CALLED[model]
    named = path and isinstance(path[-1], str) and path[-1] != "*"
    if named or not model:
        return f"`{path[-1]}`" if path else "the file"
    words = re.sub(r"(?<!^)([A-Z])", r" \1", model).lower()
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


@functools.cache
def places() -> Mapping[str, tuple[str, ...]]:
    """Each known key, and what the places are called where it may stand."""
    found: dict[str, dict[str, None]] = {}
    for key, place in _everywhere(of_model(BlueprintFile), ()):
        found.setdefault(key, {})[place] = None
    return {key: tuple(where) for key, where in found.items()}


def _everywhere(shape: Shape, path: Path) -> Iterator[tuple[str, str]]:
    for key in shape.keys.values():
        yield key.name, called(shape, path)
        yield from _everywhere(key.shape, (*path, key.name))
    if shape.item:
        yield from _everywhere(shape.item, (*path, "*"))
