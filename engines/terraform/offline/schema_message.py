"""The provider's schema as Terraform asks for it, built from ``facts``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from groundplan.facts.schema import (
    Attribute,
    Block,
    Provider,
    data_source,
    data_source_names,
    provider_config,
    resource_type,
)

from .wire import NESTING, pb

_FLAGS = ("required", "optional", "computed", "sensitive", "deprecated", "write_only")


def schema_bytes(provider: Provider, types: Iterable[str]) -> bytes:
    """The serialized answer to GetSchema with these resource types and all data sources."""
    answer = pb.GetSchemaResponse()
    answer.server_capabilities.get_provider_schema_optional = True
    _fill_block(provider_config().block, answer.provider.block)
    for name in sorted(types):
        kind = resource_type(name, provider)
        schema = answer.resource_schemas[name]
        schema.version = kind.schema_version
        _fill_block(kind.block, schema.block)
    for name in sorted(data_source_names()):
        _fill_block(data_source(name).block, answer.data_source_schemas[name].block)
    return answer.SerializeToString()  # type: ignore[no-any-return]


def _fill_block(block: Block, message: Any) -> None:
    message.SetInParent()  # Terraform crashes on a block whose message is left out because it is empty
    for name, attribute in block.attributes.items():
        message.attributes.add(name=name, type=_type(attribute), **_flags(attribute))
    for name, nested in block.blocks.items():
        inner = message.block_types.add(
            type_name=name,
            nesting=NESTING[nested.nesting],
            min_items=nested.min_items,
            max_items=nested.max_items or 0,
        )
        _fill_block(nested.block, inner.block)


def _type(attribute: Attribute) -> bytes:
    return json.dumps(attribute.type, separators=(",", ":")).encode()


def _flags(attribute: Attribute) -> dict[str, bool]:
    return {flag: True for flag in _FLAGS if getattr(attribute, flag)}
