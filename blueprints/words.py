"""Words for messages: suggestions, lists, values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

LONGEST_VALUE = 40


def closest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word that ``word`` was probably meant to be; None if none is near."""
    known = list(known)
    match = difflib.get_close_matches(word.lower(), known, 1, likeness)
    if match:
        return match[0]
    longer = [one for one in known if len(word) > 1 and one.startswith(word.lower())]
    return longer[0] if len(longer) == 1 else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``Did you mean `spot`?``, or nothing."""
    match = closest(word, known)
    return f"Did you mean `{match}`?" if match else ""


def listed(words: Sequence[str], joint: str = "or") -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return f" {joint} ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def quoted(value: str) -> str:
    """A value in backquotes, cut where it is long."""
    return f"`{value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 1] + '…'}`"


def sentence(text: str) -> str:
    """``text`` with a capital at its beginning and a full stop at its end, where it has words around."""
    text = text.strip()
    if text and text[-1] not in ".?!`":
        text += "."
    return text[:1].upper() + text[1:]
