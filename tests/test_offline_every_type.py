"""Every resource type, minimally configured: accepted, applied, and then there is nothing more to do."""

import json
import os

import pytest

from groundplan.engines.terraform import environment
from groundplan.engines.terraform.engine import choose_offline
from groundplan.engines.terraform.offline import check
from groundplan.engines.terraform.offline.session import Standin
from groundplan.engines.terraform.runner import Terraform
from groundplan.facts import schema
from groundplan.facts.schema import PROVIDERS, Attribute

pytestmark = pytest.mark.terraform

TEXTS = [
    "thing-{}",
    "thing_{}",
    "10.0.0.0/24",
    "10.0.0.1",
    "{{}}",
    "YWJj",
    "03:00",
    "3600s",
    "2026-01-01T00:00:00Z",
]
TEXTS += [
    "folders/123",
    "organizations/123",
    "projects/p/topics/t",
    "accessPolicies/1/accessLevels/a",
    "true",
]
TEXTS += ["folder-{}/", "projects/p/global/networks/n", "READER"]
TEXTS += ["projects/p/serviceAccounts/account@p.iam.gserviceaccount.com"]


def text(attribute, number):
    """A string that the attribute's checks accept."""
    for value in [*attribute.enum, *(t.format(number) for t in TEXTS)]:
        if value and not list(check._string(attribute, value)):
            return value
    raise AssertionError(f"add a text for {attribute}")


def value_of(kind, attribute, number):
    if kind == "string":
        return text(attribute, number)
    if kind == "number":
        low, high = attribute.range or (1, None)
        return low if low is not None else high
    if kind == "bool":
        return True
    container, inner = kind
    if container == "map":
        return {}
    if container == "object":
        return {name: value_of(item, Attribute(type=item), number) for name, item in inner.items()}
    element = Attribute(
        type=inner,
        enum=attribute.element_enum,
        regex=attribute.element_regex,
        format=attribute.element_format,
    )
    return [value_of(inner, element, number + i) for i in range(max(1, attribute.min_items))]


def minimal(block, number):
    config = {n: value_of(a.type, a, number) for n, a in block.attributes.items() if a.required}
    for name, nested in block.blocks.items():
        if nested.min_items:
            config[name] = [minimal(nested.block, number) for _ in range(nested.min_items)]
    return config


def with_groups(kind, number):
    """The minimal configuration, with a member of each group that demands one."""
    config = minimal(kind.block, number)
    for _ in range(20):
        missing = [p for p in check.problems(kind, config) if "one of" in p.text and "must be set" in p.text]
        if not missing:
            return config
        member = missing[0].text.split(" one of ")[1].removesuffix(" must be set").split(", ")[0]
        *parents, name = member.split(".")
        block, here = kind.block, config
        for parent in parents:
            block, here = block.blocks[parent].block, here[parent][0]
        if name in block.blocks:
            here[name] = [minimal(block.blocks[name].block, number)]
        else:
            here[name] = value_of(block.attributes[name].type, block.attributes[name], number)
    raise AssertionError(f"{kind.type}: {missing}")


def every_type():
    resources = {}
    for number, name in enumerate(sorted(schema.type_names("google-beta"))):
        beta_only = name not in schema.type_names("google")
        kind = schema.resource_type(name, "google-beta" if beta_only else "google")
        config = with_groups(kind, number)
        resources[name] = {"it": config | ({"provider": "google-beta"} if beta_only else {})}
    return resources


@pytest.fixture(scope="module")
def terraform(tmp_path_factory):
    path = tmp_path_factory.mktemp("every")
    (path / "logs").mkdir()
    (path / "engine.tfrc").write_text(environment.OFFLINE_CLI_CONFIG)
    settings = {"project": "p", "region": "us-central1", "zone": "us-central1-a"}
    document = {
        "provider": dict.fromkeys(PROVIDERS, settings),
        "resource": every_type(),
    }
    (path / "main.tf.json").write_text(json.dumps(document))
    with Standin(path / "cloud", path / "standin.log") as standin:
        variables = environment.offline(os.environ, path / "engine.tfrc", standin.environment)
        yield Terraform(choose_offline(), path, variables, path / "logs")


def test_schema_arrives_unchanged(terraform):
    found = json.loads(terraform.providers_schema())["provider_schemas"]
    assert len(found) == len(PROVIDERS)
    for address, answer in found.items():
        provider = address.rpartition("/")[2]
        assert answer["resource_schemas"].keys() == schema.type_names(provider)
        for name, written in answer["resource_schemas"].items():
            kind = schema.resource_type(name, provider)
            assert written["version"] == kind.schema_version, name
            assert_same(written["block"], kind.block, name)
        for name, written in answer["data_source_schemas"].items():
            assert_same(written["block"], schema.data_source(name).block, name)


def assert_same(written, block, where):
    """A block of `terraform providers schema -json` says what the facts say."""
    attributes, blocks = written.get("attributes", {}), written.get("block_types", {})
    assert attributes.keys() == block.attributes.keys(), where
    assert blocks.keys() == block.blocks.keys(), where
    for name, attribute in block.attributes.items():
        assert attributes[name]["type"] == attribute.type, f"{where}.{name}"
        for flag in ("required", "optional", "computed", "sensitive", "deprecated", "write_only"):
            assert attributes[name].get(flag, False) == getattr(attribute, flag), f"{where}.{name} {flag}"
    for name, nested in block.blocks.items():
        assert blocks[name]["nesting_mode"] == nested.nesting, f"{where}.{name}"
        assert blocks[name].get("min_items", 0) == nested.min_items, f"{where}.{name}"
        assert blocks[name].get("max_items") == nested.max_items, f"{where}.{name}"
        assert_same(blocks[name]["block"], nested.block, f"{where}.{name}")


@pytest.mark.slow
def test_every_type_lives(terraform, tmp_path):
    assert [d for d in terraform.validate() if d.severity == "error"] == []
    assert terraform.plan(tmp_path / "plan")
    terraform.apply(tmp_path / "plan")
    assert len(terraform.state_list()) == len(schema.type_names("google-beta"))
    again = terraform.plan(tmp_path / "again")
    changed = [
        (change["address"], change["change"]["actions"])
        for change in json.loads(terraform.show_plan(tmp_path / "again"))["resource_changes"]
        if change["change"]["actions"] != ["no-op"]
    ]
    assert (again, changed) == (False, [])
