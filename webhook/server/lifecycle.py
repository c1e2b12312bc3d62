"""The phases of a server's life, the health endpoints and log lines that report them, and tasks in the background."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from time import monotonic
from typing import Any

from aiohttp import web

from webhook.runtime import exceptions, retry
from webhook.runtime.retry import LogEvent
from webhook.server.metrics import Metrics


class Phase(IntEnum):
    """What the server does. A later phase never goes back to an earlier one."""

    STARTING = 0
    """It prepares, and accepts no review."""

    SERVING = 1
    """It answers reviews."""

    DRAINING = 2
    """It is not ready, and each answer ends its connection, so that clients move to other replicas."""

    REFUSING = 3
    """It answers what is still open with 503, so that the API server asks another replica."""

    CLOSING = 4
    """It closes its connections, and leaves clients a moment to read their last answers."""

    STOPPED = 5
    """Nothing is waited for."""


class Lifecycle:
    """The current phase of a server. Everything that depends on it asks here."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self._entered = {phase: asyncio.Event() for phase in Phase}

    def enter(self, phase: Phase) -> None:
        """Enter a phase, unless it has been passed."""
        self.phase = max(self.phase, phase)
        for reached in Phase:
            if reached <= self.phase:
                self._entered[reached].set()

    async def reached(self, phase: Phase) -> None:
        """Wait until a phase is entered or passed."""
        await self._entered[phase].wait()


_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_EXPOSED = 1.0
"""Seconds for which an exposition of the metrics is served: to make it takes a millisecond of the event loop."""


@dataclass(eq=False, slots=True)
class Health:
    """Answers probes and scrapes. Readiness depends on `conditions`, by name; `details` are for people, by name."""

    conditions: Callable[[], dict[str, bool]]
    details: Mapping[str, Callable[[], str]]
    metrics: Metrics
    _exposition: bytes = b""
    _exposed: float = -math.inf
    _expositions: int = 0

    async def handle(self, request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="only GET and HEAD are allowed here\n", headers={"Allow": "GET, HEAD"})
        match request.path:
            case "/livez":
                return web.Response(text="ok\n")
            case "/readyz":
                conditions = self.conditions()
                ready = all(conditions.values())
                lines = []
                if "verbose" in request.query:
                    lines += [f"[{'+' if holds else '-'}]{name}\n" for name, holds in conditions.items()]
                    lines += [f"[ ]{name}: {describe()}\n" for name, describe in self.details.items()]
                lines.append("ok\n" if ready else "not ready\n")
                return web.Response(status=200 if ready else 503, text="".join(lines))
            case "/metrics":
                now = monotonic()
                if now - self._exposed >= _EXPOSED:
                    self._exposition, self._exposed = self.metrics.text(), now
                    self._expositions += 1
                headers = {"Content-Type": _METRICS_TYPE, "ETag": f'"{self._expositions}"'}
                return web.Response(body=self._exposition, headers=headers)
        return web.Response(status=404, text="not found; see /livez, /readyz and /metrics\n")


_LOOK = 1.0
"""Seconds between two looks at the conditions."""

_PATIENCE = 10.0
"""Seconds that a replica may be unready without a line, as it usually is when it starts."""

_AGAIN = 60.0
"""Seconds between two lines."""


async def log_readiness(conditions: Callable[[], dict[str, bool]], lifecycle: Lifecycle, log: LogEvent) -> None:
    """Log every minute which conditions of readiness do not hold, until all of them hold or the server stops."""
    due: float | None = None
    logged = False
    while lifecycle.phase < Phase.DRAINING:
        reasons = [name for name, holds in conditions().items() if not holds]
        if not reasons:
            if logged:
                log("info", "ready")
            due, logged = None, False
        elif due is None:
            due = retry.monotonic() + _PATIENCE
        elif retry.monotonic() >= due:
            log("warning", "not ready", reasons=reasons)
            due, logged = retry.monotonic() + _AGAIN, True
        await retry.delay(_LOOK)


RESTART_AFTER = 5.0
"""Seconds until a task that failed is restarted."""


class Supervisor:
    """Runs each of `tasks`, by name, until the server stops. A task that fails is logged and restarted."""

    def __init__(self, log: LogEvent) -> None:
        self._log = log
        self.tasks: dict[str, Callable[[], Awaitable[None]]] = {}
        self._running: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()

    def start(self) -> None:
        self._running = [asyncio.create_task(self._keep(name, run), name=name) for name, run in self.tasks.items()]

    async def stop(self) -> None:
        self._stopping.set()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _keep(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        task: asyncio.Task[Any] = asyncio.current_task()  # type: ignore[assignment]  # it runs in one
        while not self._stopping.is_set():
            cancellations = task.cancelling()
            try:
                await run()
            except (asyncio.CancelledError, Exception) as error:
                # A library may end a call with CancelledError although nothing cancels this task.
                if isinstance(error, asyncio.CancelledError) and task.cancelling() > cancellations:
                    raise
                self._log("error", "internal error", task=name, **exceptions.fields(error))
            await retry.wait_for_event(self._stopping, RESTART_AFTER)
