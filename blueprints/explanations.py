"""What each code of a diagnostic means, for ``groundplan explain`` and the list of rules in the docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from groundplan.blueprints.rules import RULES


@dataclass(frozen=True)
class Explanation:
    """One code: what it demands, why, and who says so."""

    code: str
    title: str
    why: str
    source: str


_YAML = "YAML specification and the blueprint language"
_LANGUAGE = "The blueprint language"

#: Codes of the reader itself.
_READER = (
    Explanation("SY001", "the file is YAML", "Nothing can be read of a file that is not.", _YAML),
    Explanation(
        "SY002",
        "a key is text and is written once in a map",
        "Readers of YAML keep the last of two equal keys and drop the first without a word.",
        _YAML,
    ),
    Explanation(
        "SY003",
        "aliases and merge keys lead to an anchor above them",
        "An alias stands for what its anchor names; a merge key (<<) takes a map or a list of maps.",
        _YAML,
    ),
    Explanation(
        "SY004",
        "there are no tags",
        "Tags make readers build objects. A blueprint is maps, lists and text, whatever a tag says.",
        _YAML,
    ),
    Explanation(
        "SY005",
        "the file has a reasonable size",
        "A few lines of aliases can stand for more values than any machine holds.",
        _YAML,
    ),
    Explanation("SY006", "the file is one document with something in it", "A blueprint is one file.", _YAML),
    Explanation(
        "BP001",
        "only known keys are written",
        "A misspelt key would be a setting that silently does nothing.",
        _LANGUAGE,
    ),
    Explanation("BP002", "what is needed is written", "Some keys have no sensible default.", _LANGUAGE),
    Explanation("BP003", "values are what their keys take", "Types, units and words are checked.", _LANGUAGE),
    Explanation(
        "BP004",
        "an environment has a tier",
        "The tier decides on protection, on rights and on the order of applies. Three names imply theirs.",
        _LANGUAGE,
    ),
    Explanation(
        "BP005",
        "null removes something",
        "A written null removes what the defaults set; where they set nothing it is probably a slip.",
        _LANGUAGE,
    ),
    Explanation(
        "BP006",
        "no value is left blank",
        "A blank is an empty map. For a value or a list it says neither what it is nor that it is gone.",
        _LANGUAGE,
    ),
    Explanation(
        "CO001",
        "capacity is one way to obtain machines",
        "Machines of a pool come from one place.",
        "Cluster Toolkit, GKE node pool module",
    ),
    Explanation(
        "CO004",
        "Spot machines use no reservation",
        "GKE refuses a Spot pool with a reservation.",
        "Cluster Toolkit, GKE node pool module",
    ),
    Explanation(
        "CO005",
        "flex-start and queued machines use no reservation",
        "GKE wants the reservation affinity of such a pool to be none.",
        "Google Cloud docs, Run a small batch workload with GPUs and flex-start",
    ),
)


def explanations() -> Mapping[str, Explanation]:
    """Every code that a blueprint's diagnostics may have."""
    rules = (Explanation(rule.code, rule.title, rule.why, rule.source) for rule in RULES)
    return {one.code: one for one in sorted((*_READER, *rules), key=lambda one: one.code)}
