"""Bundles on disk: written whole or not at all, and read only if every byte is as it was written."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from groundplan.engines.terraform.bundle.manifest import Basis, Manifest, decode, digest
from groundplan.engines.terraform.session import StackPlan
from groundplan.engines.terraform.state import replace
from groundplan.errors import InputError
from groundplan.plans.redaction import redact

PLAN, REDACTED, MANIFEST = "plan.tfplan", "plan.json", "bundle.json"
MAKE_NEW = "Make new ones: `groundplan plan --out DIR`."


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read and is intact.

    Attributes:
        path: its folder.
        manifest: what its plan was made from.
        plan: Terraform's plan file; sensitive values in clear.
        redacted: the plan as JSON, redacted.
        exposed: others than the owner may read the plan file.
    """

    path: Path
    manifest: Manifest
    plan: bytes
    redacted: bytes
    exposed: bool = False


def write(directory: Path, plan: StackPlan, basis: Basis) -> Bundle:
    """Write the bundle of a plan to ``directory/STACK``, in place of an older one.

    Raises:
        InputError: something else is there, or it cannot be written; then nothing was changed.
    """
    refuse_others(directory, [plan.name])
    content, redacted = plan.path.read_bytes(), redacted_json(plan.json)
    manifest = Manifest(
        stack=plan.name,
        created=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        groundplan=importlib.metadata.version("groundplan"),
        changes=plan.changes,
        made_from=basis,
        files={PLAN: digest(content), REDACTED: digest(redacted)},
    ).sealed()
    target = directory / plan.name
    try:
        if not directory.exists():
            directory.mkdir(parents=True)
            (directory / ".gitignore").write_text("*\n")  # plan files may hold secrets
        with _whole(target) as folder:
            replace(folder / PLAN, content)
            (folder / REDACTED).write_bytes(redacted)
            (folder / MANIFEST).write_bytes(manifest.encode())
    except OSError as problem:
        raise InputError(f"{target} cannot be written: {problem.strerror or problem}") from None
    return Bundle(target, manifest, content, redacted)


def refuse_others(directory: Path, stacks: Collection[str]) -> None:
    """Only bundles are written over.

    Raises:
        InputError: where a bundle is to be written stands something else.
    """
    for stack in stacks:
        target = directory / stack
        if (target.exists() or target.is_symlink()) and not _is_bundle(target):
            raise InputError(
                f"{target} is there already, and it is not a bundle",
                hint="Only bundles are written over: remove it, or name another folder.",
            )


def redacted_json(plan_json: bytes) -> bytes:
    """The bytes of ``plan.json`` for what ``terraform show -json`` said."""
    return msgspec.json.encode(redact(msgspec.json.decode(plan_json))) + b"\n"


def find(directory: Path, names: Collection[str] = ()) -> dict[str, Bundle]:
    """The bundles in a folder, by stack; only those that are named, if any are.

    Args:
        directory: the folder that ``write`` was given, or that of a single bundle.
        names: stacks.

    Raises:
        InputError: there are none, one that is named is missing, or one is damaged; all problems at once.
    """
    folders = _folders(directory)
    if not folders:
        raise InputError(
            f"there is no bundle in {directory}", hint="`groundplan plan --out DIR` writes them."
        )
    missing = [name for name in names if name not in folders]
    if missing:
        raise InputError(
            f"{directory} has no bundle of {', '.join(missing)}", hint=f"It has {', '.join(sorted(folders))}."
        )
    bundles: dict[str, Bundle] = {}
    problems = []
    for name, folder in folders.items():
        if names and name not in names:
            continue
        try:
            bundles[name] = _read(folder, name)
        except ValueError as problem:
            problems.append(f"{folder}: {problem}")
    if problems:
        raise InputError(
            "nothing was applied: a bundle is not as it was written",
            hint=MAKE_NEW,
            detail="\n".join(problems),
        )
    return bundles


def _folders(directory: Path) -> dict[str, Path]:
    """Folders with bundles by the stacks that they are of."""
    if _is_bundle(directory):
        with contextlib.suppress(ValueError, OSError):
            return {decode((directory / MANIFEST).read_bytes()).stack: directory}
        return {directory.name: directory}
    found = sorted(directory.iterdir()) if directory.is_dir() else []
    return {path.name: path for path in found if _is_bundle(path) and not path.name.startswith(".")}


def _is_bundle(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and (path / MANIFEST).is_file()


def _read(folder: Path, stack: str) -> Bundle:
    """Read a bundle.

    Raises:
        ValueError: it is damaged, edited, or of another stack.
    """
    try:
        manifest = decode((folder / MANIFEST).read_bytes())
        files = {name: (folder / name).read_bytes() for name in (PLAN, REDACTED)}
        exposed = bool((folder / PLAN).stat().st_mode & 0o077)
    except OSError as problem:
        name = Path(problem.filename).name if problem.filename else "a file"
        raise ValueError(f"{name} cannot be read: {problem.strerror}") from None
    if not manifest.intact:
        raise ValueError(f"{MANIFEST} does not match its own seal: somebody edited it")
    changed = [name for name, content in files.items() if manifest.files.get(name) != digest(content)]
    if changed:
        raise ValueError(f"{' and '.join(changed)} changed: the digest in {MANIFEST} is another one")
    if manifest.stack != stack:
        raise ValueError(f"it is the bundle of {manifest.stack}")
    return Bundle(folder, manifest, files[PLAN], files[REDACTED], exposed)


@contextlib.contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of ``target`` once it is complete."""
    with tempfile.TemporaryDirectory(
        prefix=f".{target.name}.", dir=target.parent, ignore_cleanup_errors=True
    ) as temporary:
        new, old = Path(temporary, "new"), Path(temporary, "old")
        new.mkdir(mode=0o700)
        yield new
        if target.exists():
            target.rename(old)
        new.rename(target)
