"""Files that the running server takes anew: by content, each ten seconds and when a signal asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.diagnostics import InputError
from webhook.runtime.exceptions import reason, stack
from webhook.runtime.retry import pause
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

_POLL = 10.0
"""Seconds between two looks. File events are of no use here: the kubelet exchanges a link two folders above."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something that is read again while the server runs.

    `read` gives its content and may block; `prepare` makes of it what `take` puts in force, and may block too. Both
    raise InputError. `loaded` is the content that is in force from the start; None: the first look takes what it reads.
    """

    what: str
    read: Callable[[], Any]
    prepare: Callable[[Any], Any]
    take: Callable[[Any], None]
    loaded: Any = None


class Reload:
    """Keeps watch over sources. What cannot be used is said and counted once, and what was before stays in force."""

    def __init__(self, sources: Sequence[Source], log: EventLog, metrics: Metrics) -> None:
        self._sources = sources
        for source in sources:
            metrics.expect(source.what)
        self._log = log
        self._metrics = metrics
        self._asked = asyncio.Event()
        self._in_force = {source.what: source.loaded for source in sources if source.loaded is not None}
        self._refused: dict[str, Any] = {}

    async def first(self) -> None:
        """Take every source that is not in force yet. Raises InputError."""
        for source in self._sources:
            if source.what in self._in_force:
                continue
            content = await asyncio.to_thread(source.read)
            source.take(await asyncio.to_thread(source.prepare, content))
            self._in_force[source.what] = content

    def ask(self) -> None:
        """Look now, and say what is found even if nothing has changed."""
        self._asked.set()

    async def watch(self) -> None:
        """Look for ever."""
        while True:
            await pause(_POLL, unless=self._asked)
            asked = self._asked.is_set()
            self._asked.clear()
            for source in self._sources:
                await self._look(source, asked)

    async def _look(self, source: Source, asked: bool) -> None:
        """Look at one source. What goes wrong with it is its own: the next one is looked at all the same."""
        content: Any = None
        try:
            content = await asyncio.to_thread(source.read)
            if content == self._in_force.get(source.what):
                self._unchanged(source, asked)
                return
            source.take(await asyncio.to_thread(source.prepare, content))
        except InputError as error:
            self._refuse(source, content or str(error), str(error), asked)
            return
        except Exception as error:
            why = reason(error)
            self._refuse(source, content or why, f"internal error: {why}", asked, stack=stack(error))
            return
        self._in_force[source.what] = content
        self._refused.pop(source.what, None)
        self._metrics.reloaded(source.what, "taken")
        self._log.event("info", "reloaded", what=source.what)

    def _unchanged(self, source: Source, asked: bool) -> None:
        if self._refused.pop(source.what, None) is not None:
            self._log.event("info", "put back", what=source.what)
        elif asked:
            self._log.event("info", "unchanged", what=source.what)

    def _refuse(self, source: Source, content: Any, problems: str, asked: bool, **fields: str) -> None:
        """Say what is wrong with a content, once; and again when somebody asks."""
        if content == self._refused.get(source.what) and not asked:
            return
        self._refused[source.what] = content
        self._metrics.reloaded(source.what, "refused")
        for problem in problems.splitlines():
            self._log.event("error", "reload refused", what=source.what, problem=problem, **fields)
