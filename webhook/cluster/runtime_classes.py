"""The RuntimeClasses of a cluster as facts: the API server rejects every pod that names a missing one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final

from msgspec import Struct, convert

from webhook.cluster.api_server import ApiServer, Object
from webhook.cluster.watch import WatchLog, follow
from webhook.policy.placement.facts import RuntimeClass
from webhook.policy.printable import printable
from webhook.runtime.failure_log import LogEvent
from webhook.runtime.retry import monotonic

PATH: Final = "/apis/node.k8s.io/v1/runtimeclasses"

Classes = tuple[RuntimeClass, ...]

_NAMED = 20
"""Names in a log line."""

_AWAITED = 10.0
"""Seconds for which a starting server waits for the classes: enough for several tries, or for one that times out."""


class RuntimeClasses:
    """Reads and watches the RuntimeClasses. Run `run` in a task; it calls `changed` with each new state.

    The classes are unknown until they are read. When the API server is lost, the last known ones stay.
    """

    def __init__(self, api: ApiServer, changed: Callable[[Classes], None], log: LogEvent) -> None:
        self._api = api
        self._changed = changed
        self._log = log
        self._began = monotonic()
        self._confirmed: float | None = None
        self.known: Classes | None = None

    @property
    def age(self) -> float | None:
        """Seconds since the API server last confirmed the known classes; None while they are unknown."""
        return None if self._confirmed is None else monotonic() - self._confirmed

    def pending(self) -> bool:
        """Whether the classes are unknown but may be known in a moment. Once false, it stays false."""
        return self._confirmed is None and monotonic() - self._began < _AWAITED

    async def run(self) -> None:
        """Read and watch until cancelled."""
        log = WatchLog.of(self._log, "runtime classes")
        async with aclosing(follow(self._api, PATH, _runtime_class, log)) as states:
            async for classes in states:
                self._take(classes)

    def _take(self, found: Mapping[str, RuntimeClass]) -> None:
        classes = tuple(found[name] for name in sorted(found))
        self._confirmed = monotonic()
        if classes != self.known:
            self._changed(classes)
            self.known = classes  # after the call: if it fails, the next state is a change again
            names = [printable(one.name) for one in classes[:_NAMED]]
            self._log("info", "runtime classes read", names=names, count=len(classes))


class _Scheduling(Struct, rename="camel"):
    node_selector: dict[str, str] | None = None


class _Found(Struct):
    handler: str = ""
    scheduling: _Scheduling | None = None


def _runtime_class(name: str, found: Object) -> RuntimeClass:
    read = convert(found, _Found)
    return RuntimeClass(name, read.handler, (read.scheduling and read.scheduling.node_selector) or {})
