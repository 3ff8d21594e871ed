"""The guard before ``apply`` and ``destroy``: what refuses to be deleted is known before anything starts.

A provider refuses to delete a protected resource only when its turn comes: a destroy of 129 resources removed
115 of them before the protected cluster stopped it (seen with Terraform 1.11 and 1.15). So the whole plan is
refused here, with the list. Taking protection away is a step of its own: apply ``protect: false``, then
destroy.

Two degrees:

- ``protected``: the cloud or the blueprint refuses. ``guard`` raises ``PolicyError``, exit code 3 ("policy
  findings"), since it is groundplan that stops, before the engine (4) is asked.
- ``dangerous``: allowed, but something is lost for good. The command asks, or wants it confirmed beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundplan.errors import PolicyError
from groundplan.plans.differences import may_replace
from groundplan.plans.losses import PRECIOUS, drained, loses
from groundplan.plans.model import Action, Change, Plan
from groundplan.plans.places import Origin, origin_of
from groundplan.plans.words import counted, replacing

_STEPS = "apply `protect: false` first, then destroy"
#: Attributes by which a provider refuses to delete (provider docs of each type), with the refusing value.
_REFUSING: tuple[tuple[str, object], ...] = (
    ("deletion_protection", True),
    ("deletion_protection_enabled", True),
    ("deletion_policy", "PREVENT"),
)
#: Made again like it was; all else that is precious does not go from a protected environment.
_REMADE = ("google_container_node_pool",)
_PREVENTED = re.compile(r"Resource (.+?) has lifecycle\.prevent_destroy set")
_FRAME = re.compile(r"\x1b\[[0-9;]*m|[│╷╵]")


@dataclass(frozen=True, slots=True)
class Finding:
    """One resource that the plan must not, or not silently, delete.

    Attributes:
        address: Terraform's address.
        reason: why, one clause.
        hint: what to do instead.
        origin: path of the key inside the environment that asked for the resource; empty if not known.
    """

    address: str
    reason: str
    hint: str = ""
    origin: Origin = ()

    def __str__(self) -> str:
        where = f"{'/'.join(self.origin)} ({self.address})" if self.origin else self.address
        return f"{where}: {self.reason}"


def protected(
    plan: Plan, *, origins: Mapping[str, Origin] | None = None, environment_protected: bool = False
) -> list[Finding]:
    """Resources that the plan would delete or replace and that refuse it.

    What counts is the state before: the provider looks there, so a plan that lifts the protection and deletes
    at once fails too. Whether a bucket is empty cannot be known; Cloud Storage refuses a full one unless
    ``force_destroy`` is set.

    Args:
        plan: the plan of an apply or of a destroy.
        origins: address → path of the key that asked for the resource.
        environment_protected: ``protect`` of the environment. Then what holds data is not deleted or replaced
            either, whether it refuses by itself or not.
    """
    origins = origins or {}
    found = []
    for change in _deleted(plan):
        reason = _refusal(change)
        if not reason and environment_protected and loses(change) and change.type not in _REMADE:
            reason = "the environment is protected"
        if reason:
            found.append(Finding(change.address, reason, _STEPS, origin_of(change, origins)))
    return found


def dangerous(
    plan: Plan, *, origins: Mapping[str, Origin] | None = None, offline: bool = False
) -> list[Finding]:
    """Deletions and replacements that lose something for good and need a person's confirmation.

    Args:
        plan: the plan.
        origins: address → path of the key that asked for the resource.
        offline: planned against the stand-in. Then an update counts too, if nobody knows whether the real
            provider replaces instead.
    """
    found = []
    for change in plan.of_type(*PRECIOUS):
        doubt = ", ".join(may_replace(change)) if offline else ""
        if loses(change):
            reason = _loss(change)
        elif doubt:
            reason = f"update or replacement: not known offline ({doubt})"
        else:
            continue
        found.append(Finding(change.address, reason, _hint(change), origin_of(change, origins or {})))
    return found


def guard(
    plan: Plan,
    stack: str,
    *,
    origins: Mapping[str, Origin] | None = None,
    environment_protected: bool = False,
) -> None:
    """Stop before anything starts if the plan deletes what is protected.

    Raises:
        PolicyError: with all such resources; exit code 3.
    """
    findings = protected(plan, origins=origins, environment_protected=environment_protected)
    if findings:
        raise refusal(stack, findings)


def refusal(stack: str, findings: Sequence[Finding]) -> PolicyError:
    """The error that says that nothing was done, and why."""
    return PolicyError(
        f"{stack} is not touched: the plan deletes {counted(len(findings), 'protected thing')}",
        hint=f"If that is meant, {_STEPS}.",
        detail="\n".join(map(str, findings)),
    )


def explain_prevent_destroy(
    stderr: str, plan: Plan | None = None, *, origins: Mapping[str, Origin] | None = None
) -> list[Finding]:
    """What Terraform's error "Instance cannot be destroyed" means in the blueprint's words.

    Terraform refuses at plan time what has ``prevent_destroy``, one error for each resource. It still writes
    the plan file (``errored``), which tells why the resource would go.

    Args:
        stderr: what Terraform or OpenTofu wrote, with or without its frame of lines and colours.
        plan: the plan with the error.
        origins: address → path of the key that asked for the resource.

    Returns:
        One finding for each resource; none if the error is another one.
    """
    text = " ".join(_FRAME.sub("", stderr).split())
    return [_prevented(address, plan, origins or {}) for address in dict.fromkeys(_PREVENTED.findall(text))]


def _prevented(address: str, plan: Plan | None, origins: Mapping[str, Origin]) -> Finding:
    change = plan.by_address.get(address) if plan else None
    if change is None:
        reason = "it is protected, and the plan deletes or replaces it"
        return Finding(address, reason, _STEPS, origins.get(address, ()))
    reason = f"it is protected, and the plan {_what_happens(change)}"
    return Finding(address, reason, _STEPS, origin_of(change, origins))


def _deleted(plan: Plan) -> list[Change]:
    return [change for change in plan.changes if change.mode == "managed" and change.deletes]


def _refusal(change: Change) -> str:
    for attribute, refusing in _REFUSING:
        value = change.before[attribute]
        if value.is_known and value.raw == refusing:
            return f"{attribute} is {value}"
    return ""


def _loss(change: Change) -> str:
    nodes = drained(change) if change.type == "google_container_node_pool" else ""
    return f"the plan {_what_happens(change)}: {loses(change)}{f' ({nodes})' if nodes else ''}"


def _what_happens(change: Change) -> str:
    return f"replaces it, since {replacing(change)}" if change.action is Action.REPLACE else "deletes it"


def _hint(change: Change) -> str:
    if change.action is Action.DELETE:
        return "To keep it, leave its key in the blueprint."
    return "To keep it, add a new one beside it, move over, and remove this one later."
