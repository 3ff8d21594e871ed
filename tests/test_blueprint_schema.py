import json
import re
from pathlib import Path

import jsonschema
import pytest

import groundplan.blueprints
from groundplan.blueprints.json_schema import json_schema
from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.loader import parse
from groundplan.blueprints.model import BlueprintFile, Environment
from groundplan.blueprints.shapes import ANY, of_model
from groundplan.blueprints.structure import plain
from groundplan.blueprints.tree import Source

CHECKED_IN = Path(groundplan.blueprints.__file__).parent / "blueprint.schema.json"
REFRESH = "groundplan schema -o blueprints/blueprint.schema.json"
DATA = Path(__file__).parent / "data" / "blueprints"
TOP = "apiVersion: groundplan/v1\nname: llm\n"


def as_editor(text):
    """A file as an editor's YAML reads it: core schema, blanks are null."""

    def null_for_blank(value):
        if value == {}:
            return None
        if isinstance(value, dict):
            return {key: null_for_blank(one) for key, one in value.items()}
        return value

    return null_for_blank(plain(parse(Source("x", text))[0], ANY, []))


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


def objects(schema):
    """Every schema of a map with known keys, with a name for it."""
    for name, one in [("the file", schema), *schema["$defs"].items()]:
        for part in (one, *one.get("anyOf", ())):
            if "properties" in part:
                yield name, part


def test_the_checked_in_schema_is_current():
    assert json.loads(CHECKED_IN.read_text()) == json_schema(), f"refresh with: {REFRESH}"
    assert CHECKED_IN.read_text() == json.dumps(json_schema(), indent=2) + "\n", f"refresh with: {REFRESH}"


def test_every_key_has_a_description():
    missing = [
        f"{name}.{key}"
        for name, part in objects(json_schema())
        for key, value in part["properties"].items()
        if not value.get("description")
    ]
    assert not missing


def models(shape):
    if shape.model:
        yield shape.model
    for key in shape.keys.values():
        yield from models(key.shape)
    if shape.item:
        yield from models(shape.item)


def test_every_field_of_every_model_has_a_description():
    every = {*models(of_model(BlueprintFile)), Environment}
    assert len(every) > 40
    missing = [
        f"{model.__name__}.{name}"
        for model in every
        for name, field in model.model_fields.items()
        if not field.description
    ]
    assert not missing
    assert all(model.__doc__ for model in every)


def test_the_schema_is_as_strict_as_the_language():
    for name, part in objects(json_schema()):
        assert part.get("additionalProperties") is False, name
    assert (
        "not provisioned" in json_schema()["$defs"]["Storage"]["properties"]["disks"]["description"].lower()
    )


@pytest.mark.parametrize(
    "path", [*library_blueprints().values(), DATA / "language.yaml"], ids=lambda path: path.stem
)
def test_real_blueprints_fit(path, validator):
    assert not [error.message for error in validator.iter_errors(as_editor(path.read_text()))]


@pytest.mark.parametrize(
    "text",
    [
        "organization: 123456789012\nenvironments: {ml-dev: }\n",
        "environments: {ml-dev: {folder: 345, labels: {a: 1, b: true}}}\n",
        "environments: {ml-dev: {clusters: {main: {min_version: 1.34}}}}\n",
        "defaults:\nenvironments: {ml-dev: {clusters: null, storage: {buckets: {raw: }}}}\n",
        "environments: {ml-dev: {clusters: {m: {node_pools: {l4: {nodes: 3}}}}}}\n",
        "environments: {ml-dev: {storage: {buckets: {a: {soft_delete: 1d12h}}}}}\n",
    ],
)
def test_what_the_language_takes_the_schema_takes(text, validator):
    assert not [error.message for error in validator.iter_errors(as_editor(TOP + text))]


@pytest.mark.parametrize(
    "text",
    [
        "environments: {}\n",
        "enviroments: {ml-dev: }\n",
        "environments: {ML: }\n",
        "environments: {ml-dev: {zones: [a]}}\n",
        "environments: {ml-dev: {tier: prod}}\n",
        "environments: {ml-dev: {clusters: {m: {node_pools: {x: {capacity: sport}}}}}}\n",
        "environments: {ml-dev: {clusters: {m: {node_pools: {x: {nodes: {mn: 1, max: 2}}}}}}}\n",
        "environments: {ml-dev: {clusters: {m: {node_pools: {x: {boot_disk: {size: 200GB}}}}}}}\n",
        "environments: {ml-dev: {clusters: {m: {node_pools: {x: {node_taints: [{value: a}]}}}}}}\n",
        "foundation: {region: us-east1}\nenvironments: {ml-dev: }\n",
    ],
)
def test_what_the_language_refuses_the_schema_refuses(text, validator):
    assert [error.message for error in validator.iter_errors(as_editor(TOP + text))]


def test_defaults_in_the_schema_are_written_as_people_write_them():
    definitions = json_schema()["$defs"]
    assert definitions["BootDisk"]["properties"]["size"]["default"] == "100GiB"
    assert definitions["AuditLogs"]["properties"]["retention"]["default"] == "400d"
    for _, part in objects(json_schema()):
        for value in part["properties"].values():
            if isinstance(value.get("default"), str) and "pattern" in value:
                assert re.search(value["pattern"], value["default"])
