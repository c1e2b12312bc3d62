"""Graceful shutdown: clients move to other replicas before the server closes, so that no review is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from webhook.server.http.acceptor import Acceptor
from webhook.server.lifecycle import Lifecycle, Phase
from webhook.server.reviews import Reviews
from webhook.settings.process import ServerSettings as Limits

_QUIET = 1.0
"""Seconds without a request on any connection after which the API server is taken to use other replicas."""

_HANDSHAKES = 1.0
"""Seconds that the clients of the backlog have for their handshakes."""

_REFUSING = 0.2
"""The share of `drainTimeout` in which what is still open is refused."""

_LAST_ANSWERS = 1.0
"""Seconds that clients have to read their last answers."""


class Shutdown:
    """Leads a server from its first phase after SERVING to CLOSING. Phase STOPPED ends every wait."""

    def __init__(self, limits: Limits, lifecycle: Lifecycle, reviews: Reviews, acceptor: Acceptor) -> None:
        self._limits = limits
        self._lifecycle = lifecycle
        self._reviews = reviews
        self._acceptor = acceptor

    @property
    def grace(self) -> float:
        """Seconds that clients still have once everything else is over."""
        return 0.0 if self._lifecycle.phase is Phase.STOPPED else _LAST_ANSWERS

    async def run(self) -> None:
        """Drain, unless the server is to stop at once."""
        stopped = asyncio.ensure_future(self._lifecycle.reached(Phase.STOPPED))
        drained = asyncio.ensure_future(self._drain())
        try:
            await asyncio.wait((stopped, drained), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            drained.cancel()
            await asyncio.wait((stopped, drained))
        if not drained.cancelled():
            drained.result()
        self._lifecycle.enter(Phase.CLOSING)

    async def _drain(self) -> None:
        """Wait for the endpoints to go, accept no more connections, answer what is open.

        Idle connections stay open meanwhile, and end with their next answer. The API server does not repeat a request
        that it sent into a connection which was just being closed (kubernetes/kubernetes#139105).
        """
        seconds, http = self._limits.drain_timeout, self._acceptor.http
        self._lifecycle.enter(Phase.DRAINING)
        await _within(self._limits.shutdown_delay, self._lifecycle.reached(Phase.STOPPED))
        self._acceptor.stop()
        await _within(_HANDSHAKES, self._acceptor.handshakes_done())
        if await _within(seconds * (1 - _REFUSING), http.quiet(min(_QUIET, seconds))):
            return
        self._lifecycle.enter(Phase.REFUSING)
        self._reviews.refuse_large()
        http.refuse_bodies()
        await _within(seconds * _REFUSING, http.quiet(0))


async def _within(seconds: float, condition: Awaitable[None]) -> bool:
    """Wait for a condition, at most this long; returns whether it holds."""
    try:
        async with asyncio.timeout(seconds):
            await condition
    except TimeoutError:
        return False
    return True
