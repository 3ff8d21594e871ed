"""The problems found in one file, each once."""

from __future__ import annotations

from dataclasses import replace

from groundplan.blueprints.diagnostics import Diagnostic, Position, Severity
from groundplan.blueprints.tree import Path, Source, dotted
from groundplan.blueprints.words import listed

EVERYWHERE = ""  #: in place of an environment's name: the problem does not depend on one


class Findings:
    """Collects problems; what several environments inherit from the defaults is one problem."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._found: dict[Diagnostic, tuple[Diagnostic, set[str]]] = {}  #: with the environments that have it

    def add(
        self,
        severity: Severity,
        code: str,
        message: str,
        path: Path,
        position: Position,
        hint: str = "",
        related: tuple[tuple[str, Position], ...] = (),
        shown: str = "",
    ) -> None:
        """Add a problem.

        Args:
            severity: as in ``Diagnostic``, like the other arguments without a description.
            code: the code.
            message: what is wrong.
            path: where, below ``environments`` through the merged environment.
            position: where in the file.
            hint: what to write instead.
            related: further places.
            shown: the path as it stands in the file, if that is another one.
        """
        found = Diagnostic(severity, code, message, shown or dotted(path), position, hint, related)
        environments = self._found.setdefault(replace(found, hint="", related=()), (found, set()))[1]
        environments.add(str(path[1]) if path[:1] == ("environments",) and len(path) > 1 else EVERYWHERE)

    def diagnostics(self, number: int) -> list[Diagnostic]:
        """Everything that was found. What only some heirs of the defaults have names them.

        Args:
            number: how many environments there are.
        """
        result = []
        for found, environments in self._found.values():
            message = found.message
            partly = EVERYWHERE not in environments and len(environments) < number
            if partly and found.path.startswith("defaults."):
                message += f" (in {listed(sorted(environments), 'and')})"
            result.append(replace(found, message=message, lines=self.source.lines))
        return result
