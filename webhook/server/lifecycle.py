"""The phases of a server's life, and the health endpoints that report them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from enum import IntEnum

from aiohttp import web

from webhook.server.observe.metrics import Metrics


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


class Health:
    """Answers probes and scrapes. Readiness depends on `conditions`, by name; `details` are for people, by name."""

    def __init__(
        self, conditions: Callable[[], dict[str, bool]], details: Mapping[str, Callable[[], str]], metrics: Metrics
    ) -> None:
        self._conditions = conditions
        self._details = details
        self._metrics = metrics

    async def handle(self, request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="only GET and HEAD are allowed here\n", headers={"Allow": "GET, HEAD"})
        match request.path:
            case "/livez":
                return web.Response(text="ok\n")
            case "/readyz":
                return self._readyz("verbose" in request.query)
            case "/metrics":
                return web.Response(body=self._metrics.text(), headers={"Content-Type": _METRICS_TYPE})
        return web.Response(status=404, text="not found; see /livez, /readyz and /metrics\n")

    def _readyz(self, verbose: bool) -> web.Response:
        conditions = self._conditions()
        ready = all(conditions.values())
        lines: list[str] = []
        if verbose:
            lines += [f"[{'+' if holds else '-'}]{name}" for name, holds in conditions.items()]
            lines += [f"[ ]{name}: {describe()}" for name, describe in self._details.items()]
        lines.append("ok" if ready else "not ready")
        return web.Response(status=200 if ready else 503, text="\n".join(lines) + "\n")
