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

LAST_ANSWERS = 1.0
"""Seconds that clients have to read their last answers."""


async def drain(limits: Limits, lifecycle: Lifecycle, reviews: Reviews, acceptor: Acceptor) -> None:
    """Lead a server from its first phase after SERVING to CLOSING. Phase STOPPED ends every wait."""
    stopped = asyncio.ensure_future(lifecycle.reached(Phase.STOPPED))
    drained = asyncio.ensure_future(_drain(limits, lifecycle, reviews, acceptor))
    try:
        await asyncio.wait((stopped, drained), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        drained.cancel()
        await asyncio.wait((stopped, drained))
    if not drained.cancelled():
        drained.result()
    lifecycle.enter(Phase.CLOSING)


async def _drain(limits: Limits, lifecycle: Lifecycle, reviews: Reviews, acceptor: Acceptor) -> None:
    """Wait for the endpoints to go, accept no more connections, answer what is open.

    Idle connections stay open meanwhile, and end with their next answer. The API server does not repeat a request that
    it sent into a connection which was just being closed (kubernetes/kubernetes#139105).
    """
    seconds, http = limits.drain_timeout, acceptor.http
    lifecycle.enter(Phase.DRAINING)
    await _within(limits.shutdown_delay, lifecycle.reached(Phase.STOPPED))
    acceptor.stop()
    await _within(_HANDSHAKES, acceptor.handshakes_done())
    if await _within(seconds * (1 - _REFUSING), http.quiet(min(_QUIET, seconds))):
        return
    lifecycle.enter(Phase.REFUSING)
    reviews.refuse_large()
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
