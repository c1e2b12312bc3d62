"""Hot reload: files are read again every ten seconds and on SIGHUP, and compared by content."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webhook.diagnostics import InputError
from webhook.runtime import exceptions
from webhook.runtime.retry import wait_for_event
from webhook.server.log import EventLog
from webhook.server.metrics import Metrics

INTERVAL = 10.0
"""Seconds between two reads. File events do not help: the kubelet replaces a symbolic link two folders above."""


def content(file: str | Path) -> bytes:
    """The content of a file. Raises InputError."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError.of(str(file), error.strerror or str(error)) from None


@dataclass(slots=True)
class ReloadedSource:
    """A file, or files, to read again while the server runs.

    `read` returns the content. `prepare` makes of it what `take` activates. `read` and `prepare` may block, and all
    three raise InputError. `active` is the content in force; None means that the first read activates what it finds.
    `rejected` is the content that was rejected last, and `problem` why, while it is what is there. `reading` keeps two
    reads from overtaking each other.
    """

    what: str
    read: Callable[[], Any]
    prepare: Callable[[Any], Any]
    take: Callable[[Any], Awaitable[None]]
    active: Any = None
    rejected: Any = None
    problem: str = ""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def activate(self, content: Any) -> None:
        """Put new content in force. Raises InputError."""
        await self.take(await asyncio.to_thread(self.prepare, content))
        self.active, self.rejected, self.problem = content, None, ""


class Reload:
    """Watches sources. Unusable content is logged and counted once, and the active version stays."""

    def __init__(self, sources: Sequence[ReloadedSource], log: EventLog, metrics: Metrics) -> None:
        self._sources = sources
        self._log = log
        self._metrics = metrics
        self.asked = asyncio.Event()
        """Set it to read all sources now, and to log the result even if nothing has changed."""
        self.on_reject: Callable[[str, str], Awaitable[None]] = _keep_silent
        """Called with the name of a source and its first problem, once for each content that is rejected."""
        for source in sources:
            for result in ("taken", "refused"):
                metrics.reloads.labels(source.what, result)

    def problem(self, what: str) -> str:
        """Why the present content of a source is rejected; empty if it is not."""
        return next((source.problem for source in self._sources if source.what == what), "")

    async def first(self) -> None:
        """Load every source that is not active yet. Raises InputError."""
        for source in self._sources:
            if source.active is None:
                await source.activate(await asyncio.to_thread(source.read))

    async def refresh(self, what: str) -> None:
        """Read one source now, because it has changed."""
        for source in self._sources:
            if source.what == what:
                await self._reload(source, asked=False)

    async def watch(self) -> None:
        """Read all sources at each interval, and when asked, until cancelled."""
        while True:
            asked = await wait_for_event(self.asked, INTERVAL)
            self.asked.clear()
            for source in self._sources:
                await self._reload(source, asked)

    async def _reload(self, source: ReloadedSource, asked: bool) -> None:
        """Read the content, and activate it if it has changed. Log and count errors once, and when asked."""
        content: Any = None
        async with source.reading:
            try:
                content = await asyncio.to_thread(source.read)
                if content == source.active:
                    if source.rejected is not None:
                        source.rejected, source.problem = None, ""
                        self._log.event("info", "restored to the active version", what=source.what)
                    elif asked:
                        self._log.event("info", "unchanged", what=source.what)
                    return
                await source.activate(content)
            except InputError as error:
                problems, fields = str(error), {}
            except Exception as error:
                problems = f"internal error: {exceptions.reason(error)}"
                fields = {"stack": exceptions.stack(error)}
            else:
                self._metrics.reloads.labels(source.what, "taken").inc()
                self._log.event("info", "reloaded", what=source.what)
                return
            rejected = content or problems
            if rejected == source.rejected and not asked:
                return
            source.rejected, source.problem = rejected, problems.partition("\n")[0]
            self._metrics.reloads.labels(source.what, "refused").inc()
            for problem in problems.splitlines():
                self._log.event("error", "reload rejected", what=source.what, problem=problem, **fields)
        await self.on_reject(source.what, source.problem)


async def _keep_silent(what: str, problem: str) -> None:
    """Tell no one but the log and the metrics."""
