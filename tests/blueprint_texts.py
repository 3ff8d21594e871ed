"""Blueprints for tests as text, and the problems found in them."""

import textwrap

from groundplan.blueprints.reader import read
from groundplan.errors import BlueprintError

TOP = "apiVersion: groundplan/v1\nname: llm\n"
SYSTEM = "system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}"


def document(text):
    """The document of a text without errors; ``text`` begins below the name of the platform."""
    return read("llm.yaml", text=TOP + textwrap.dedent(text))


def one(body):
    """A text with one environment, ``ml-dev``, that has ``body``."""
    body = textwrap.dedent(body).strip()
    return "environments:\n  ml-dev:\n" + textwrap.indent(body, "    ") + "\n"


def found(text, top=TOP):
    """Every diagnostic of a text."""
    try:
        return read("llm.yaml", text=top + textwrap.dedent(text)).diagnostics
    except BlueprintError as error:
        return error.diagnostics


def codes(text, top=TOP):
    """The codes of everything found in a text."""
    return [diagnostic.code for diagnostic in found(text, top)]


def only(text, code=None, top=TOP):
    """The only diagnostic of a text (with a code)."""
    (diagnostic,) = [one for one in found(text, top) if code in (None, one.code)]
    return diagnostic


def cut(text, diagnostic, top=TOP):
    """What a diagnostic points at."""
    place = diagnostic.position
    line = (top + textwrap.dedent(text)).splitlines()[place.line - 1]
    return line[place.column - 1 : place.end_column - 1 if place.end_line == place.line else None]
