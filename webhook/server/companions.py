"""What runs beside the server, as long as it runs: whatever keeps settings, facts and certificates up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from webhook.beside.pace import pause
from webhook.server.journal import Journal
from webhook.server.refusal import told

_RETRY = 5.0
"""Seconds until a companion that failed is started again."""


class Companions:
    """Runs each companion in a task of its own. A defect in one is said, and it is started again."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._runs: dict[str, Callable[[], Awaitable[None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def add(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Have something run from the start on."""
        self._runs[name] = run

    def start(self) -> None:
        """Start all."""
        self._tasks = [asyncio.create_task(self._keep(name, run), name=name) for name, run in self._runs.items()]

    async def stop(self) -> None:
        """End all."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _keep(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await run()
            except Exception as error:
                self._journal.say("error", "internal error", companion=name, error=told(error))
            await pause(_RETRY)
