"""Versions of GKE: which of two is older."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"\d{1,12}")


def older(version: str, least: str) -> bool:
    """Whether every version that ``version`` stands for is older than ``least``.

    A short version stands for all that begin with it: ``1.32`` may become any patch of 1.32, so it is not
    older than ``1.32.2-gke.1652000``, and 1.31 is.
    """
    given, wanted = numbers(version), numbers(least)
    return given < wanted[: len(given)]


def numbers(version: str) -> tuple[int, ...]:
    """``1.32.2-gke.1652000`` → (1, 32, 2, 1652000)."""
    return tuple(int(number) for number in _NUMBERS.findall(version))


def minor(version: str) -> str:
    """``1.32`` of ``1.32.2-gke.1652000``."""
    return ".".join(map(str, numbers(version)[:2]))
