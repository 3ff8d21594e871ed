"""Terraform's provider protocol, version 5: messages and methods.

The messages are built when this module is imported, from the table below, so there is no generated
code to keep in step with the protobuf runtime. Field numbers are those of the public protocol
(package ``tfplugin5``); fields that the stand-in never reads are left out, and protobuf skips them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "groundplan.tfplugin5"
_Field = descriptor_pb2.FieldDescriptorProto
#: Enums are varints on the wire; a plain integer saves declaring them.
_SCALARS = {
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
    "bool": _Field.TYPE_BOOL,
    "int": _Field.TYPE_INT64,
}

ERROR, WARNING = 1, 2  #: Diagnostic.severity
NESTING = {"single": 1, "list": 2, "set": 3}  #: NestedBlock.nesting

#: Message → field → (number, type). ``*`` marks a repeated field, ``map:`` a map from strings.
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Empty": {},
    "DynamicValue": {"msgpack": (1, "bytes"), "json": (2, "bytes")},
    "Diagnostic": {
        "severity": (1, "int"),
        "summary": (2, "string"),
        "detail": (3, "string"),
        "attribute": (4, "AttributePath"),
    },
    "AttributePath": {"steps": (1, "*Step")},
    "Step": {
        "attribute_name": (1, "string"),
        "element_key_string": (2, "string"),
        "element_key_int": (3, "int"),
    },
    "Attribute": {
        "name": (1, "string"),
        "type": (2, "bytes"),
        "required": (4, "bool"),
        "optional": (5, "bool"),
        "computed": (6, "bool"),
        "sensitive": (7, "bool"),
        "deprecated": (9, "bool"),
        "write_only": (10, "bool"),
    },
    "NestedBlock": {
        "type_name": (1, "string"),
        "block": (2, "Block"),
        "nesting": (3, "int"),
        "min_items": (4, "int"),
        "max_items": (5, "int"),
    },
    "Block": {"attributes": (2, "*Attribute"), "block_types": (3, "*NestedBlock")},
    "Schema": {"version": (1, "int"), "block": (2, "Block")},
    "ServerCapabilities": {"plan_destroy": (1, "bool"), "get_provider_schema_optional": (2, "bool")},
    "GetSchemaResponse": {
        "provider": (1, "Schema"),
        "resource_schemas": (2, "map:Schema"),
        "data_source_schemas": (3, "map:Schema"),
        "diagnostics": (4, "*Diagnostic"),
        "server_capabilities": (6, "ServerCapabilities"),
    },
    "TypeName": {"type_name": (1, "string")},
    "GetMetadataResponse": {
        "server_capabilities": (1, "ServerCapabilities"),
        "diagnostics": (2, "*Diagnostic"),
        "data_sources": (3, "*TypeName"),
        "resources": (4, "*TypeName"),
    },
    "PrepareConfigRequest": {"config": (1, "DynamicValue")},
    "PrepareConfigResponse": {"prepared_config": (1, "DynamicValue"), "diagnostics": (2, "*Diagnostic")},
    "ConfigureRequest": {"terraform_version": (1, "string"), "config": (2, "DynamicValue")},
    "ValidateRequest": {"type_name": (1, "string"), "config": (2, "DynamicValue")},
    "DiagnosticsResponse": {"diagnostics": (1, "*Diagnostic")},
    "RawState": {"json": (1, "bytes")},
    "UpgradeRequest": {"type_name": (1, "string"), "version": (2, "int"), "raw_state": (3, "RawState")},
    "UpgradeResponse": {"upgraded_state": (1, "DynamicValue"), "diagnostics": (2, "*Diagnostic")},
    "ReadRequest": {
        "type_name": (1, "string"),
        "current_state": (2, "DynamicValue"),
        "private": (3, "bytes"),
    },
    "ReadResponse": {
        "new_state": (1, "DynamicValue"),
        "diagnostics": (2, "*Diagnostic"),
        "private": (3, "bytes"),
    },
    "PlanRequest": {
        "type_name": (1, "string"),
        "prior_state": (2, "DynamicValue"),
        "proposed_new_state": (3, "DynamicValue"),
        "config": (4, "DynamicValue"),
        "prior_private": (5, "bytes"),
    },
    "PlanResponse": {
        "planned_state": (1, "DynamicValue"),
        "requires_replace": (2, "*AttributePath"),
        "planned_private": (3, "bytes"),
        "diagnostics": (4, "*Diagnostic"),
        "legacy_type_system": (5, "bool"),
    },
    "ApplyRequest": {
        "type_name": (1, "string"),
        "prior_state": (2, "DynamicValue"),
        "planned_state": (3, "DynamicValue"),
        "config": (4, "DynamicValue"),
        "planned_private": (5, "bytes"),
    },
    "ApplyResponse": {
        "new_state": (1, "DynamicValue"),
        "private": (2, "bytes"),
        "diagnostics": (3, "*Diagnostic"),
        "legacy_type_system": (4, "bool"),
    },
    "ImportRequest": {"type_name": (1, "string"), "id": (2, "string")},
    "ImportedResource": {
        "type_name": (1, "string"),
        "state": (2, "DynamicValue"),
        "private": (3, "bytes"),
    },
    "ImportResponse": {"imported_resources": (1, "*ImportedResource"), "diagnostics": (2, "*Diagnostic")},
    "ReadDataResponse": {"state": (1, "DynamicValue"), "diagnostics": (2, "*Diagnostic")},
    "StopResponse": {"Error": (1, "string")},
}


class Method(NamedTuple):
    """One call of the protocol: the method of ``Provider`` that serves it, and its two messages."""

    handler: str
    request: str
    response: str


#: Calls that are not here (functions, identities, moves) answer UNIMPLEMENTED, which Terraform accepts.
METHODS = {
    "GetMetadata": Method("metadata", "Empty", "GetMetadataResponse"),
    "GetSchema": Method("schema", "Empty", "GetSchemaResponse"),
    "PrepareProviderConfig": Method("prepare", "PrepareConfigRequest", "PrepareConfigResponse"),
    "Configure": Method("configure", "ConfigureRequest", "DiagnosticsResponse"),
    "ValidateResourceTypeConfig": Method("validate", "ValidateRequest", "DiagnosticsResponse"),
    "ValidateDataSourceConfig": Method("validate_data", "ValidateRequest", "DiagnosticsResponse"),
    "UpgradeResourceState": Method("upgrade", "UpgradeRequest", "UpgradeResponse"),
    "ReadResource": Method("read", "ReadRequest", "ReadResponse"),
    "PlanResourceChange": Method("plan", "PlanRequest", "PlanResponse"),
    "ApplyResourceChange": Method("apply", "ApplyRequest", "ApplyResponse"),
    "ImportResourceState": Method("import_", "ImportRequest", "ImportResponse"),
    "ReadDataSource": Method("read_data", "ValidateRequest", "ReadDataResponse"),
    "Stop": Method("stop", "Empty", "StopResponse"),
}


def _build() -> SimpleNamespace:
    """One message class per row of the table."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            _add_field(message, field, number, kind)
        if name == "Step":  # the three selectors exclude each other
            message.oneof_decl.add(name="selector")
            for added in message.field:
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    find = pool.FindMessageTypeByName
    classes = {name: message_factory.GetMessageClass(find(f"{_PACKAGE}.{name}")) for name in _MESSAGES}
    return SimpleNamespace(**classes)


def _add_field(message: descriptor_pb2.DescriptorProto, name: str, number: int, kind: str) -> None:
    field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if kind.startswith("map:"):  # a map is a repeated nested message with the fields key and value
        kind = f"{message.name}.{_add_entry(message, name, kind.removeprefix('map:'))}"
        field.label = _Field.LABEL_REPEATED
    elif kind.startswith("*"):
        kind = kind.removeprefix("*")
        field.label = _Field.LABEL_REPEATED
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"


def _add_entry(message: descriptor_pb2.DescriptorProto, field: str, value: str) -> str:
    entry = message.nested_type.add(name=field.title().replace("_", "") + "Entry")
    entry.options.map_entry = True
    _add_field(entry, "key", 1, "string")
    _add_field(entry, "value", 2, value)
    return entry.name


#: The message classes, by name: ``pb.PlanResponse(...)``.
pb: Any = _build()
