"""Made-up failures and slowness, for tests of what happens when the cloud is not well.

``GROUNDPLAN_OFFLINE_FAULTS`` holds a JSON list, first match wins::

    [{"type": "google_container_node_pool", "action": "create", "error": "Error 403: quota exceeded",
      "after": 1, "times": 1, "delay_seconds": 2}]

``type`` and ``action`` (``plan``, ``read``, ``create``, ``update``, ``delete``, ``finish``) default to all,
``id`` is a part of the object's id. ``after`` matching calls pass first, then ``times`` calls (default: all)
wait ``delay_seconds`` and fail with ``error``; without ``error`` they are only slow. ``crash`` kills the
server instead. ``finish`` is the moment after the cloud did what was asked and before the provider says so:
an error there leaves a half-made object, as a stock-out does with a node pool.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import msgspec

from .cloud import Refused


class Fault(msgspec.Struct, forbid_unknown_fields=True):
    """One made-up failure."""

    type: str = "*"
    action: str = "*"
    id: str = ""
    error: str = ""
    after: int = 0
    times: int | None = None
    delay_seconds: float = 0
    crash: bool = False

    def matches(self, type_name: str, action: str, id_: str) -> bool:
        """Does it concern this call? ``finish`` comes with another action and has to be asked for."""
        actions = (action,) if action == "finish" else ("*", action)
        return self.type in ("*", type_name) and self.action in actions and self.id in id_


class Faults:
    """The failures of one server; counts calls over all connections."""

    def __init__(self, faults: list[Fault]) -> None:
        self._faults = faults
        self._lock = threading.Lock()

    @classmethod
    def from_environment(cls) -> Faults:
        """The failures that ``GROUNDPLAN_OFFLINE_FAULTS`` asks for.

        Raises:
            msgspec.ValidationError: it is not what the module describes.
        """
        return cls(msgspec.json.decode(os.environ.get("GROUNDPLAN_OFFLINE_FAULTS") or "[]", type=list[Fault]))

    def strike(self, type_name: str, action: str, id_: str) -> None:
        """Let the call pass, slow it down, or refuse it.

        Raises:
            Refused: with the fault's own words.
        """
        fault = self._due(type_name, action, id_)
        if fault is None:
            return
        time.sleep(fault.delay_seconds)
        if fault.crash:
            os.kill(os.getpid(), signal.SIGKILL)
        if fault.error:
            raise Refused(f"Error: {action} of {type_name}: googleapi: {fault.error}", "A made-up failure.")

    def _due(self, type_name: str, action: str, id_: str) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if not fault.matches(type_name, action, id_):
                    continue
                if fault.after > 0:
                    fault.after -= 1
                elif fault.times is None or fault.times > 0:
                    if fault.times is not None:
                        fault.times -= 1
                    return fault
        return None
