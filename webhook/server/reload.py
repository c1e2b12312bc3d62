"""Hot reload: files are read again every ten seconds and on SIGHUP, and compared by content."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.diagnostics import InputError
from webhook.runtime.exceptions import reason, stack
from webhook.runtime.retry import wait_for_event
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

_INTERVAL = 10.0
"""Seconds between two reads. File events do not help: the kubelet replaces a symbolic link two folders above."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or files, to read again while the server runs.

    `read` returns the content. `prepare` makes of it what `take` activates. `read` and `prepare` may block, and all
    three raise InputError. `loaded` is the content that is active from the start; None means that the first read
    activates what it finds.
    """

    what: str
    read: Callable[[], Any]
    prepare: Callable[[Any], Any]
    take: Callable[[Any], None]
    loaded: Any = None


class Reload:
    """Watches sources. Unusable content is logged and counted once, and the active version stays."""

    def __init__(
        self, sources: Sequence[Source], log: EventLog, metrics: Metrics, *, interval: float = _INTERVAL
    ) -> None:
        self._sources = sources
        for source in sources:
            metrics.expect(source.what)
        self._log = log
        self._metrics = metrics
        self._interval = interval
        self._asked = asyncio.Event()
        self._active = {source.what: source.loaded for source in sources if source.loaded is not None}
        self._rejected: dict[str, Any] = {}

    async def first(self) -> None:
        """Load every source that is not active yet. Raises InputError."""
        for source in self._sources:
            if source.what in self._active:
                continue
            content = await asyncio.to_thread(source.read)
            source.take(await asyncio.to_thread(source.prepare, content))
            self._active[source.what] = content

    def ask(self) -> None:
        """Read all sources now, and log the result even if nothing has changed."""
        self._asked.set()

    async def watch(self) -> None:
        """Read all sources at each interval, and when asked, until cancelled."""
        while True:
            asked = await wait_for_event(self._asked, self._interval)
            self._asked.clear()
            for source in self._sources:
                await self._reload(source, asked)

    async def _reload(self, source: Source, asked: bool) -> None:
        """Read one source and activate a change. An error of one source does not affect the others."""
        content: Any = None
        try:
            content = await asyncio.to_thread(source.read)
            if content == self._active.get(source.what):
                self._keep(source, asked)
                return
            source.take(await asyncio.to_thread(source.prepare, content))
        except InputError as error:
            self._reject(source, content or str(error), str(error), asked)
            return
        except Exception as error:
            why = reason(error)
            self._reject(source, content or why, f"internal error: {why}", asked, stack=stack(error))
            return
        self._active[source.what] = content
        self._rejected.pop(source.what, None)
        self._metrics.reloaded(source.what, "taken")
        self._log.event("info", "reloaded", what=source.what)

    def _keep(self, source: Source, asked: bool) -> None:
        """Log that the content is that of the active version, if it was not before or the log was asked for."""
        if self._rejected.pop(source.what, None) is not None:
            self._log.event("info", "restored to the active version", what=source.what)
        elif asked:
            self._log.event("info", "unchanged", what=source.what)

    def _reject(self, source: Source, content: Any, problems: str, asked: bool, **fields: str) -> None:
        """Log and count the problems of a content once, and again when asked."""
        if content == self._rejected.get(source.what) and not asked:
            return
        self._rejected[source.what] = content
        self._metrics.reloaded(source.what, "refused")
        for problem in problems.splitlines():
            self._log.event("error", "reload rejected", what=source.what, problem=problem, **fields)
