"""The rules of the language: which combinations cannot work, and which are probably not meant.

One file per area. A rule is added by writing its function; ``RULES`` finds it.
"""

from groundplan.blueprints.rules import (
    access,
    automation,
    consumption,
    data,
    disks,
    endpoint,
    exhaustion,
    folders,
    gcsfuse,
    gpu,
    hardware,
    hyperdisk,
    image_streaming,
    labels,
    later,
    maintenance,
    names,
    network,
    node_networks,
    nodes,
    notebooks,
    org_policies,
    passage,
    perimeter,
    placement,
    ranges,
    references,
    renames,
    reservations,
    taints,
    text,
    tpu,
    upgrades,
    zones,
)
from groundplan.blueprints.rules.base import Rule

_AREAS = (
    names,
    renames,
    labels,
    taints,
    ranges,
    exhaustion,
    zones,
    references,
    text,
    automation,
    access,
    data,
    folders,
    endpoint,
    network,
    perimeter,
    passage,
    org_policies,
    nodes,
    maintenance,
    later,
    hardware,
    gpu,
    consumption,
    reservations,
    placement,
    tpu,
    node_networks,
    disks,
    hyperdisk,
    gcsfuse,
    image_streaming,
    upgrades,
    notebooks,
)

#: All rules, by code.
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (rule for area in _AREAS for rule in vars(area).values() if isinstance(rule, Rule)),
        key=lambda rule: rule.code,
    )
)
