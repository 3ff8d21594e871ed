"""The provider: one method for each call of Terraform's protocol.

google and google-beta are two ``Provider`` objects on one cloud. Terraform opens a connection for each
configured provider (each alias), and nothing in a call says which one is meant: settings are therefore
kept per connection. A connection that was never configured is refused, rather than served with
somebody else's project.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from groundplan.facts import schema as facts
from groundplan.facts.schema import ResourceType

from . import data_sources, planning, semantics
from .check import Path, problems
from .cloud import Cloud, CloudObject, Refused
from .codec import conform, decode, encode, without_unknown
from .faults import Faults
from .replacement import replacing_paths
from .schema_message import schema_bytes
from .templates import fill, import_readings
from .values import Maker
from .wire import ERROR, WARNING, pb

State = dict[str, Any]

#: Not part of an object: how long Terraform waits.
_TIMEOUTS = "timeouts"


class Provider:
    """Serves one provider.

    Args:
        name: which one.
        cloud: where its objects are.
        faults: made-up failures.
        types: serve only these resource types and those that the cloud has objects of; None: all.
    """

    def __init__(
        self, name: facts.Provider, cloud: Cloud, faults: Faults, types: Collection[str] | None = None
    ) -> None:
        self._name = name
        self._cloud = cloud
        self._faults = faults
        self._wanted = types
        self._settings: dict[str, State] = {}  # by connection
        self._schemas: dict[frozenset[str], bytes] = {}

    # -- what the provider has

    def metadata(self, request: Any, peer: str) -> Any:
        """GetMetadata."""
        return pb.GetMetadataResponse(
            resources=[pb.TypeName(type_name=name) for name in sorted(self._served())],
            data_sources=[pb.TypeName(type_name=name) for name in sorted(facts.data_source_names())],
        )

    def schema(self, request: Any, peer: str) -> bytes:
        """GetSchema, already serialized."""
        served = self._served()
        if served not in self._schemas:
            self._schemas[served] = schema_bytes(self._name, served)
        return self._schemas[served]

    def _served(self) -> frozenset[str]:
        everything = facts.type_names(self._name)
        if self._wanted is None:
            return everything
        return everything & (frozenset(self._wanted) | self._cloud.types())

    def _kind(self, name: str) -> ResourceType:
        return facts.resource_type(name, self._name)

    # -- configuration

    def prepare(self, request: Any, peer: str) -> Any:
        """PrepareProviderConfig: check the provider block."""
        found = problems(facts.provider_config(), decode(request.config.msgpack))
        return pb.PrepareConfigResponse(prepared_config=request.config, diagnostics=_diagnostics(found))

    def configure(self, request: Any, peer: str) -> Any:
        """Configure: keep the settings of this connection."""
        self._settings[peer] = decode(request.config.msgpack) or {}
        return pb.DiagnosticsResponse()

    def _configured(self, peer: str) -> State:
        """The settings of a connection; while planning, some may be unknown."""
        try:
            return self._settings[peer]
        except KeyError:
            raise Refused(
                "The offline provider does not know this connection",
                "Its settings were sent on another one. Run the command again.",
            ) from None

    def stop(self, request: Any, peer: str) -> Any:
        """Stop: what runs is finished, so that nothing is left half made."""
        return pb.StopResponse()

    # -- resources

    def validate(self, request: Any, peer: str) -> Any:
        """ValidateResourceTypeConfig."""
        kind = self._kind(request.type_name)
        config = conform(kind.block, decode(request.config.msgpack))
        return pb.DiagnosticsResponse(diagnostics=_diagnostics(problems(kind, config)))

    def validate_data(self, request: Any, peer: str) -> Any:
        """ValidateDataSourceConfig."""
        found = problems(facts.data_source(request.type_name), decode(request.config.msgpack))
        return pb.DiagnosticsResponse(diagnostics=_diagnostics(found))

    def upgrade(self, request: Any, peer: str) -> Any:
        """UpgradeResourceState: make a state from disk fit the schema."""
        state = conform(self._kind(request.type_name).block, json.loads(request.raw_state.json))
        return pb.UpgradeResponse(upgraded_state=_value(state))

    def read(self, request: Any, peer: str) -> Any:
        """ReadResource: the object as it is now in the cloud; null if it is gone."""
        self._configured(peer)
        kind = self._kind(request.type_name)
        current = decode(request.current_state.msgpack)
        self._faults.strike(kind.type, "read", current["id"])
        found = self._cloud.get(kind.type, _key(kind, request.private, current))
        state = _state_of(kind, found, current.get(_TIMEOUTS)) if found else None
        return pb.ReadResponse(new_state=_value(state), private=request.private)

    def plan(self, request: Any, peer: str) -> Any:
        """PlanResourceChange."""
        kind, settings = self._kind(request.type_name), self._configured(peer)
        prior = decode(request.prior_state.msgpack)
        config = conform(kind.block, decode(request.config.msgpack))
        self._faults.strike(kind.type, "plan", prior["id"] if prior else "")
        planned = planning.plan(kind, config, prior, settings)
        replaces = replacing_paths(kind, prior, planned, config) if prior else ()
        # The legacy type system lets planned values differ from the configuration: the provider's
        # defaults do, as they do with the real one.
        return pb.PlanResponse(
            planned_state=_value(planned),
            requires_replace=[_path(path) for path in replaces],
            planned_private=request.prior_private,
            legacy_type_system=True,
        )

    def apply(self, request: Any, peer: str) -> Any:
        """ApplyResourceChange.

        A refusal answers with the prior state; without one Terraform would record an object without an id.
        """
        kind, settings = self._kind(request.type_name), without_unknown(self._configured(peer))
        prior, planned = decode(request.prior_state.msgpack), decode(request.planned_state.msgpack)
        private = request.planned_private
        if planned is None:
            self._delete(kind, prior, private)
            return pb.ApplyResponse(new_state=_value(None), legacy_type_system=True)
        if prior is None:
            state, private = self._create(kind, planned, settings)
        else:
            state = self._update(kind, prior, planned, settings, private)
        return pb.ApplyResponse(
            new_state=_value(state),
            private=private,
            diagnostics=self._late_failure(kind, state),
            legacy_type_system=True,
        )

    def _late_failure(self, kind: ResourceType, state: State) -> list[Any]:
        """A made-up failure after the cloud did its part. Terraform then marks a new object as tainted."""
        try:
            self._faults.strike(kind.type, "finish", state["id"])
        except Refused as refusal:
            return [error(refusal.summary, refusal.detail)]
        return []

    def _create(self, kind: ResourceType, planned: State, settings: State) -> tuple[State, bytes]:
        adopts = semantics.adopts(kind)
        for attempt in itertools.count():
            maker = Maker(kind, planned, settings, attempt=attempt)
            if not maker.served or self._cloud.get(kind.type, maker.id) is None:
                break
        state = maker.complete()
        stored = _stored(state)
        item = CloudObject(kind.type, maker.id, semantics.storage_key(kind, maker.id, stored), stored)
        self._faults.strike(kind.type, "create", item.id)
        semantics.refuse_create(self._cloud, kind, item)
        if adopts:
            self._cloud.put(item)
        elif not self._cloud.add(item):
            raise semantics.already_exists(item)
        return state, json.dumps({"offline": item.key}).encode()

    def _update(
        self, kind: ResourceType, prior: State, planned: State, settings: State, private: bytes
    ) -> State:
        state = Maker(kind, planned, settings, prior["id"]).complete()
        item = CloudObject(kind.type, prior["id"], _key(kind, private, prior), _stored(state))
        self._faults.strike(kind.type, "update", item.id)
        if kind.iam or kind.service == "accesscontextmanager.googleapis.com":
            semantics.refuse_write(self._cloud, item)
        self._cloud.put(item)
        return state

    def _delete(self, kind: ResourceType, prior: State, private: bytes) -> None:
        item = CloudObject(kind.type, prior["id"], _key(kind, private, prior), _stored(prior))
        self._faults.strike(kind.type, "delete", item.id)
        semantics.refuse_delete(self._cloud, item, prior)
        semantics.delete(self._cloud, item, prior)
        self._faults.strike(kind.type, "finish", item.id)

    # -- import

    def import_(self, request: Any, peer: str) -> Any:
        """ImportResourceState: by id, or in one of the documented forms."""
        kind, settings = self._kind(request.type_name), without_unknown(self._configured(peer))
        found = self._find(kind, request.id, settings)
        if found is None:
            raise Refused(
                f"Cannot import non-existent remote object: {kind.type} {request.id}",
                "Offline, only what was applied to the same offline cloud can be imported. "
                f"Forms: {', '.join(kind.import_formats) or kind.id}",
            )
        imported = pb.ImportedResource(
            type_name=kind.type,
            state=_value(_state_of(kind, found, None)),
            private=json.dumps({"offline": found.key}).encode(),
        )
        return pb.ImportResponse(imported_resources=[imported])

    def _find(self, kind: ResourceType, given: str, settings: State) -> CloudObject | None:
        objects = list(self._cloud.all(kind.type))
        ids = [given]
        for parts in import_readings(kind, given):
            id_, title = _id_from(kind, parts, settings), parts.get("condition_title")
            # The id of a conditional grant goes on with the condition's text, which no import form has.
            ids += [item.id for item in objects if item.id.startswith(f"{id_}/{title}/")] if title else [id_]
        return next((item for id_ in ids for item in objects if item.id == id_), None)

    # -- data sources

    def read_data(self, request: Any, peer: str) -> Any:
        """ReadDataSource."""
        kind, settings = facts.data_source(request.type_name), without_unknown(self._configured(peer))
        state = data_sources.read(kind, decode(request.config.msgpack), settings, self._cloud)
        return pb.ReadDataResponse(state=_value(state))


def error(summary: str, detail: str = "") -> Any:
    """A Terraform diagnostic that stops the operation."""
    return pb.Diagnostic(severity=ERROR, summary=summary, detail=detail)


def _diagnostics(found: Iterable[Any]) -> list[Any]:
    return [
        pb.Diagnostic(
            severity=WARNING if problem.warning else ERROR,
            summary=problem.text if problem.warning else f"{problem.path[-1]}: {problem.text}",
            attribute=_path(problem.path),
        )
        for problem in found
    ]


def _path(path: Path) -> Any:
    return pb.AttributePath(
        steps=[
            pb.Step(attribute_name=step) if isinstance(step, str) else pb.Step(element_key_int=step)
            for step in path
        ]
    )


def _value(state: State | None) -> Any:
    return pb.DynamicValue(msgpack=encode(state))


def _state_of(kind: ResourceType, item: CloudObject, timeouts: State | None) -> State:
    try:
        state: State = conform(kind.block, item.attributes | {_TIMEOUTS: timeouts})
    except (AttributeError, TypeError, ValueError) as misfit:
        raise Refused(
            f"The offline object {item.type} {item.id} does not fit its schema: {misfit}",
            "It was edited by hand: blocks are lists of objects, numbers and texts as the schema has them.",
        ) from None
    return state


def _stored(state: State) -> State:
    return {name: value for name, value in state.items() if name != _TIMEOUTS}


def _key(kind: ResourceType, private: bytes, state: State) -> str:
    """The name that an object is stored under, which Terraform keeps beside its state.

    Of a tainted object Terraform keeps nothing, not even the little that the real provider leaves.

    Raises:
        Refused: the state was written by the real provider. Its ids mean nothing here, and a plan
            would say that everything was deleted.
    """
    if not private:
        return semantics.storage_key(kind, state["id"], _stored(state))
    try:
        return str(json.loads(private)["offline"])
    except (KeyError, ValueError, TypeError):
        raise Refused(
            f"The state of {state['id']} was not written offline",
            "Offline and real runs must not share a state: this one belongs to the real provider.",
        ) from None


def _id_from(kind: ResourceType, parts: Mapping[str, str], settings: State) -> str:
    known = {**settings, **parts}
    return fill(kind.id, lambda name: known.get(name, ""))
