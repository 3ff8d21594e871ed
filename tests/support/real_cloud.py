"""Google Cloud for real runs: providers out of a mirror, and a Cloud Storage that has the buckets they make.

::

    with RealCloud(tmp_path) as cloud:
        groundplan(folder, "apply", "foundation", **cloud.environment)
        cloud.buckets.get("llm-seed-state-foundation", "llm/foundation/default.tfstate")
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from types import TracebackType

from tests.support.buckets import Buckets
from tests.support.cloud_storage import CloudStorage
from tests.support.mirror import Mirror


class MadeBuckets(Buckets):
    """The buckets that are in the providers' cloud."""

    def __init__(self, cloud: Path) -> None:
        super().__init__()
        self._made = cloud / "google_storage_bucket"

    def make(self, name: str, *, versioned: bool) -> None:
        """Make a bucket as somebody does by hand."""
        self._made.mkdir(parents=True, exist_ok=True)
        attributes = {"name": name, "id": name, "versioning": [{"enabled": True}] if versioned else []}
        content = {"type": "google_storage_bucket", "id": name, "attributes": attributes}
        (self._made / f"{name}.json").write_text(json.dumps(content))

    def _check_bucket(self, bucket: str) -> None:
        if (self._made / f"{bucket}.json").exists():
            self._live.setdefault(bucket, {})
            self._noncurrent.setdefault(bucket, [])
        else:
            self._live.pop(bucket, None)
        super()._check_bucket(bucket)


class RealCloud:
    """Mirror and Cloud Storage, for as long as the ``with`` block lasts.

    Args:
        directory: where to put them.
        types: serve only these resource types, which is faster.
    """

    def __init__(self, directory: Path, *, types: Collection[str] | None = None) -> None:
        self.mirror = Mirror(directory, types=types)
        self.storage = CloudStorage()
        self.buckets = self.storage.buckets = MadeBuckets(self.mirror.cloud)

    def __enter__(self) -> RealCloud:
        self.mirror.__enter__()
        self.storage.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.storage.__exit__(kind, error, trace)
        self.mirror.__exit__(kind, error, trace)

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which a real run finds nothing but this."""
        return {**self.mirror.environment, **self.storage.environment}
