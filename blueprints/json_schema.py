"""The JSON Schema of the language, made from the models, for editors and other tools.

It says of a file what an editor can know while it is written: keys, words, patterns. Where YAML would read a
number although the language reads text (``organization: 123456789012``), the schema takes both. Below
``defaults`` and ``environments`` nothing is required, because the other one may say it, and null is allowed,
because it removes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from groundplan.blueprints.model import BlueprintFile, EnvironmentSpec, Model
from groundplan.blueprints.quantities import duration
from groundplan.blueprints.shapes import Shape, of_model

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NULL = {"type": "null"}

_ANNOTATIONS = ("description", "default", "examples", "x-groundplan-later")

Schema = dict[str, Any]


def json_schema() -> Schema:
    """The schema of a blueprint file, draft 2020-12."""
    raw = BlueprintFile.model_json_schema()
    definitions = raw.pop("$defs")
    partial = {model.__name__ for model in _partial(of_model(EnvironmentSpec))}
    root = _tidied(raw)
    described(root, BlueprintFile)
    for key, value in root["properties"].items():
        root["properties"][key] = value if key in root["required"] else _nullable(value)
    return {
        "$schema": DIALECT,
        "title": "groundplan blueprint",
        **root,
        "$defs": {
            name: _definition(name, definitions[name], name in partial) for name in sorted(definitions)
        },
    }


def described(schema: Schema, model: type[Model]) -> None:
    """Give every key of a model's schema its description, and say what is not provisioned yet."""
    for key in of_model(model).keys.values():
        if key.name in schema.get("properties", {}):
            note = " Not provisioned yet." if key.later else ""
            schema["properties"][key.name]["description"] = key.description + note


def _partial(shape: Shape) -> Iterator[type[Model]]:
    """The models whose keys may be spread over the defaults and an environment."""
    if shape.whole:
        return
    if shape.model:
        yield shape.model
    for key in shape.keys.values():
        yield from _partial(key.shape)
    if shape.item:
        yield from _partial(shape.item)


def _definition(name: str, raw: Schema, partial: bool) -> Schema:
    schema = _tidied(raw)
    model = next(one for one in _models(of_model(BlueprintFile)) if one.__name__ == name)
    for part in (schema, *schema.get("anyOf", ())):
        described(part, model)
        if partial:
            part.pop("required", None)
            part.get("properties", {}).update(
                {key: _nullable(value) for key, value in part.get("properties", {}).items()}
            )
    return schema


def _models(shape: Shape) -> Iterator[type[Model]]:
    if shape.model:
        yield shape.model
    for key in shape.keys.values():
        yield from _models(key.shape)
    if shape.item:
        yield from _models(shape.item)


def _tidied(schema: Schema) -> Schema:
    """A schema with what pydantic adds taken away, and what the language takes added."""
    result = {key: _tidied_part(key, value) for key, value in schema.items() if key != "title"}
    if "properties" in schema and "description" in result:
        result["description"] = _first_paragraph(schema["description"])
    if result.get("default") in (None, {}, []):
        result.pop("default", None)
    if "patternProperties" in result:
        result["patternProperties"] = {
            key: _nullable(value) for key, value in result["patternProperties"].items()
        }
        result["additionalProperties"] = False
    item = result.get("additionalProperties")
    if isinstance(item, dict) and "$ref" in item:
        result["additionalProperties"] = _nullable(item)
    if result.get("type") == "string" and not result.keys() & {"enum", "const", "format"}:
        result["type"] = _scalar_types(result.get("pattern"))
    if isinstance(result.get("default"), int) and "string" in result.get("type", ()):
        seconds = "smhdw" in result["pattern"]
        result["default"] = duration(result["default"]) if seconds else f"{result['default']}GiB"
    return result


def _tidied_part(key: str, value: Any) -> Any:
    if key in ("properties", "patternProperties"):
        return {name: _tidied(one) for name, one in value.items()}
    if key in ("items", "additionalProperties") and isinstance(value, dict):
        return _tidied(value)
    if key == "anyOf":
        return [_tidied(one) for one in value]
    return value


def _nullable(schema: Schema) -> Schema:
    """``schema`` or null."""
    if NULL in schema.get("anyOf", ()):
        return schema
    annotations = {key: value for key, value in schema.items() if key in _ANNOTATIONS}
    demands = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
    alternatives = demands["anyOf"] if demands.keys() == {"anyOf"} else [demands]
    return {"anyOf": [*alternatives, NULL], **annotations}


def _scalar_types(pattern: str | None) -> str | list[str]:
    """The types that YAML may make of text with this pattern when it is not in quotes."""
    if pattern is None:
        return ["string", "number", "boolean"]
    numbers = [
        kind for kind, one in (("integer", "123456789012"), ("number", "1.34")) if re.search(pattern, one)
    ]
    return ["string", *numbers] if numbers else "string"


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].replace("``", "`").split())
