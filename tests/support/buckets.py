"""Buckets with objects, generations and preconditions: what Cloud Storage promises, without the HTTP.

A write gives an object a new generation, a number that grows with time. Preconditions are checked and the
write is done under one lock, so that of two writers that both demand generation 0 (no live object) exactly
one succeeds; Terraform's state lock rests on that.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import itertools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: Query parameter → does it hold for this generation of the live object (0: there is none)?
#: https://cloud.google.com/storage/docs/request-preconditions
GENERATION_CONDITIONS = {
    "ifGenerationMatch": lambda live, wanted: live == wanted,
    "ifGenerationNotMatch": lambda live, wanted: live != wanted,
}


class Refusal(Exception):
    """Cloud Storage says no.

    Args:
        status: of the HTTP answer.
        reason: Google's word for it.
        message: Google's sentence.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


@dataclass(frozen=True)
class Object:
    """One generation of an object."""

    bucket: str
    name: str
    generation: int
    content: bytes
    settings: Mapping[str, Any] = field(default_factory=dict)  #: contentType, metadata, … as they were sent

    @property
    def created(self) -> str:
        """When it was written, RFC 3339."""
        return dt.datetime.fromtimestamp(self.generation / 1e6, dt.UTC).isoformat().replace("+00:00", "Z")

    @property
    def md5(self) -> str:
        """Base64 of the digest, as Cloud Storage gives it."""
        return base64.b64encode(hashlib.md5(self.content).digest()).decode()

    def resource(self) -> dict[str, Any]:
        """The object resource of the JSON API."""
        return {
            "contentType": "application/octet-stream",
            **self.settings,
            "kind": "storage#object",
            "id": f"{self.bucket}/{self.name}/{self.generation}",
            "bucket": self.bucket,
            "name": self.name,
            "generation": str(self.generation),
            "metageneration": "1",
            "size": str(len(self.content)),
            "md5Hash": self.md5,
            "etag": base64.b64encode(str(self.generation).encode()).decode(),
            "storageClass": "STANDARD",
            "timeCreated": self.created,
            "updated": self.created,
        }


class Buckets:
    """All buckets of the double.

    Args:
        names: the buckets that exist.
        versioning: keep what is overwritten or deleted as noncurrent generations.
    """

    def __init__(self, *names: str, versioning: bool = True) -> None:
        self._live: dict[str, dict[str, Object]] = {name: {} for name in names}
        self._noncurrent: dict[str, list[Object]] = {name: [] for name in names}
        self._versioning = versioning
        self._lock = threading.Lock()
        self._generation = 0

    def get(self, bucket: str, name: str, query: Mapping[str, str] | None = None) -> Object:
        """The live object, or the one of the generation that the query names."""
        query = query or {}
        with self._lock:
            live = self._check(bucket, name, query)
            wanted = int(query.get("generation", live.generation if live else 0))
            found = next((o for o in self._versions(bucket, name) if o.generation == wanted), None)
        if found is None:
            raise Refusal(404, "notFound", f"No such object: {bucket}/{name}")
        return found

    def insert(
        self,
        bucket: str,
        name: str,
        content: bytes,
        query: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Object:
        """Write an object if the preconditions in the query hold."""
        with self._lock:
            live = self._check(bucket, name, query or {})
            self._retire(live)
            self._generation = max(self._generation + 1, time.time_ns() // 1000)
            written = Object(bucket, name, self._generation, content, settings or {})
            self._live[bucket][name] = written
        return written

    def delete(self, bucket: str, name: str, query: Mapping[str, str] | None = None) -> None:
        """Delete an object if the preconditions hold; of a versioned bucket it stays as noncurrent."""
        query = query or {}
        with self._lock:
            live = self._check(bucket, name, query)
            if "generation" in query and (live is None or str(live.generation) != query["generation"]):
                live = None
            if live is None:
                raise Refusal(404, "notFound", f"No such object: {bucket}/{name}")
            self._retire(live)

    def list(
        self, bucket: str, *, prefix: str = "", delimiter: str = "", versions: bool = False
    ) -> tuple[list[Object], list[str]]:
        """Objects by name and generation, and the common prefixes that the delimiter cuts off."""
        with self._lock:
            self._check_bucket(bucket)
            everything = [*self._live[bucket].values(), *(self._noncurrent[bucket] if versions else ())]
        found: list[Object] = []
        prefixes: set[str] = set()
        for item in sorted(everything, key=lambda o: (o.name, o.generation)):
            if item.name.startswith(prefix):
                head, cut, _ = item.name[len(prefix) :].partition(delimiter or "\0")
                if cut:
                    prefixes.add(f"{prefix}{head}{cut}")
                else:
                    found.append(item)
        return found, sorted(prefixes)

    def _check(self, bucket: str, name: str, query: Mapping[str, str]) -> Object | None:
        """The live object, after every precondition of the query was found to hold."""
        self._check_bucket(bucket)
        live = self._live[bucket].get(name)
        generation = live.generation if live else 0
        for condition, holds in GENERATION_CONDITIONS.items():
            if condition in query and not holds(generation, int(query[condition])):
                message = "At least one of the pre-conditions you specified did not hold."
                raise Refusal(412, "conditionNotMet", message)
        return live

    def _check_bucket(self, bucket: str) -> None:
        if bucket not in self._live:
            raise Refusal(404, "notFound", "The specified bucket does not exist.")

    def _versions(self, bucket: str, name: str) -> itertools.chain[Object]:
        live = self._live[bucket].get(name)
        old = (item for item in self._noncurrent[bucket] if item.name == name)
        return itertools.chain([live] if live else [], old)

    def _retire(self, live: Object | None) -> None:
        if live is not None:
            del self._live[live.bucket][live.name]
            if self._versioning:
                self._noncurrent[live.bucket].append(live)
