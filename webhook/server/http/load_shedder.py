"""Load shedding: reviews run one after the other, within a limit, and none that would be answered too late."""

from __future__ import annotations

import asyncio
from time import monotonic

from webhook.server.errors import OverloadedError
from webhook.server.lifecycle import Lifecycle, Phase

_SLICE = 0.01
"""Seconds of reviews at a stretch. Then bytes are read, connections accepted and probes answered.

What the loop does besides reviews does not count: in a flood of handshakes a turn takes as long, and reviews would wait
for eight of them.
"""

_TURNS = 8
"""Turns of the loop between two stretches: as many as a client takes from its handshake to an answer of 503."""


class LoadShedder:
    """Counts the reviews whose bytes have arrived, and admits them one after the other.

    The loop reads from all connections before it runs any handler, and a handler runs without a pause. Handlers that
    went straight on would hide how many wait: a counter in them would only ever see one. They yield when a stretch is
    used up, and that makes the waiting reviews visible.
    """

    def __init__(self, limit: int, lifecycle: Lifecycle) -> None:
        self._limit = limit
        self._lifecycle = lifecycle
        self._is_counting = False
        self._spent = self._entered = 0.0
        self._last_wait = 0.0
        self.in_flight = 0

    async def enter(self, arrived: float, budget: float) -> None:
        """Wait for admission. Raises OverloadedError when half of the budget is over before.

        `arrived` is a time of the monotonic clock, `budget` the seconds that the API server waits for the answer.
        The other half is left to the retry.
        """
        if self.in_flight >= self._limit:
            raise OverloadedError("in-flight", f"{self._limit} reviews are in flight")
        latest = arrived + budget / 2
        now = monotonic()
        # Reviews are admitted in the order of arrival, so the wait of the last one predicts that of the next.
        if now + (self._last_wait if self.in_flight else 0) > latest:
            raise _late()
        self.in_flight += 1
        try:
            while self._is_used_up():
                await asyncio.sleep(0)  # noqa: TID251 - gives the loop a turn
                self._check(latest)
        except BaseException:
            self.in_flight -= 1
            raise
        self._entered = monotonic()
        self._last_wait = self._entered - now

    def leave(self) -> None:
        """End the review that was admitted last: its handler has not paused."""
        self.in_flight -= 1
        self._spent += monotonic() - self._entered

    def _check(self, latest: float) -> None:
        if self._lifecycle.phase >= Phase.REFUSING:
            raise OverloadedError("closing", "the server stops")
        if monotonic() > latest:
            raise _late()

    def _is_used_up(self) -> bool:
        """Whether the reviews of this stretch have had their time."""
        if not self._is_counting:
            self._is_counting, self._spent = True, 0.0
            asyncio.get_running_loop().call_soon(self._count_turn, _TURNS)
        return self._spent >= _SLICE

    def _count_turn(self, left: int) -> None:
        if left == 0:
            self._is_counting = False
        else:
            asyncio.get_running_loop().call_soon(self._count_turn, left - 1)


def _late() -> OverloadedError:
    return OverloadedError("late", "the server is behind; the answer would come too late")
