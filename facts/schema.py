"""The provider schema: what each Google resource type takes, and how it behaves.

One JSON file per resource type under ``facts/provider/``, written by ``tools/provider_schema.py`` and
read when the type is first used. Two readers share it: ``modules.graph`` checks every resource against
it, and the offline stand-in (``engines.terraform.offline``) plans and applies with it. So an offline
pass proves agreement with these facts, not with Google.

Names and shapes come from the generated bindings of the provider release named in ``provider_version``;
behaviour (replacement, defaults, enums, conflicts, id formats) from the provider's source. Where the
source does not know an attribute yet, ``force_new`` is None: not known, which is not the same as False.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

Provider = Literal["google", "google-beta"]
PROVIDERS: tuple[Provider, ...] = ("google", "google-beta")

DATA = Path(__file__).with_name("provider")

#: A Terraform type in the notation of ``terraform providers schema -json``: ``"string"``,
#: ``["list", "string"]``, ``["object", {...}]``.
CtyType = str | list[Any]


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What attributes and blocks have in common: role, behaviour and the constraints on their values.

    Paths in the groups (``conflicts_with`` …) are dotted, from the top of the resource, without indexes.
    """

    provider: Provider = "google"  #: ``google-beta`` where only that provider has it
    force_new: bool | None = False  #: a change replaces the resource; None: not known
    computed: bool = False  #: the provider fills it in when it is not set
    conflicts_with: tuple[str, ...] = ()
    exactly_one_of: tuple[str, ...] = ()
    at_least_one_of: tuple[str, ...] = ()
    required_with: tuple[str, ...] = ()
    min_items: int = 0
    max_items: int | None = None
    diff_suppress: str | None = None  #: differences that do not count; ``unknown``: a kind nobody modelled
    source: str | None = (
        None  #: key into ``Index.sources``; None: shape from ``bindings``, rest from ``source``
    )


class Attribute(Facts, frozen=True, omit_defaults=True, kw_only=True):
    """One attribute. It is required, optional, computed (so read-only), or optional and computed."""

    type: CtyType
    required: bool = False
    optional: bool = False
    sensitive: bool = False
    write_only: bool = False
    deprecated: bool = False
    integer: bool = False  #: the number, or every number in the collection, must be whole
    default: Any = None  #: the provider's own default; it appears in the plan
    enum: tuple[str, ...] = ()
    enum_ignore_case: bool = False
    range: tuple[float | None, float | None] | None = None
    length: tuple[int | None, int | None] | None = None
    regex: tuple[str, ...] = ()
    not_regex: tuple[str, ...] = ()
    format: str | None = None  #: json, cidr, ip, base64, hh:mm, go_duration, rfc3339_date
    or_empty: bool = False  #: the empty string passes the checks above
    element_enum: tuple[str, ...] = ()
    element_regex: tuple[str, ...] = ()
    element_format: str | None = None


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """Attributes and nested blocks of one level."""

    attributes: dict[str, Attribute] = {}
    blocks: dict[str, NestedBlock] = {}


class NestedBlock(Facts, frozen=True, omit_defaults=True, kw_only=True):
    """A block inside a block. Required if ``min_items`` says so; only ``timeouts`` is ``single``."""

    nesting: Literal["single", "list", "set"]
    block: Block = Block()


class DeletionPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """The default of the virtual attribute ``deletion_policy`` and when it becomes known."""

    default: str | None = None
    set_by: str = "none"  #: plan: known at plan time; read: filled on refresh; none


class ResourceType(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, dict=True):
    """Everything known about one resource type. ``block`` is the schema; the rest is behaviour."""

    type: str
    provider_version: str  #: release that names and shapes come from
    provider: Provider = "google"  #: ``google-beta`` where only that provider has the type
    schema_version: int = 0
    service: str = ""  #: the API that serves it, ``container.googleapis.com``
    base_url: str = ""
    id: str = "{{name}}"  #: template of the id
    id_source: str = "unknown"  #: create, import, manual; ``+server``: a part is known only after apply
    source: str | None = None  #: of its behaviour, where that is not ``source``; see ``Facts.source``
    import_formats: tuple[str, ...] = ()
    create_path: str = ""
    no_update: bool = False
    plan_defaults: dict[str, str] = {}  #: set at plan time: a literal, or ``{{provider.project}}``
    deletion_policy: DeletionPolicy | None = None
    deletion_protection: bool | None = None  #: default of the attribute, None where there is none
    labels_from: str | None = None  #: the attribute that effective_labels and terraform_labels are made of
    annotations_from: str | None = None
    force_new_if_shrinks: tuple[str, ...] = ()  #: a lower number or version, a wider prefix, true to false
    custom_diffs: int = 0  #: plan-time checks of the real provider that are not modelled
    iam: str | None = None  #: ``member``, ``binding``, ``policy`` … for IAM types
    timeouts: dict[str, str] = {}
    block: Block = Block()

    @functools.cached_property
    def groups(self) -> tuple[tuple[str, Facts], ...]:
        """Dotted path and facts of everything that belongs to a group (conflicts and the like)."""
        return tuple(
            (path, item)
            for path, item in walk(self.block)
            if item.conflicts_with or item.exactly_one_of or item.at_least_one_of or item.required_with
        )


def walk(block: Block, prefix: str = "") -> Iterator[tuple[str, Attribute | NestedBlock]]:
    """Every attribute and nested block below ``block`` with its dotted path, parents before children."""
    for name, attribute in block.attributes.items():
        yield prefix + name, attribute
    for name, nested in block.blocks.items():
        yield prefix + name, nested
        yield from walk(nested.block, f"{prefix}{name}.")


def lookup(block: Block, path: str) -> Attribute | NestedBlock | None:
    """What stands at a dotted path below ``block``, such as ``node_config.spot``; None if nothing does."""
    *parents, name = path.split(".")
    for parent in parents:
        nested = block.blocks.get(parent)
        if nested is None:
            return None
        block = nested.block
    return block.attributes.get(name) or block.blocks.get(name)


class Index(msgspec.Struct, frozen=True):
    """``facts/provider/index.json``: where the data come from, and which types each provider has."""

    provider_version: str
    bindings_version: str  #: of the packages that names and shapes were read from
    checked: str  #: date of generation, YYYY-MM-DD
    sources: dict[str, str]  #: ``bindings`` of names and shapes, ``source`` of behaviour; version and date
    google: tuple[str, ...]
    google_beta: tuple[str, ...]  #: types that only google-beta has


@functools.cache
def index() -> Index:
    """The index of all types, with the release and the sources of the facts."""
    return msgspec.json.decode((DATA / "index.json").read_bytes(), type=Index)


@functools.cache
def type_names(provider: Provider = "google") -> frozenset[str]:
    """Names of all resource types that ``provider`` has; google-beta has every google type too."""
    names = index().google
    return frozenset(names if provider == "google" else names + index().google_beta)


@functools.cache
def resource_type(name: str, provider: Provider = "google") -> ResourceType:
    """The facts of one resource type as ``provider`` sees it.

    Raises:
        KeyError: the provider has no such type (or groundplan has no facts about it).
    """
    if name not in type_names(provider):
        raise KeyError(name)
    found = _read(DATA / f"{name}.json")
    return (
        found
        if provider == "google-beta"
        else msgspec.structs.replace(found, block=_without_beta(found.block))
    )


@functools.cache
def provider_config() -> ResourceType:
    """The schema of the provider's own configuration block."""
    return _read(DATA / "provider.json")


@functools.cache
def data_source(name: str) -> ResourceType:
    """The facts of one data source.

    Raises:
        KeyError: groundplan has no facts about it.
    """
    path = DATA / "data" / f"{name}.json"
    if not path.exists():
        raise KeyError(name)
    return _read(path)


@functools.cache
def data_source_names() -> frozenset[str]:
    """Names of the data sources that groundplan has facts about."""
    return frozenset(path.stem for path in (DATA / "data").glob("*.json"))


def _read(path: Path) -> ResourceType:
    return msgspec.json.decode(path.read_bytes(), type=ResourceType)


def _without_beta(block: Block) -> Block:
    """``block`` as google has it: without the attributes and blocks that only google-beta has."""
    attributes = {n: a for n, a in block.attributes.items() if a.provider == "google"}
    blocks = {n: b for n, b in block.blocks.items() if b.provider == "google"}
    kept = {n: msgspec.structs.replace(b, block=_without_beta(b.block)) for n, b in blocks.items()}
    return Block(attributes, kept)
