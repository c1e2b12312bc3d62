"""The intake of reviews: one after the other, so many at once, and none that would be answered too late."""

from __future__ import annotations

import asyncio
from time import monotonic

from webhook.server.errors import OverloadedError

_SLICE = 0.01
"""Seconds of reviews at a stretch. Then bytes are read, connections accepted and probes answered."""

_TURNS = 8
"""Turns of the loop between two stretches: as many as a caller takes from his handshake to an answer of 503."""


class LoadShedder:
    """Counts the reviews whose bytes have arrived, and gives each its turn.

    The loop reads from all connections before it runs any handler, and a handler runs without a pause. So handlers
    that went straight on would hide how many wait: a counter in them would see one. They yield when a stretch is
    used up, and that makes those who wait visible.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._stretch_ends: float | None = None
        self._waited = 0.0
        self.in_flight = 0
        self.closing = False

    async def enter(self, arrived: float, budget: float) -> None:
        """Wait for a turn. Raises ShedError when there is none within half of the budget.

        `arrived` is a time of the monotonic clock, `budget` the seconds that the API server waits for the answer.
        The other half is left to the retry.
        """
        if self.in_flight >= self._limit:
            raise OverloadedError("in-flight", f"{self._limit} reviews are worked on already")
        latest = arrived + budget / 2
        now = monotonic()
        # Turns are given in the order of arrival, so the wait of the last one tells that of the next.
        if now + (self._waited if self.in_flight else 0) > latest:
            raise OverloadedError("late", "the server is behind; the answer would come too late")
        self.in_flight += 1
        try:
            while self._used_up():
                await asyncio.sleep(0)
                self._check(latest)
        except BaseException:
            self.leave()
            raise
        self._waited = monotonic() - now

    def leave(self) -> None:
        """Tell that a review is done."""
        self.in_flight -= 1

    def _check(self, latest: float) -> None:
        if self.closing:
            raise OverloadedError("closing", "the server stops")
        if monotonic() > latest:
            raise OverloadedError("late", "the server is behind; the answer would come too late")

    def _used_up(self) -> bool:
        """Whether the reviews of this stretch have had their time."""
        now = monotonic()
        if self._stretch_ends is None:
            self._stretch_ends = now + _SLICE
            asyncio.get_running_loop().call_soon(self._turn, _TURNS)
        return now >= self._stretch_ends

    def _turn(self, left: int) -> None:
        if left == 0:
            self._stretch_ends = None
        else:
            asyncio.get_running_loop().call_soon(self._turn, left - 1)
