"""The graph of resources that a stack consists of, checked against the provider schema as it is built.

``Graph.add`` refuses a misspelt attribute, a missing or mistyped value, a wrong nesting, a value outside an
enum or a conflict **at the line that made it**, with the attribute's path and a suggestion. What a module
writes here is therefore valid Terraform by construction; whether it is *allowed* was decided before, in
``blueprints.rules``.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from groundplan.errors import InternalError
from groundplan.facts.schema import Provider, ResourceType, data_source, resource_type, type_names
from groundplan.modules import check

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class GraphError(InternalError):
    """A module made a resource that the provider schema does not allow.

    The message starts with ``file:line`` of the call, then the address and the attribute's path.
    """


@dataclass(frozen=True, slots=True)
class Reference:
    """The value of another resource's attribute, known at the latest when that resource exists."""

    resource: Resource
    attribute: str  #: Terraform's path: ``id``, ``master_auth[0].cluster_ca_certificate``

    def __str__(self) -> str:
        """References become text only in an engine's own language: use ``text(…)`` to build a string."""
        raise TypeError(f"use text(…) to put {self.resource.address}.{self.attribute} into a string")


@dataclass(frozen=True, slots=True)
class Text:
    """A string with references in it: literal parts and references in turn."""

    parts: tuple[str | Reference, ...]

    def __str__(self) -> str:
        """As for a reference: only an engine may render it."""
        raise TypeError("use text(…) to put a text with references into a string")


def text(*parts: str | Reference | Text) -> Text:
    """A string made of literals and references: ``text("projects/", project["number"])``."""
    flat: list[str | Reference] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Text) else (part,))
    return Text(tuple(flat))


@dataclass(frozen=True, slots=True)
class Name:
    """A resource's name in the stack, and those it had before blueprint keys were renamed, newest first."""

    now: str
    before: str  #: the same as ``now`` if nothing was renamed
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """Terraform's lifecycle block. ``ignore_changes`` holds attribute paths, or ``("all",)``."""

    prevent_destroy: bool = False
    create_before_destroy: bool = False
    ignore_changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One resource or data source of a stack. Two are equal only if they are the same object."""

    type: str
    name: str
    attributes: Mapping[str, Any]
    provider: Provider = "google"
    mode: Literal["managed", "data"] = "managed"
    depends_on: tuple[Resource, ...] = ()
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    #: Path of the blueprint key that asked for it: below the environment, in the foundation below the file.
    origin: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """Terraform's address: ``google_compute_network.main``, with ``data.`` before a data source."""
        return f"data.{self.type}.{self.name}" if self.mode == "data" else f"{self.type}.{self.name}"

    @property
    def schema(self) -> ResourceType:
        """The facts of this resource's type as its provider has them."""
        return data_source(self.type) if self.mode == "data" else resource_type(self.type, self.provider)

    def __getitem__(self, attribute: str) -> Reference:
        """A reference to an attribute, checked: ``network["id"]``.

        Raises:
            GraphError: the type has no such attribute.
        """
        problem = check.reference(self.schema, attribute)
        if problem:
            raise GraphError(f"{_caller()}: {self.address}: {problem}")
        return Reference(self, attribute)


@dataclass(frozen=True, slots=True)
class Output:
    """A value that the stack tells the world."""

    value: Any
    description: str = ""
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """Terraform's import block: an object that exists already becomes ``to``."""

    to: Resource
    id: str


@dataclass(frozen=True, slots=True)
class Removed:
    """Terraform's removed block: forget an address without destroying the object."""

    address: str


class Graph:
    """Resources with their dependencies, in the order they were added.

    Args:
        project: the project that resources belong to unless they say otherwise; None for none.
        region: the provider's default region; None for none.
        labels: Google Cloud labels that every resource that can bear labels gets.
    """

    def __init__(
        self,
        *,
        project: str | None = None,
        region: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.project = project
        self.region = region
        self.labels = dict(labels or {})
        self.outputs: dict[str, Output] = {}
        self.moves: dict[str, str] = {}
        self.imports: list[Import] = []
        self.removed: list[Removed] = []
        self._resources: dict[str, Resource] = {}
        self._origin: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())

    def __len__(self) -> int:
        return len(self._resources)

    def __contains__(self, address: object) -> bool:
        return address in self._resources

    def __getitem__(self, address: str) -> Resource:
        return self._resources[address]

    def of_type(self, *types: str) -> list[Resource]:
        """All managed resources of these types, in the order they were added."""
        return [r for r in self if r.type in types and r.mode == "managed"]

    @contextlib.contextmanager
    def at(self, *path: str) -> Iterator[None]:
        """Resources added inside belong to the blueprint key at ``path``, below that of the outer ``at``."""
        outer, self._origin = self._origin, (*self._origin, *path)
        try:
            yield
        finally:
            self._origin = outer

    def add(
        self,
        type: str,
        name: str | Name,
        /,
        *,
        provider: Provider = "google",
        depends_on: Sequence[Resource] = (),
        lifecycle: Lifecycle | None = None,
        **attributes: Any,
    ) -> Resource:
        """Add a resource, checked against the provider schema.

        A nested block is a mapping (one block) or a list of mappings. An attribute that is None is left
        out; an empty mapping or list stays, since an empty block means something in Terraform. Values that
        come from other resources are references (``network["id"]``) or texts (``text(…)``).

        Args:
            type: ``google_compute_network`` …
            name: the name in the stack; it must derive from blueprint names only, never from an order.
                With a ``Name`` whose ``before`` differs, Terraform moves the resource from there.
            provider: ``google-beta`` only where google lacks the type or an attribute.
            depends_on: what must exist before, beyond what the references already say.
            lifecycle: Terraform's lifecycle settings.
            attributes: Google's own attribute names.

        Raises:
            GraphError: with the caller's line, the path of the attribute and what to write instead; all
                problems of the resource at once.
        """
        if type not in type_names(provider):
            other = type not in type_names("google-beta")
            hint = check.suggestion(type, type_names(provider)) if other else " Only google-beta has it."
            raise GraphError(f"{_caller()}: {provider} has no resource type {type}.{hint}")
        now = name.now if isinstance(name, Name) else name
        resource = Resource(
            type,
            now,
            check.present(attributes),
            provider,
            "managed",
            tuple(depends_on),
            lifecycle or Lifecycle(),
            self._origin,
        )
        self._put(resource)
        if isinstance(name, Name) and name.before != now:
            later = resource.address
            for former in (name.before, *name.earlier):
                self._move(f"{type}.{former}", later)
                later = f"{type}.{former}"
        return resource

    def data(
        self, type: str, name: str, /, *, depends_on: Sequence[Resource] = (), **attributes: Any
    ) -> Resource:
        """Add a data source; ``add`` says how attributes are written and what is checked."""
        resource = Resource(
            type,
            name,
            check.present(attributes),
            "google",
            "data",
            tuple(depends_on),
            Lifecycle(),
            self._origin,
        )
        return self._put(resource)

    def output(self, name: str, value: Any, description: str = "", *, sensitive: bool = False) -> None:
        """Tell the world a value (a literal, a reference, a text, or lists and maps of them)."""
        if name in self.outputs:
            raise GraphError(f"{_caller()}: the output {name} exists already")
        self.outputs[name] = Output(value, description, sensitive)

    def move(self, old: str, new: Resource) -> None:
        """The object at the address ``old`` is now ``new``: Terraform moves it instead of replacing it.

        Raises:
            GraphError: ``old`` is still the address of a resource, or was moved already.
        """
        self._move(old, new.address)

    def adopt(self, resource: Resource, id: str) -> None:
        """``resource`` exists in the cloud under ``id``: Terraform imports it instead of creating it."""
        self.imports.append(Import(resource, id))

    def forget(self, address: str) -> None:
        """Drop ``address`` from the state and leave its object alone."""
        self.removed.append(Removed(address))

    def references(self, resource: Resource) -> list[Resource]:
        """What ``resource`` depends on directly, by reference or by ``depends_on``, without repetition."""
        found = dict.fromkeys(resource.depends_on)
        found.update(dict.fromkeys(reference.resource for reference in references(resource.attributes)))
        return list(found)

    def ancestors(self, resource: Resource) -> set[Resource]:
        """Everything that must exist before ``resource``."""
        seen: set[Resource] = set()
        queue = [resource]
        while queue:
            for needed in self.references(queue.pop()):
                if needed not in seen:
                    seen.add(needed)
                    queue.append(needed)
        return seen

    def _move(self, old: str, later: str) -> None:
        """A step of a move: what is called ``later`` now was called ``old`` before."""
        if old in self._resources or old in self.moves:
            raise GraphError(f"{_caller()}: {old} cannot become {later}: the address is in use")
        self.moves[old] = later

    def _put(self, resource: Resource) -> Resource:
        problems = list(self._problems(resource))
        if problems:
            where = _caller()
            raise GraphError("\n".join(f"{where}: {resource.address}: {problem}" for problem in problems))
        self._resources[resource.address] = resource
        return resource

    def _problems(self, resource: Resource) -> Iterator[str]:
        if not NAME.fullmatch(resource.name):
            yield f"{resource.name!r} is not a Terraform name"
        if resource.address in self._resources or resource.address in self.moves:
            yield "this address exists already"
        for needed in self.references(resource):
            if self._resources.get(needed.address) is not needed:
                yield f"{needed.address} is not part of this graph"
        try:
            schema = resource.schema
        except KeyError:
            yield f"there is no data source {resource.type}"
            return
        problems = list(check.resource(schema, resource.attributes))
        if problems and resource.mode == "managed" and resource.provider == "google":
            problems = list(_with_beta(resource, problems))
        yield from problems


@dataclass(frozen=True, slots=True)
class GcsState:
    """State in a Cloud Storage bucket, under a prefix of its own."""

    bucket: str
    prefix: str


@dataclass(frozen=True, slots=True)
class LocalState:
    """State in a file of the work directory."""


@dataclass(frozen=True, slots=True)
class Stack:
    """What gets its own state: a name (``foundation`` or the environment's), a graph, a place for the state.

    ``providers`` maps provider names to version constraints; ``engine_version`` is the one on Terraform.
    ``written`` is a configuration in Terraform's JSON syntax that stands in for the graph's: that of an
    environment which is no longer in the blueprint.
    """

    name: str
    graph: Graph
    state: GcsState | LocalState = field(default_factory=LocalState)
    providers: Mapping[str, str] = field(default_factory=dict)
    engine_version: str = ">= 1.11"
    written: Mapping[str, Any] | None = None


def references(value: Any) -> Iterator[Reference]:
    """Every reference inside a value, depth first."""
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, Text):
        for part in value.parts:
            if isinstance(part, Reference):
                yield part
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from references(inner)


def _with_beta(resource: Resource, problems: list[str]) -> Iterator[str]:
    """The problems of a google resource, each with a hint if google-beta would not have it."""
    beta = check.resource(resource_type(resource.type, "google-beta"), resource.attributes)
    paths = {problem.partition(":")[0] for problem in beta}
    for problem in problems:
        yield problem if problem.partition(":")[0] in paths else f"{problem} Only google-beta has it."


def _caller() -> str:
    """``file:line`` of the first frame outside this file: the module that asked."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename in (__file__, contextlib.__file__):
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    return f"{path.parent.name}/{path.name}:{frame.f_lineno}"
