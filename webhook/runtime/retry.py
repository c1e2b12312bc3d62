"""How fast something goes on: waits after failures, and a limit on writes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random, SystemRandom

_LONGEST = 60.0
"""Seconds after which a failed call is tried again at the latest."""

_LIVED = 10.0
"""Seconds after which something that ends has not failed: it is begun anew, after the shortest wait."""

_BURST = 10.0
_REFILL = 10.0
"""Seconds for one more write. An installation takes three, a rotation two at a time; only a quarrel takes more."""


def moment() -> float:
    """Seconds that no one sets: for lengths of time, where the clock would be the wrong thing to ask."""
    return asyncio.get_running_loop().time()


def lived(began: float) -> bool:
    """Whether what began at this moment has gone on for so long that it is no failure."""
    return moment() - began >= _LIVED


async def pause(seconds: float, unless: asyncio.Event | None = None) -> None:
    """Wait so long, or until the event."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await (unless or asyncio.Event()).wait()


class Backoff:
    """Waits that double with each failure in a row. Each replica waits differently."""

    def __init__(self, first: float, chance: Random | None = None) -> None:
        self._first = first
        self._chance = chance or SystemRandom()
        self.failures = 0

    async def wait(self) -> None:
        """Wait after one more failure."""
        seconds = min(_LONGEST, self._first * 2.0 ** min(self.failures, 16)) * self._chance.uniform(0.5, 1.0)
        self.failures += 1
        await pause(seconds)

    async def wait_after(self, began: float) -> None:
        """Wait after the end of something that is to be begun anew, such as a watch, whatever it ended by."""
        if lived(began):
            self.reset()
        await self.wait()

    def reset(self) -> None:
        """It worked."""
        self.failures = 0


class RateLimiter:
    """Writes that a keeper may still make, so that two that want different things do not wear the API server out."""

    def __init__(self) -> None:
        self._left = _BURST
        self._counted = moment()

    def wait(self) -> float:
        """Seconds until there is a write to make; 0 when there is one."""
        now = moment()
        self._left = min(_BURST, self._left + (now - self._counted) / _REFILL)
        self._counted = now
        return max(0.0, (1 - self._left) * _REFILL)

    @property
    def full(self) -> bool:
        """Whether as many may be made as ever: none was for some time."""
        self.wait()
        return self._left == _BURST

    def spend(self) -> None:
        """One write was made."""
        self._left -= 1
