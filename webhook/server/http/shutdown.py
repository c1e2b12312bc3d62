"""The end of a server that loses nothing: who calls is led elsewhere before the door closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from webhook.runtime.retry import wait_for_event
from webhook.server.http.acceptor import Acceptor
from webhook.server.reviews import Reviews
from webhook.settings.process import Server as Limits

_QUIET = 1.0
"""Seconds without a request on any connection after which the API server is taken to have gone elsewhere."""

_SETTLING = 1.0
"""Seconds in which those who have come become connections."""

_REFUSING = 0.2
"""The part of the drain's time that is left for refusing what is still open."""

_LAST = 1.0
"""Seconds for the very last answers, when the drain is over."""

_LOOK = 0.05
"""Seconds between two looks at what is still open."""


class Draining:
    """Waits for the endpoints to go and for open requests to be answered. `hurry` ends every wait."""

    def __init__(self, limits: Limits, reviews: Reviews, door: Acceptor) -> None:
        self._limits = limits
        self._reviews = reviews
        self._door = door
        self._hurried = asyncio.Event()

    @property
    def patience(self) -> float:
        """Seconds that whoever is being answered has left when all else is over; in a hurry none."""
        return 0.0 if self._hurried.is_set() else _LAST

    def hurry(self) -> None:
        """Wait no more."""
        self._hurried.set()

    async def run(self) -> None:
        """Let the endpoints go, accept no more, answer what is open.

        Idle connections stay open meanwhile, and end with their next answer. The API server does not repeat a request
        that it sent into a connection which was just being closed (kubernetes/kubernetes#139105).
        """
        seconds, listener = self._limits.drain_timeout, self._door.listener
        self._reviews.stopping = True
        await self._until(lambda: False, self._limits.shutdown_delay)
        self._door.shut()
        await self._until(lambda: not len(self._door.welcome), _SETTLING)
        if await self._until(lambda: listener.quiet(min(_QUIET, seconds)), seconds * (1 - _REFUSING)):
            return
        self._reviews.close()
        listener.give_up()
        await self._until(lambda: listener.quiet(0), seconds * _REFUSING)

    async def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Whether a condition comes true in time. In a hurry all have."""
        end = monotonic() + seconds
        while not condition() and not self._hurried.is_set():
            left = end - monotonic()
            if left <= 0:
                return False
            await wait_for_event(self._hurried, min(left, _LOOK))
        return True
