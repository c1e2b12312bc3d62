"""Reviews take turns with the rest of the loop, and wait for their own time only."""

from __future__ import annotations

import asyncio
import time

from webhook.server.http.load_shedder import LoadShedder
from webhook.server.lifecycle import Lifecycle

TURN = 0.004
"""Seconds of a turn that is full of handshakes; three of them take longer than a stretch of reviews."""


class Turns:
    """Counts the turns of the loop, each of which is full of other work."""

    def __init__(self) -> None:
        self.count = 0
        self._loop = asyncio.get_running_loop()
        self._passed = asyncio.Event()
        self._turn()

    def _turn(self) -> None:
        self.count += 1
        spin(TURN)
        self._passed.set()
        self._handle = self._loop.call_soon(self._turn)

    async def next(self) -> None:
        """Wait for the end of a turn."""
        self._passed.clear()
        await self._passed.wait()

    def stop(self) -> None:
        self._handle.cancel()


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


async def waited(shedder: LoadShedder, turns: Turns, seconds: float) -> int:
    """How many turns a review of this many seconds waits."""
    before = turns.count
    await shedder.enter(time.monotonic(), 10)
    after = turns.count
    spin(seconds)
    shedder.leave()
    return after - before


async def waits(seconds: float) -> list[int]:
    """The waits of reviews of this many seconds, one per turn."""
    shedder, turns = LoadShedder(256, Lifecycle()), Turns()
    try:
        found = []
        for _ in range(30):
            found.append(await waited(shedder, turns, seconds))
            await turns.next()
        return found
    finally:
        turns.stop()


async def test_short_review_does_not_wait_for_other_work() -> None:
    assert await waits(0.0) == [0] * 30


async def test_long_reviews_leave_turns_to_other_work() -> None:
    found = await waits(0.02)
    assert found[0] == 0
    assert min(found[1:]) > 2
