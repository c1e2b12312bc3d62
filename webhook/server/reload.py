"""Hot reload: files are read again every ten seconds and on SIGHUP, and compared by content."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.diagnostics import InputError
from webhook.runtime import exceptions
from webhook.runtime.retry import wait_for_event
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

_INTERVAL = 10.0
"""Seconds between two reads. File events do not help: the kubelet replaces a symbolic link two folders above."""


@dataclass(frozen=True, slots=True)
class ReloadedSource:
    """A file, or files, to read again while the server runs.

    `read` returns the content. `prepare` makes of it what `take` activates. `read` and `prepare` may block, and all
    three raise InputError. `loaded` is the content that is active from the start; None means that the first read
    activates what it finds.
    """

    what: str
    read: Callable[[], Any]
    prepare: Callable[[Any], Any]
    take: Callable[[Any], Awaitable[None]]
    loaded: Any = None


class Reload:
    """Watches sources. Unusable content is logged and counted once, and the active version stays."""

    def __init__(
        self, sources: Sequence[ReloadedSource], log: EventLog, metrics: Metrics, *, interval: float = _INTERVAL
    ) -> None:
        self._tracked = [_Tracked(source, log, metrics) for source in sources]
        self._interval = interval
        self._asked = asyncio.Event()

    async def first(self) -> None:
        """Load every source that is not active yet. Raises InputError."""
        for tracked in self._tracked:
            await tracked.load()

    def ask(self) -> None:
        """Read all sources now, and log the result even if nothing has changed."""
        self._asked.set()

    async def watch(self) -> None:
        """Read all sources at each interval, and when asked, until cancelled."""
        while True:
            asked = await wait_for_event(self._asked, self._interval)
            self._asked.clear()
            for tracked in self._tracked:
                await tracked.reload(asked)


class _Tracked:
    """One source, with its active content and the content that was rejected last."""

    def __init__(self, source: ReloadedSource, log: EventLog, metrics: Metrics) -> None:
        metrics.expect(source.what)
        self._source = source
        self._log = log.bind(what=source.what)
        self._metrics = metrics
        self._active: Any = source.loaded
        self._rejected: Any = None

    async def load(self) -> None:
        """Read and activate the content, unless there is an active one. Raises InputError."""
        if self._active is not None:
            return
        content = await asyncio.to_thread(self._source.read)
        await self._activate(content)

    async def reload(self, asked: bool) -> None:
        """Read the content, and activate it if it has changed. Log and count errors, whatever they are."""
        content: Any = None
        try:
            content = await asyncio.to_thread(self._source.read)
            if content == self._active:
                self._keep(asked)
                return
            await self._activate(content)
        except InputError as error:
            self._reject(content or str(error), str(error), asked)
        except Exception as error:
            why = exceptions.reason(error)
            self._reject(content or why, f"internal error: {why}", asked, stack=exceptions.stack(error))
        else:
            self._metrics.reloaded(self._source.what, "taken")
            self._log("info", "reloaded")

    async def _activate(self, content: Any) -> None:
        await self._source.take(await asyncio.to_thread(self._source.prepare, content))
        self._active, self._rejected = content, None

    def _keep(self, asked: bool) -> None:
        """Log that the content is the active one, if it was rejected before or the log was asked for."""
        if self._rejected is not None:
            self._rejected = None
            self._log("info", "restored to the active version")
        elif asked:
            self._log("info", "unchanged")

    def _reject(self, content: Any, problems: str, asked: bool, **fields: str) -> None:
        """Log and count the problems of a content once, and again when asked."""
        if content == self._rejected and not asked:
            return
        self._rejected = content
        self._metrics.reloaded(self._source.what, "refused")
        for problem in problems.splitlines():
            self._log("error", "reload rejected", problem=problem, **fields)
