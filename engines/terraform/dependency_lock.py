"""Which provider versions real runs use: one dependency lock file beside the blueprint, for all its stacks.

Terraform keeps ``.terraform.lock.hcl`` in each root directory. The roots here are work files, so the file
that is committed stands beside the blueprint (``llm.yaml``, ``llm.terraform.lock.hcl``) and is lent to a root
while ``init`` runs. ``init`` strikes out the providers that its own root does not need, so what comes back is
merged into the file instead of replacing it.

The blueprint's ``providers:`` is the law, the file remembers a choice: an entry that the constraint no longer
allows is not lent, and ``init`` then takes the newest version that is allowed. To move on within a
constraint, delete the file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from groundplan.engines.terraform.constraint import satisfies
from groundplan.engines.terraform.events import Diagnostic
from groundplan.engines.terraform.writer import FILE_NAME
from groundplan.facts.schema import PROVIDERS, index

NAME = ".terraform.lock.hcl"

HEAD = """\
# The provider versions of every stack of this blueprint, with their checksums. Commit this file.
# Written by `groundplan plan` and `apply`; delete it to take the newest versions that `providers:` allows.
"""

#: Terraform writes the file itself, always in this form.
ENTRY = re.compile(r'^provider "([^"]+)" \{$.*?^\}$', re.MULTILINE | re.DOTALL)
VERSION = re.compile(r'^\s*version\s*=\s*"([^"]+)"', re.MULTILINE)


def beside(blueprint: Path) -> Path:
    """The lock file of a blueprint."""
    return blueprint.with_suffix(NAME)


@contextlib.contextmanager
def lent(kept: Path, root: Path) -> Iterator[None]:
    """Inside, run ``init`` in ``root``: it sees what ``kept`` says, and what it adds comes into ``kept``.

    Nothing comes back if ``init`` fails.

    Args:
        kept: the file beside the blueprint; it need not exist yet.
        root: a root directory with ``main.tf.json``.
    """
    copy, known = root / NAME, _entries(kept)
    _write(copy, _usable(known, _constraints(root)))
    yield
    merged = known | _entries(copy)
    if merged != known:
        _write(kept, merged)


def selected(root: Path) -> dict[str, str]:
    """Provider name → version that ``init`` chose in a root directory."""
    return {_name(address): _version(text) for address, text in _entries(root / NAME).items()}


def unknown_facts(root: Path) -> list[Diagnostic]:
    """A warning for each Google provider whose version the facts are not about; call it after ``init``."""
    checked = index().provider_version
    return [
        Diagnostic(
            severity="warning",
            summary=f"no schema facts for {name} {version}; checked against {checked}",
            detail="Attributes that this version added, dropped or changed are not known before the plan.",
        )
        for name, version in selected(root).items()
        if name in PROVIDERS and version != checked
    ]


def _entries(path: Path) -> dict[str, str]:
    """Provider address → its block; nothing for a file that does not exist."""
    content = path.read_text(encoding="utf-8") if path.exists() else ""
    return {match[1]: match[0] for match in ENTRY.finditer(content)}


def _usable(known: Mapping[str, str], constraints: Mapping[str, str]) -> dict[str, str]:
    """The entries that the constraints allow, and what follows from them.

    google and google-beta are released together, so one that is new takes the version of the other: an entry
    without checksums makes ``init`` do that.
    """

    def allowed(address: str, entry: str) -> bool:
        return satisfies(_version(entry), constraints.get(_name(address), ""))

    usable = {address: entry for address, entry in known.items() if allowed(address, entry)}
    followers = {
        twin: f'provider "{twin}" {{\n  version = "{_version(entry)}"\n}}'
        for address, entry in usable.items()
        for twin in _twins(address)
        if allowed(twin, entry)
    }
    return followers | usable


def _twins(address: str) -> list[str]:
    """Both Google providers, if it is one of them."""
    host, _, name = address.rpartition("/")
    return [f"{host}/{provider}" for provider in PROVIDERS] if name in PROVIDERS else []


def _name(address: str) -> str:
    return address.rpartition("/")[2]


def _version(entry: str) -> str:
    found = VERSION.search(entry)
    return found[1] if found else "0"


class _Requirement(msgspec.Struct):
    version: str = ""


class _Settings(msgspec.Struct):
    required_providers: dict[str, _Requirement] = {}


class _Document(msgspec.Struct):
    terraform: list[_Settings] = []


def _constraints(root: Path) -> Mapping[str, str]:
    document = msgspec.json.decode((root / FILE_NAME).read_bytes(), type=_Document)
    return {name: wanted.version for s in document.terraform for name, wanted in s.required_providers.items()}


def _write(path: Path, entries: Mapping[str, str]) -> None:
    if not entries:
        path.unlink(missing_ok=True)
        return
    content = "\n\n".join([HEAD.rstrip("\n"), *(entries[address] for address in sorted(entries))]) + "\n"
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(content, encoding="utf-8")
    temporary.replace(path)
