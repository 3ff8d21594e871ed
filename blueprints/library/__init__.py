"""The shipped blueprints: small, complete, and what the demo and the tests plan."""

from pathlib import Path


def library_blueprints() -> dict[str, Path]:
    """The shipped blueprints by name."""
    folder = Path(__file__).parent
    return {path.stem: path for path in sorted(folder.glob("*.yaml")) if not path.name.endswith(".lock.yaml")}
