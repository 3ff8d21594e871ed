"""The stand-in's cloud: a folder with one JSON file per object.

``TYPE/QUOTED-ID.json`` holds ``type``, ``id`` and ``attributes``. Editing a file by hand is drift,
deleting it is a deletion by hand. Files are written aside and moved into place, so that several
environments can share a cloud without locks. The folder ``.reserved`` remembers deleted ids that
cannot be used again. Directories are 0700 and files 0600: attributes may hold what was configured.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

_NOTE = "groundplan offline: nothing here exists in Google Cloud. Edit attributes to try out drift."
_RESERVED = ".reserved"


class Refused(Exception):
    """The cloud or the provider says no; becomes a Terraform diagnostic.

    Args:
        summary: the message, worded as Google or the provider words it.
        detail: what to do about it.
    """

    def __init__(self, summary: str, detail: str = "") -> None:
        super().__init__(summary)
        self.summary = summary
        self.detail = detail


@dataclass(frozen=True)
class CloudObject:
    """One object of the cloud.

    ``key`` is the name it is stored under: its id, with a suffix where several Terraform resources
    share an id (the rules of a service perimeter).
    """

    type: str
    id: str
    key: str
    attributes: dict[str, Any]

    @property
    def project(self) -> str | None:
        """Id of the project it belongs to, None for what stands outside of projects."""
        if self.type == "google_project":
            return str(self.attributes.get("project_id"))
        named = self.attributes.get("project")
        if isinstance(named, str) and named:
            return named.removeprefix("projects/")
        return project_in(self.id) or project_in(str(self.attributes.get("network")))


def project_in(id_: str) -> str | None:
    """The project that a resource name such as ``projects/p/topics/t`` names."""
    parts = id_.removeprefix("//").split("/")
    return parts[parts.index("projects") + 1] if "projects" in parts[:-1] else None


class Cloud:
    """Reads and writes the objects below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, type_name: str, key: str) -> CloudObject | None:
        """The object, or None.

        Raises:
            Refused: its file cannot be read as JSON.
        """
        return self._load(self._path(type_name, key))

    def all(self, type_name: str = "*") -> Iterator[CloudObject]:
        """All objects, or those of one type."""
        for path in sorted(self.root.glob(f"{type_name}/*.json")):
            found = self._load(path)
            if found:
                yield found

    def types(self) -> frozenset[str]:
        """Types that the cloud has objects of."""
        return frozenset(path.name for path in self.root.glob("google_*"))

    def add(self, item: CloudObject) -> bool:
        """Store a new object; False if there is one of that name already. Safe between processes."""
        path = self._path(item.type, item.key)
        temporary = self._write_aside(path, item)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        return True

    def put(self, item: CloudObject) -> None:
        """Store an object, over an older one if there is one."""
        path = self._path(item.type, item.key)
        self._write_aside(path, item).replace(path)

    def remove(self, item: CloudObject) -> None:
        """Take an object away; nothing happens if it is gone already."""
        self._path(item.type, item.key).unlink(missing_ok=True)

    def reserve(self, item: CloudObject, since: dt.datetime) -> None:
        """Remember that the id of a deleted object stays taken."""
        path = self._path(f"{_RESERVED}/{item.type}", item.key)
        record = CloudObject(item.type, item.id, item.key, {"deleted": since.isoformat()})
        self._write_aside(path, record).replace(path)

    def reserved_since(self, type_name: str, key: str) -> dt.datetime | None:
        """When the object of this name was deleted, None if there was none."""
        found = self._load(self._path(f"{_RESERVED}/{type_name}", key))
        return dt.datetime.fromisoformat(found.attributes["deleted"]) if found else None

    def _path(self, folder: str, key: str) -> Path:
        name = quote(key, safe="@:,=")
        if len(name) > 200:  # file names end at 255 bytes
            name = f"{name[:180]}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        return self.root / folder / f"{name}.json"

    def _load(self, path: Path) -> CloudObject | None:
        try:
            document = json.loads(path.read_bytes())
            key = document.get("key", document["id"])
            return CloudObject(document["type"], document["id"], key, document["attributes"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(
                f"the offline object {path} cannot be read: {error!r}",
                "It was edited by hand: repair it, or delete the file, which counts as deleting the object.",
            ) from None

    def _write_aside(self, path: Path, item: CloudObject) -> Path:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        document = {"offline": _NOTE, "type": item.type, "id": item.id, "attributes": item.attributes}
        if item.key != item.id:
            document["key"] = item.key
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")  # 0600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        return Path(temporary)


def now() -> dt.datetime:
    """The time; ``GROUNDPLAN_OFFLINE_NOW`` (ISO 8601) overrides it for tests."""
    fixed = os.environ.get("GROUNDPLAN_OFFLINE_NOW")
    if not fixed:
        return dt.datetime.now(dt.UTC)
    moment = dt.datetime.fromisoformat(fixed)
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
