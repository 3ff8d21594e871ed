"""A blueprint that was read: the models, what is to be said about it, and where every value was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundplan.blueprints.diagnostics import Diagnostic, Position
from groundplan.blueprints.model import Blueprint
from groundplan.blueprints.tree import Map, Node, Path, Scalar, Source, dotted, find, undotted


@dataclass(frozen=True)
class Written:
    """The file and the merged environments as trees: answers where something was written."""

    source: Source
    root: Map
    environments: Mapping[str, Map]  #: merged, by name

    def locate(self, path: Path, at_key: bool = False) -> tuple[Position, str]:
        """Where the value at ``path`` was written, and its path in the file as it stands there.

        What was not written is where the nearest thing around it is. A value over several lines is where
        its key is.

        Args:
            path: from the root of the file; below ``environments`` through the merged environment.
            at_key: the key is wanted even where the value fits on a line.
        """
        key, node, steps = self._find(path)
        if node is self.root and self.root.entries:
            key = next(iter(self.root.entries.values())).key
        anchor: Node | Scalar = node
        several_lines = node.position.line != node.position.end_line
        if key is not None and (at_key or steps < len(path) or several_lines or node.start == node.end):
            anchor = key
        return anchor.position, dotted(self._as_written(path, key or node))

    def _find(self, path: Path) -> tuple[Scalar | None, Node, int]:
        if len(path) >= 2 and path[0] == "environments" and path[1] in self.environments:
            name = str(path[1])
            if len(path) > 2:
                key, node, steps = find(self.environments[name], path[2:])
                if steps:
                    return key, node, steps + 2
            key, node, _ = find(self.root, path[:2])
            return key, node, 2
        return find(self.root, path)

    def _as_written(self, path: Path, node: Node) -> Path:
        """``path`` with ``defaults`` in place of the environment, where the value comes from there."""
        defaults = self.root.entries.get("defaults")
        if path[:1] != ("environments",) or len(path) < 3 or defaults is None:
            return path
        inherited = defaults.value.start <= node.start < defaults.value.end
        return ("defaults", *path[2:]) if inherited else path


@dataclass(frozen=True)
class Document:
    """A blueprint without errors.

    Attributes:
        blueprint: the models, environments merged and complete.
        diagnostics: warnings and notes, by position.
        written: where everything was written.
    """

    blueprint: Blueprint
    diagnostics: tuple[Diagnostic, ...]
    written: Written

    @property
    def sources(self) -> Mapping[str, Sequence[str]]:
        """The lines of the files that were read, by the name that positions carry."""
        return {self.written.source.name: self.written.source.lines}

    def position_of(self, environment: str | None, path: str | Path = ()) -> Position:
        """Where a value was written: in the environment, in the defaults, or around it if it was not written.

        Args:
            environment: the environment's name; None for the top of the file.
            path: ``clusters.main.node_pools.train.capacity``, or its steps. Crossings are always at the top.
        """
        steps = undotted(path) if isinstance(path, str) else path
        top = environment is None or steps[:1] == ("crossings",)
        prefix: Path = () if top or environment is None else ("environments", environment)
        return self.written.locate((*prefix, *steps))[0]
