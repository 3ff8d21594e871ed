"""The rules of the language: which combinations cannot work, and which are probably not meant.

One file per area. A rule is added by writing its function; ``RULES`` finds it.
"""

from groundplan.blueprints.rules import (
    automation,
    endpoint,
    exhaustion,
    folders,
    labels,
    later,
    maintenance,
    names,
    nodes,
    ranges,
    references,
    renames,
    taints,
    text,
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
    folders,
    endpoint,
    nodes,
    maintenance,
    later,
)

#: All rules, by code.
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (rule for area in _AREAS for rule in vars(area).values() if isinstance(rule, Rule)),
        key=lambda rule: rule.code,
    )
)
