"""What runs beside the server, as long as it runs: whatever keeps settings, facts and certificates up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from webhook.runtime.exceptions import reason, stack
from webhook.runtime.failure_log import Say
from webhook.runtime.retry import pause

_RETRY = 5.0
"""Seconds until a companion that failed is started again."""


class Supervisor:
    """Runs each companion in a task of its own. A defect in one is said, and it is started again."""

    def __init__(self, event: Say) -> None:
        self._event = event
        self._runs: dict[str, Callable[[], Awaitable[None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._ending = asyncio.Event()

    def add(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Have something run from the start on."""
        self._runs[name] = run

    def start(self) -> None:
        """Start all."""
        self._tasks = [asyncio.create_task(self._keep(name, run), name=name) for name, run in self._runs.items()]

    async def stop(self) -> None:
        """End all."""
        self._ending.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _keep(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        while not self._ending.is_set():
            cancellations = _cancellations()
            try:
                await run()
            except asyncio.CancelledError as error:
                # A library may end a call with CancelledError although nothing cancels this task.
                if _cancellations() > cancellations:
                    raise
                self._failed(name, error)
            except Exception as error:
                self._failed(name, error)
            await pause(_RETRY, unless=self._ending)

    def _failed(self, name: str, error: BaseException) -> None:
        self._event("error", "internal error", companion=name, error=reason(error), stack=stack(error))


def _cancellations() -> int:
    """How often this task was cancelled."""
    me = asyncio.current_task()
    return 0 if me is None else me.cancelling()
