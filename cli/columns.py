"""Text in columns, and text beside a label; both fit 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence

WIDTH = 100


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), gap: int = 2) -> Iterator[str]:
    """Lines in which each column is as wide as its widest cell.

    Args:
        rows: cells; every row has the same number.
        right: indices of the columns that are aligned at their right.
        gap: blanks between columns.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            f"{cell:>{width}}" if index in right else f"{cell:<{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield (" " * gap).join(cells).rstrip()


def beside(label: str, text: str, *, indent: int, rows: int | None = None) -> Iterator[str]:
    """``text`` from column ``indent`` on, with ``label`` before its first line.

    Args:
        label: at most ``indent`` characters.
        text: broken into as many lines as it needs.
        indent: the column.
        rows: the most lines; what does not fit is left out, with a mark.
    """
    room = WIDTH - indent
    parts = textwrap.wrap(
        text, room, break_on_hyphens=False, break_long_words=False, max_lines=rows, placeholder=" …"
    )
    yield f"{label:<{indent}}{parts[0] if parts else ''}".rstrip()
    yield from (f"{'':<{indent}}{part}" for part in parts[1:])
