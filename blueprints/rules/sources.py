"""Who says what a rule goes by, in words for people."""

from __future__ import annotations

from groundplan.facts.accelerators import Dispute, Machine, catalog, checked


def cited(keys: str) -> str:
    """The catalog's sources of these keys (``CT FSG``), with the day they were checked; empty for none."""
    names = keys.split()
    if not names:
        return ""
    titles = (f"{source.title} ({source.state})" for source in (catalog().sources[key] for key in names))
    return f"{'; '.join(titles)}; checked {checked(names)}"


def dispute(about: str, found: Machine | None = None) -> Dispute | None:
    """The contradiction of sources about something; None if they agree.

    Args:
        about: what it is about, as in the catalog.
        found: the machine that it must concern; None for one that concerns no machine of its own.
    """
    names = {found.name, found.series} if found is not None else set()
    return next(
        (
            one
            for one in catalog().disputes
            if one.about == about and (names & {*one.of} if found is not None else not one.of)
        ),
        None,
    )


def both_sides(found: Dispute) -> str:
    """What each source of a contradiction says, with the day it was checked."""
    sources = catalog().sources
    said = (
        f"{sources[key].title} (checked {sources[key].checked}): {claim}."
        for key, claim in found.claims.items()
    )
    return f"Sources disagree on {found.about}. {' '.join(said)}"
