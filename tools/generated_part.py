"""Parts of pages that tools write, between lines that say so. What stands around them is written by hand."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEGIN = "<!-- Generated: python tools/{tool} -->\n"
END = "<!-- End of the generated part -->\n"


def with_part(page: str, tool: str, part: str) -> str:
    """``page`` with ``part`` between the lines of ``tool``.

    Raises:
        ValueError: the page has no such lines.
    """
    begin = BEGIN.format(tool=tool)
    found = re.compile(re.escape(begin) + ".*?" + re.escape(END), re.DOTALL)
    if not found.search(page):
        raise ValueError(f"the page has no lines {begin.strip()} and {END.strip()}")
    return found.sub(lambda _: f"{begin}\n{part.strip()}\n\n{END}", page, count=1)


def rewrite(name: str, tool: str, part: str) -> None:
    """Write the generated part of the page ``name`` anew."""
    page = ROOT / name
    page.write_text(with_part(page.read_text(encoding="utf-8"), tool, part), encoding="utf-8")
