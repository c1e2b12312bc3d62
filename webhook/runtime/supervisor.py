"""Background tasks of the server: they keep settings, facts and certificates up to date while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from webhook.runtime import exceptions
from webhook.runtime.failure_log import LogEvent
from webhook.runtime.retry import wait_for_event

_RESTART_AFTER = 5.0
"""Seconds until a task that failed is restarted."""


class Supervisor:
    """Runs each background task until the server stops. A task that fails is logged and restarted."""

    def __init__(self, log: LogEvent, *, restart_after: float = _RESTART_AFTER) -> None:
        self._log = log
        self._restart_after = restart_after
        self._runs: dict[str, Callable[[], Awaitable[None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()

    def add(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        self._runs[name] = run

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._keep(name, run), name=name) for name, run in self._runs.items()]

    async def stop(self) -> None:
        self._stopping.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _keep(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        while not self._stopping.is_set():
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
            await wait_for_event(self._stopping, self._restart_after)

    def _failed(self, name: str, error: BaseException) -> None:
        self._log("error", "internal error", task=name, **exceptions.fields(error))


def _cancellations() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
