"""A stack's graph as Terraform JSON: the content of ``main.tf.json``.

The order is fixed: sections as below, types and names and attributes by the alphabet, list elements as
they are. So the bytes depend only on what the stack says, never on the order in which it was built.

Terraform reads JSON strings as templates. Literal text is therefore escaped, exactly here: ``${`` becomes
``$${`` and ``%{`` becomes ``%%{``; references become ``${type.name.attribute}``. What Terraform reads
without evaluating it (addresses, descriptions, version constraints, backend settings) stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from groundplan.facts.schema import Block
from groundplan.modules.graph import GcsState, Graph, Reference, Resource, Stack, Text

FILE_NAME = "main.tf.json"
STATE_FILE = "terraform.tfstate"

Json = dict[str, Any]


def document(stack: Stack, *, offline: bool = False, guarded: bool = True) -> Json:
    """The stack as one Terraform JSON document.

    Args:
        stack: what to write.
        offline: for the stand-in: state in a local file whatever the stack says, and no demand on the
            version of the engine, since any new enough engine serves.
        guarded: write ``prevent_destroy``. With it Terraform refuses even to plan a replacement, so nobody
            would see which attribute forces it; groundplan's own runs leave it out and judge the plan instead
            (``policies.protection``).
    """
    graph = stack.graph
    if stack.written is not None:
        return {**stack.written, "terraform": [_settings(stack, offline)]}
    sections = {
        "terraform": [_settings(stack, offline)],
        "provider": {name: [_provider(graph)] for name in _providers(graph)},
        "data": _by_type(r for r in graph if r.mode == "data"),
        "resource": _by_type((r for r in graph if r.mode == "managed"), guarded),
        "moved": [{"from": old, "to": graph.moves[old]} for old in sorted(graph.moves)],
        "import": sorted(
            ({"id": escape(i.id), "to": i.to.address} for i in graph.imports), key=lambda block: block["to"]
        ),
        "removed": [
            {"from": address, "lifecycle": [{"destroy": False}]}
            for address in sorted(r.address for r in graph.removed)
        ],
        "output": {name: _output(graph, name) for name in sorted(graph.outputs)},
    }
    return {name: content for name, content in sections.items() if content}


def dumps(stack: Stack, *, offline: bool = False) -> str:
    """The text of ``main.tf.json``: indented by two, with a newline at its end."""
    return encode(document(stack, offline=offline)).decode()


def encode(content: Json) -> bytes:
    """A document as the bytes of ``main.tf.json``."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def escape(text: str) -> str:
    """Literal text in a place where Terraform expects a template."""
    return text.replace("${", "$${").replace("%{", "%%{")


def render(value: Any) -> Any:
    """A value of the graph in Terraform's JSON syntax: references as expressions, literal text escaped."""
    match value:
        case str():
            return escape(value)
        case Reference():
            return _expression(value)
        case Text():
            return _template(value)
        case Mapping():
            return {escape(key): render(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [render(item) for item in value]
    return value


def _expression(reference: Reference) -> str:
    return f"${{{reference.resource.address}.{reference.attribute}}}"


def _template(text: Text) -> str:
    """Literal parts that meet are joined first, so that an escape is found across their seam."""
    rendered, literal = "", ""
    for part in text.parts:
        if isinstance(part, str):
            literal += part
        else:
            rendered += _before_expression(literal) + _expression(part)
            literal = ""
    return rendered + escape(literal)


def _before_expression(literal: str) -> str:
    """A dollar sign right before ``${`` would escape it; as an expression of its own it does not."""
    kept = literal.rstrip("$")
    dollars = literal[len(kept) :]
    return escape(kept) + (f'${{"{dollars}"}}' if dollars else "")


def _settings(stack: Stack, offline: bool) -> Json:
    settings: Json = {} if offline else {"required_version": stack.engine_version}
    names = _providers(stack.graph) if stack.written is None else sorted(stack.written["provider"])
    settings["required_providers"] = {name: _requirement(stack, name) for name in names}
    if isinstance(stack.state, GcsState) and not offline:
        settings["backend"] = {"gcs": {"bucket": stack.state.bucket, "prefix": stack.state.prefix}}
    else:
        settings["backend"] = {"local": {"path": STATE_FILE}}
    return settings


def _requirement(stack: Stack, provider: str) -> Json:
    """google-beta is released together with google: without a constraint of its own it gets google's."""
    constraint = stack.providers.get(provider) or stack.providers.get("google")
    source = {"source": f"hashicorp/{provider}"}
    return {**source, "version": constraint} if constraint else source


def _providers(graph: Graph) -> list[str]:
    """Always google, since an emptied stack still needs it to destroy; google-beta only where it is used."""
    return sorted({"google", *(resource.provider for resource in graph)})


def _provider(graph: Graph) -> Json:
    settings = {"default_labels": graph.labels, "project": graph.project, "region": graph.region}
    return {name: render(value) for name, value in settings.items() if value}


def _by_type(resources: Iterable[Resource], guarded: bool = True) -> Json:
    content: Json = {}
    for resource in sorted(resources, key=lambda r: (r.type, r.name)):
        content.setdefault(resource.type, {})[resource.name] = _resource(resource, guarded)
    return content


def _resource(resource: Resource, guarded: bool) -> Json:
    body = _block(resource.schema.block, resource.attributes)
    if resource.provider != "google":
        body["provider"] = resource.provider
    if resource.depends_on:
        body["depends_on"] = sorted({needed.address for needed in resource.depends_on})
    lifecycle = _lifecycle(resource, guarded)
    if lifecycle:
        body["lifecycle"] = [lifecycle]
    return body


def _block(schema: Block, values: Mapping[str, Any]) -> Json:
    """Blocks are always lists of objects, as in a plan; attributes of any type are rendered as they are."""
    content: Json = {}
    for name in sorted(values):
        value, nested = values[name], schema.blocks.get(name)
        if nested is None:
            content[name] = render(value)
        else:
            items = [value] if isinstance(value, Mapping) else value
            content[name] = [_block(nested.block, item) for item in items]
    return content


def _lifecycle(resource: Resource, guarded: bool) -> Json:
    lifecycle = resource.lifecycle
    ignored = lifecycle.ignore_changes
    settings = {
        "create_before_destroy": lifecycle.create_before_destroy,
        "ignore_changes": "all" if ignored == ("all",) else sorted(ignored),
        "prevent_destroy": lifecycle.prevent_destroy and guarded,
    }
    return {name: value for name, value in settings.items() if value}


def _output(graph: Graph, name: str) -> Json:
    output = graph.outputs[name]
    content: Json = {"value": render(output.value)}
    if output.description:
        content["description"] = output.description
    if output.sensitive:
        content["sensitive"] = True
    return content
