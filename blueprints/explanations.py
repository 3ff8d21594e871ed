"""What each code of a diagnostic means, for ``groundplan explain``, ``groundplan rules`` and the docs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from groundplan.blueprints.diagnostics import Severity
from groundplan.blueprints.rules import RULES
from groundplan.blueprints.rules.areas import area
from groundplan.blueprints.rules.base import LANGUAGE, Basis
from groundplan.blueprints.rules.sources import cited


@dataclass(frozen=True)
class Explanation:
    """One code: what it demands, why, who says so, and what that rests on."""

    code: str
    title: str
    why: str
    source: str
    severity: Severity = "error"
    basis: Basis = "language"

    @property
    def waivable(self) -> bool:
        """Whether a waiver may let it pass: what Google Cloud refuses, or what makes no sense, never may."""
        return self.severity != "error" or self.basis in ("peer", "unwise")

    @property
    def tags(self) -> tuple[str, ...]:
        """What lists can be narrowed by."""
        return area(self.code).tag, self.severity, self.basis


#: What a basis means, in words.
BASES: dict[Basis, str] = {
    "api": "API refuses: Google Cloud, GKE or the provider refuses what breaks it",
    "language": "language: what breaks it has no meaning",
    "peer": "peer's policy: Cluster Toolkit or xpk refuse it; Google Cloud perhaps not",
    "unwise": "unwise: it works, and is probably not what was meant",
}

_YAML = "YAML specification and the blueprint language"

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
        LANGUAGE,
    ),
    Explanation("BP002", "what is needed is written", "Some keys have no sensible default.", LANGUAGE),
    Explanation("BP003", "values are what their keys take", "Types, units and words are checked.", LANGUAGE),
    Explanation(
        "BP004",
        "an environment has a tier",
        "The tier decides on protection, on rights and on the order of applies. Three names imply theirs.",
        LANGUAGE,
    ),
    Explanation(
        "BP005",
        "null removes something",
        "A written null removes what the defaults set; where they set nothing it is probably a slip.",
        LANGUAGE,
    ),
    Explanation(
        "BP006",
        "no value is left blank",
        "A blank is an empty map. For a value or a list it says neither what it is nor that it is gone.",
        LANGUAGE,
    ),
    Explanation(
        "CO001",
        "capacity is one way to obtain machines",
        "Machines of a pool come from one place. The reader refuses two, so this cannot be waived.",
        cited("CT XPK"),
    ),
    Explanation(
        "CO002",
        "flex-start machines are not Spot",
        "Spot machines can be taken away at any time, flex-start ones only at the end of their run.",
        cited("CT"),
    ),
    Explanation(
        "CO003",
        "queued machines are not Spot",
        "Queued machines are lent until the end of their run, Spot ones until somebody pays more.",
        cited("CT"),
    ),
    Explanation(
        "CO004",
        "Spot machines use no reservation",
        "GKE refuses a Spot pool with a reservation. groundplan writes NO_RESERVATION for it.",
        cited("CT"),
    ),
    Explanation(
        "CO005",
        "flex-start and queued machines use no reservation",
        "GKE wants the reservation affinity of such a pool to be NO_RESERVATION. groundplan writes that.",
        cited("CT FSG"),
        basis="api",
    ),
    Explanation(
        "RS005",
        "a reservation is named by its parts",
        "groundplan writes the path from the name, the project and the blocks, so that they can be checked.",
        cited("CT"),
    ),
)

#: Codes of findings about the file of waivers.
_WAIVERS = (
    Explanation(
        "WV001",
        "waivers have not expired",
        "What a waiver let pass counts again from the day after it expires.",
        LANGUAGE,
        "warning",
        "unwise",
    ),
    Explanation(
        "WV002",
        "waivers are used",
        "A waiver of nothing hides what comes later under its place. Remove it once its reason is gone.",
        LANGUAGE,
        "warning",
        "unwise",
    ),
    Explanation(
        "WV003",
        "waivers name a place",
        "One for everything also waives what nobody has written yet, so it is not applied.",
        LANGUAGE,
        "warning",
        "unwise",
    ),
    Explanation(
        "WV004",
        "waivers are for what can work",
        "What Google Cloud refuses, or what the language gives no meaning, fails with a waiver too.",
        LANGUAGE,
    ),
    Explanation("WV005", "waivers name a rule that exists", "Others would waive nothing.", LANGUAGE),
    Explanation(
        "WV006",
        "waivers end within a year",
        "A waiver is a promise to look again. One that lasts for ever is a change of the rules.",
        LANGUAGE,
        "warning",
        "unwise",
    ),
)

#: Codes that are found without a rule's function.
WITHOUT_RULE = (*_READER, *_WAIVERS)


@functools.cache
def explanations() -> Mapping[str, Explanation]:
    """Every code that a blueprint's diagnostics may have."""
    rules = (
        Explanation(rule.code, rule.title, rule.why, rule.source, rule.severity, rule.basis) for rule in RULES
    )
    return {one.code: one for one in sorted((*WITHOUT_RULE, *rules), key=lambda one: one.code)}
