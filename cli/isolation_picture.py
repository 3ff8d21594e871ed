"""The isolation of environments as a picture: one box each, and a red line for every way between two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundplan.stacks.isolation import Holdings, Isolation

BOX, GAP, LEFT, TOP, LINE = 300, 60, 30, 90, 18  #: pixels
LONGEST = 42  #: characters of a line in a box
MOST = 5  #: names of one kind in a box

SHORT = (
    (re.compile(r"principal://.*\.svc\.id\.goog/subject/ns/([^/]+)/sa/([^/]+)$"), "workload {}/{}"),
    (re.compile(r"principalSet://.*/attribute\.\w+/(.+)$"), "pipeline {}"),
    (re.compile(r"serviceAccount:([^@]+@[^.]+)\.iam\.gserviceaccount\.com$"), "{}"),
)

STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2937;white-space:pre}.t{font-weight:600;font-size:15px}"
    ".h{font-size:20px;font-weight:600}.k{fill:#6b7280}.b{fill:#f9fafb;stroke:#9ca3af}"
    ".m{stroke:#dc2626;stroke-width:2;fill:none}"
    ".r{fill:#dc2626}.ok{fill:#15803d;font-weight:600}"
)


def picture(platform: str, proof: Isolation) -> str:
    """The picture as SVG text; it needs no script and no font of its own.

    Args:
        platform: the blueprint's name.
        proof: what to draw.
    """
    names = list(proof.environments)
    boxes = {name: list(_box_lines(proof.environments[name])) for name in names}
    height = max(len(lines) for lines in boxes.values()) * LINE + 50
    below = TOP + height + 40
    notes = [
        *(
            ("r", f"{' and '.join(one.environments)} meet ({one.kind}): {' → '.join(one.chain)}")
            for one in proof.meetings
        ),
        *(("k", f"door: {door}") for door in proof.doors),
    ]
    broken = [(style, line) for style, note in notes for line in _broken(note, len(names) * 44)]
    width = LEFT * 2 + len(names) * BOX + (len(names) - 1) * GAP
    total = below + (len(broken) + 2) * LINE
    size = f'width="{width}" height="{total}" viewBox="0 0 {width} {total}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text class="h" x="{LEFT}" y="40">{escape(platform)}: isolation of environments</text>',
        _verdict(proof),
    ]
    for index, name in enumerate(names):
        x = LEFT + index * (BOX + GAP)
        parts.append(f'<rect class="b" x="{x}" y="{TOP}" width="{BOX}" height="{height}" rx="8"/>')
        parts.append(f'<text class="t" x="{x + 14}" y="{TOP + 26}">{escape(name)}</text>')
        for row, (style, line) in enumerate(boxes[name]):
            y = TOP + 50 + row * LINE
            parts.append(f'<text class="{style}" x="{x + 14}" y="{y}">{escape(line)}</text>')
    parts.extend(_ways(names, proof, height))
    for row, (style, line) in enumerate(broken):
        parts.append(f'<text class="{style}" x="{LEFT}" y="{below + row * LINE}">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _verdict(proof: Isolation) -> str:
    text = "isolated: they share nothing" if proof.holds else "not isolated"
    return f'<text class="{"ok" if proof.holds else "r"}" x="{LEFT}" y="66">{text}</text>'


def _box_lines(one: Holdings) -> Iterator[tuple[str, str]]:
    yield "", _cut(f"project {one.project}")
    yield "", f"perimeter {one.perimeter}"
    for kind, names in (*one.things.items(), ("machines", one.machines), ("people", one.people)):
        if not names:
            continue
        yield "k", f"{kind} ({len(names)})"
        yield from (("", _cut(f"  {short(name)}")) for name in names[:MOST])
        if len(names) > MOST:
            yield "k", f"  and {len(names) - MOST} more"


def _ways(names: list[str], proof: Isolation, height: int) -> Iterator[str]:
    """A line for every pair that meets, lower for each further one so that none hides another."""
    for row, pair in enumerate(sorted({one.environments for one in proof.meetings})):
        one, other = sorted(names.index(name) for name in pair)
        start = LEFT + one * (BOX + GAP) + BOX
        end = LEFT + other * (BOX + GAP)
        y = TOP + height - 16 - row * 10
        yield f'<path class="m" d="M {start - 10} {y} L {end + 10} {y}"/>'
        yield from (f'<circle class="r" cx="{x}" cy="{y}" r="4"/>' for x in (start - 10, end + 10))


def short(principal: str) -> str:
    """A principal as people call it: ``workload training/trainer``, ``llm-main-nodes@llm-ml-dev``."""
    for pattern, words in SHORT:
        match = pattern.match(principal)
        if match:
            return words.format(*match.groups())
    return principal


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _broken(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent="    ")
