"""Planning a change: the state that Terraform shows before it applies.

Follows the plug-in SDK that the real provider is built on. Arguments that are left out get the
provider's default, keep what the cloud chose earlier (optional and computed), or are unknown until
apply; provider-level settings fill in project, region and zone where the provider does so at plan time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groundplan.facts.schema import Attribute, Block, NestedBlock, ResourceType

from .codec import UNKNOWN
from .sameness import covers, is_set, is_zero, same_set, suppressed
from .values import known_at_plan

State = dict[str, Any]
Settings = Mapping[str, Any]  #: the provider's own configuration

ATTRIBUTION = {"goog-terraform-provisioned": "true"}

#: Attributes that the provider rewrites before it plans (StateFunc in its source).
_REWRITES: dict[tuple[str, str], Callable[[str], str]] = {("google_storage_bucket", "location"): str.upper}


def plan(kind: ResourceType, config: State, prior: State | None, settings: Settings) -> State:
    """The planned state of one resource.

    Args:
        kind: its type.
        config: the configuration; None where nothing is written.
        prior: the last known state, None for a resource to be created.
        settings: the provider's own configuration.
    """
    planned = _plan_block(kind.block, config, prior)
    _rewrite(kind, planned)
    if prior is None:
        _fill_from_provider(kind, planned, settings)
    _plan_labels(kind, planned, prior, settings)
    _plan_annotations(kind, planned)
    return planned | known_at_plan(kind, planned)


def _plan_block(block: Block, config: State, prior: State | None) -> State:
    planned = {
        name: _plan_attribute(attribute, config.get(name), prior, name)
        for name, attribute in block.attributes.items()
    }
    for name, nested in block.blocks.items():
        planned[name] = _plan_nested(nested, config.get(name), prior, name)
    return planned


def _plan_attribute(attribute: Attribute, value: Any, prior: State | None, name: str) -> Any:
    old = None if prior is None else prior.get(name)
    if attribute.write_only:
        return None
    if value is None:
        if attribute.default is not None:
            return attribute.default
        if attribute.computed:
            return UNKNOWN if prior is None else old
        return old if is_zero(old) else None  # the SDK cannot tell "" from not set
    if value is UNKNOWN or prior is None:
        return value
    if (is_set(attribute.type) and same_set(value, old)) or suppressed(attribute, old, value):
        return old
    return value


def _plan_nested(nested: NestedBlock, value: Any, prior: State | None, name: str) -> Any:
    old = None if prior is None else prior.get(name)
    if value is UNKNOWN:
        return UNKNOWN
    if nested.nesting == "single":
        return None if value is None else _plan_block(nested.block, value, old)
    if not value and nested.computed:
        return UNKNOWN if prior is None else old
    elements = value or []
    partners = _partners(nested, elements, old or [])
    return [
        element if element is UNKNOWN else _plan_block(nested.block, element, partner)
        for element, partner in zip(elements, partners, strict=True)
    ]


def _partners(nested: NestedBlock, elements: list[Any], old: Any) -> list[State | None]:
    """The prior element that belongs to each configured one, None for a new one.

    Lists go by index. Members of a set have none: the prior member that agrees with everything
    configured belongs to it, and the most specific ones choose first.
    """
    if not isinstance(old, list):
        return [None] * len(elements)
    if nested.nesting == "list":
        return [old[i] if i < len(old) else None for i in range(len(elements))]
    partners: list[State | None] = [None] * len(elements)
    left = list(old)
    for index in sorted(range(len(elements)), key=lambda i: -_weight(elements[i])):
        partner = next((candidate for candidate in left if covers(elements[index], candidate)), None)
        if partner is not None:
            partners[index] = partner
            left.remove(partner)
    return partners


def _weight(value: Any) -> int:
    """How many values are written in a configuration."""
    if isinstance(value, dict):
        return sum(map(_weight, value.values()))
    if isinstance(value, list):
        return sum(map(_weight, value))
    return value is not None


def _rewrite(kind: ResourceType, planned: State) -> None:
    for (type_name, name), rule in _REWRITES.items():
        if kind.type == type_name and isinstance(planned.get(name), str):
            planned[name] = rule(planned[name])


def _fill_from_provider(kind: ResourceType, planned: State, settings: Settings) -> None:
    for name, default in kind.plan_defaults.items():
        if planned.get(name) is not UNKNOWN:
            continue
        if default.startswith("{{provider."):
            value, otherwise = settings.get(default[len("{{provider.") : -2]), UNKNOWN
        else:
            value, otherwise = (settings.get(name) if name == "deletion_policy" else None), default
        planned[name] = otherwise if value is None else value


def _plan_labels(kind: ResourceType, planned: State, prior: State | None, settings: Settings) -> None:
    """``terraform_labels`` is what Terraform sets; ``effective_labels`` adds what others have set."""
    if not kind.labels_from or "effective_labels" not in planned:
        return
    # Two types feed their labels without the attribution; facts mark them by a suffix.
    source = kind.labels_from.removesuffix("_no_attribution")
    own, everywhere = planned.get(source), settings.get("default_labels")
    if own is UNKNOWN or everywhere is UNKNOWN:
        planned["effective_labels"] = planned["terraform_labels"] = UNKNOWN
        return
    labels = {**(everywhere or {}), **(own or {})}
    if source == kind.labels_from and _attributed(prior, settings):
        labels |= ATTRIBUTION
    planned["terraform_labels"] = labels
    planned["effective_labels"] = {**_foreign_labels(prior), **labels}


def _attributed(prior: State | None, settings: Settings) -> bool:
    """Does the provider add its own label? By default only to what it creates."""
    if settings.get("add_terraform_attribution_label") is False:
        return False
    if prior is None or settings.get("terraform_attribution_label_addition_strategy") == "PROACTIVE":
        return True
    return ATTRIBUTION.keys() <= (prior.get("terraform_labels") or {}).keys()


def _foreign_labels(prior: State | None) -> dict[str, str]:
    if prior is None:
        return {}
    mine = prior.get("terraform_labels") or {}
    return {key: value for key, value in (prior.get("effective_labels") or {}).items() if key not in mine}


def _plan_annotations(kind: ResourceType, planned: State) -> None:
    if kind.annotations_from and "effective_annotations" in planned:
        own = planned.get(kind.annotations_from)
        planned["effective_annotations"] = own if own is UNKNOWN else own or {}
