"""One reader kept up to date: its objects, and when the API server last confirmed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

from webhook.cluster.api_server import ApiServer
from webhook.cluster.watch import Changed, Listed, Reader, WatchLog, follow
from webhook.runtime.failure_log import LogEvent
from webhook.runtime.retry import monotonic, next_turn

_BATCH: Final = 500
"""Objects that are compared in one go, in well below a millisecond where they differ, and in one where they do not."""


class Feed:
    """Reads and watches. Run `run` in a task; it calls `changed` after each change of the objects that it keeps.

    The objects are unknown until they are read. When the API server is lost, the last known ones stay.
    """

    def __init__(
        self, api: ApiServer, name: str, reader: Reader[Any], changed: Callable[[], None], log: LogEvent
    ) -> None:
        self._api = api
        self._reader = reader
        self._changed = changed
        self._objects: dict[str, Any] | None = None
        self._confirmed: float | None = None
        self.log = WatchLog.of(log, name)

    @property
    def age(self) -> float | None:
        """Seconds since the API server last confirmed the objects; None while they are unknown."""
        return None if self._confirmed is None else monotonic() - self._confirmed

    @property
    def failing(self) -> bool:
        """Whether the objects cannot be read or watched now."""
        return bool(self.log.listing) or bool(self.log.watching)

    def copy(self) -> Mapping[str, Any] | None:
        """The objects by name, which later changes leave alone; None while they are unknown."""
        return None if self._objects is None else dict(self._objects)

    async def run(self) -> None:
        """Read and watch until cancelled."""
        async with aclosing(follow(self._api, self._reader, self.log)) as observations:
            async for observed in observations:
                match observed:
                    case Listed(objects):
                        await self._replace(objects)
                    case Changed(name, value):
                        self._put(name, value)
                self._confirmed = monotonic()

    async def _replace(self, objects: Mapping[str, Any]) -> None:
        """Take a new list. Objects that are equal stay the same, so that comparing facts remains cheap."""
        known = {} if self._objects is None else self._objects
        changed = self._objects is None or len(known) != len(objects)
        taken: dict[str, Any] = {}
        for index, (name, value) in enumerate(objects.items()):
            old = known.get(name)
            same = old == value
            taken[name] = old if same else value
            changed = changed or not same
            if index % _BATCH == _BATCH - 1:
                await next_turn()
        self._objects = taken
        if changed:
            self._changed()

    def _put(self, name: str, value: Any | None) -> None:
        """Take the new state of one object. Most events, such as heartbeats, change nothing that is kept."""
        if self._objects is None or self._objects.get(name) == value:
            return
        if value is None:
            del self._objects[name]
        else:
            self._objects[name] = value
        self._changed()
