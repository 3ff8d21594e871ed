"""The bucket that a state is in: whether it exists, and whether it keeps what is overwritten.

Only the engine has credentials, so it is asked: by ``init``, and by a data source that a real run adds to the
stacks whose bucket the blueprint names. Buckets that a foundation makes are versioned by construction.
"""

from __future__ import annotations

from typing import Any

import msgspec

from groundplan.engines.terraform.runner import RunError
from groundplan.engines.terraform.writer import Json
from groundplan.errors import EngineError
from groundplan.modules.graph import GcsState, Stack

#: Google's Go client, of which Terraform and OpenTofu quote the sentence. A bucket of somebody else, or one
#: that this identity may not see, is an error 403 with other words.
MISSING = "storage: bucket doesn't exist"

TYPE, NAME = "google_storage_bucket", "groundplan_state"


def is_missing(error: RunError) -> bool:
    """Did ``init`` fail because there is no such bucket, and for no other reason?"""
    return bool(error.diagnostics) and all(MISSING in one.summary for one in error.diagnostics)


def missing(stack: Stack) -> EngineError:
    """The error for a stack whose bucket has to exist before."""
    return EngineError(
        f"the bucket for the state of {stack.name} does not exist: {place(stack)}",
        hint="Apply the foundation first, which makes it: groundplan apply foundation\n"
        "A bucket that `state:` names has to be made by hand, with versioning.",
    )


def never_applied(stack: Stack) -> EngineError:
    """The error for an identity that may only read, and no state to read: ``init`` writes a first one."""
    return EngineError(
        f"{stack.name} was never applied, and this identity may not begin its state: {place(stack)}",
        hint="Plan and apply it once as an identity that may write there: the one that applies it, or an "
        "administrator. Later plans only read.",
    )


def place(stack: Stack) -> str:
    """``gs://BUCKET/PREFIX`` of a stack's state, or ``a local file``."""
    state = stack.state
    return f"gs://{state.bucket}/{state.prefix}" if isinstance(state, GcsState) else "a local file"


def watched(content: Json, stack: Stack) -> Json:
    """The stack's document with a data source that reads the bucket of its state."""
    if not isinstance(stack.state, GcsState):
        return content
    sources = content.get("data", {})
    buckets = {**sources.get(TYPE, {}), NAME: {"name": stack.state.bucket}}
    return {**content, "data": {**sources, TYPE: buckets}}


def check_versioned(plan: bytes, stack: Stack) -> None:
    """Refuse a bucket that forgets what is overwritten. A plan that did not read the bucket says nothing.

    Args:
        plan: ``terraform show -json`` of a plan of a ``watched`` document.
        stack: whose plan it is.

    Raises:
        EngineError: its bucket is not versioned.
    """
    resources = msgspec.json.decode(plan, type=_Plan).prior_state.values.root_module.resources
    found = next((one.values for one in resources if one.address == f"data.{TYPE}.{NAME}"), None)
    if found is None or any(versioning.get("enabled") for versioning in found.get("versioning") or ()):
        return
    raise EngineError(
        f"the bucket for the state of {stack.name} is not versioned: {place(stack)}",
        hint="A state that is overwritten or deleted by mistake would be lost. Turn versions on:\n"
        f"  gcloud storage buckets update gs://{found.get('name')} --versioning",
    )


class _Resource(msgspec.Struct, frozen=True):
    address: str
    values: dict[str, Any] = {}


class _Module(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


class _Values(msgspec.Struct, frozen=True):
    root_module: _Module = _Module()


class _State(msgspec.Struct, frozen=True):
    values: _Values = _Values()


class _Plan(msgspec.Struct):
    prior_state: _State = _State()
