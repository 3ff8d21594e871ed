"""Where real runs keep the providers they download: once for all stacks, not once for each.

The google provider takes some hundred megabytes, and every stack needs it. Terraform's plugin cache shares
it. Reading the cache at once is safe, but two ``init`` must not write it at a time (Terraform's "CLI
Configuration File", Provider Plugin Cache). Where a person has a cache already, that one is used.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

VARIABLE = "TF_PLUGIN_CACHE_DIR"
SETTING = re.compile(r"^\s*plugin_cache_dir\s*=", re.MULTILINE)
CLI_CONFIGS = (".terraformrc", ".tofurc")


def directory(work: Path) -> Path:
    """The cache of a real workspace at ``work``. No stack can have a name that begins with a dot."""
    return work / ".providers"


def environment(base: Mapping[str, str], cache: Path) -> dict[str, str]:
    """The variable that makes an engine use ``cache``; nothing if the person has set up a cache already.

    The variable would win over the person's CLI configuration, so that is looked at.

    Args:
        base: the caller's environment.
        cache: the directory, made if it is missing: engines refuse one that does not exist.
    """
    if base.get(VARIABLE) or any(_sets_cache(path) for path in _cli_configs(base)):
        return {}
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {VARIABLE: str(cache)}


@contextlib.contextmanager
def exclusive(work: Path) -> Iterator[None]:
    """Hold the right to run ``init`` in the workspace at ``work``; waits for other processes that have it."""
    descriptor = os.open(work / ".providers.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _cli_configs(base: Mapping[str, str]) -> list[Path]:
    named = base.get("TF_CLI_CONFIG_FILE")
    return [Path(named)] if named else [Path(base.get("HOME", "/"), name) for name in CLI_CONFIGS]


def _sets_cache(config: Path) -> bool:
    with contextlib.suppress(OSError, UnicodeError):
        return SETTING.search(config.read_text(encoding="utf-8")) is not None
    return False
