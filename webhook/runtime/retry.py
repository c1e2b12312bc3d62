"""Retries: waits that grow with each failure, a limit on the rate of writes, and what the log says of failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import Any, Final, Protocol

from webhook.policy.messages import printable

_LONGEST = 60.0
"""Seconds of the longest wait before a retry."""

_STABLE = 10.0
"""Seconds after which an operation that ends counts as successful: the wait before the next one is the shortest."""

_BURST = 10.0
_REFILL = 10.0
"""Seconds until one more write is allowed. An installation takes three writes, each step of a rotation at most two."""


def monotonic() -> float:
    """The time of the event loop's clock in seconds, for durations: nothing sets this clock."""
    return asyncio.get_running_loop().time()


def is_stable(began: float) -> bool:
    """Whether an operation that began at this time of `monotonic` has run long enough to count as successful."""
    return monotonic() - began >= _STABLE


async def delay(seconds: float) -> None:
    """Wait this long. Wait for an event with `wait_for_event` wherever there is one to wait for."""
    await asyncio.sleep(seconds)  # noqa: TID251 - the time is the point


async def next_turn() -> None:
    """Let the event loop run its other tasks once, between two slices of longer work."""
    await asyncio.sleep(0)  # noqa: TID251 - gives the loop a turn


async def within(seconds: float | None, condition: Awaitable[object]) -> bool:
    """Wait for a condition, for this long at most if there is a limit. Return whether it holds."""
    try:
        async with asyncio.timeout(seconds):
            await condition
    except TimeoutError:
        return False
    return True


async def wait_for_event(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait until an event is set, for this long at most if there is a limit. Return whether it is set."""
    return await within(seconds, event.wait()) or event.is_set()


class Backoff:
    """Waits that double with each failure in a row, up to a minute. A random part keeps replicas out of step."""

    def __init__(self, first: float, chance: Random | None = None) -> None:
        self._first = first
        self._chance = chance or SystemRandom()
        self.failures = 0

    async def wait(self) -> None:
        """Count a failure, and wait."""
        seconds = min(_LONGEST, self._first * 2.0 ** min(self.failures, 16)) * self._chance.uniform(0.5, 1.0)
        self.failures += 1
        await delay(seconds)

    async def wait_after(self, began: float) -> None:
        """Wait before an operation such as a watch is repeated, however it ended."""
        if is_stable(began):
            self.reset()
        await self.wait()

    def reset(self) -> None:
        """Record a success: the next wait is the shortest again."""
        self.failures = 0


class RateLimiter:
    """A token bucket for writes: two writers that disagree must not overload the API server.

    Ten writes are allowed at once, and one more after each ten seconds.
    """

    def __init__(self) -> None:
        self._tokens = _BURST
        self._counted = monotonic()

    def wait(self) -> float:
        """Seconds until a write is allowed; 0 if one is allowed now."""
        now = monotonic()
        self._tokens = min(_BURST, self._tokens + (now - self._counted) / _REFILL)
        self._counted = now
        return max(0.0, (1 - self._tokens) * _REFILL)

    @property
    def full(self) -> bool:
        """Whether no write was made for some time, so that the whole burst is available."""
        self.wait()
        return self._tokens == _BURST

    def spend(self) -> None:
        self._tokens -= 1


_TEXT: Final = 600
"""Characters of an error: a path with a custom name and a message of the API server, each printable already."""


class LogEvent(Protocol):
    """Logs an event, as `EventLog.event` does."""

    def __call__(self, level: str, event: str, /, **fields: Any) -> None:
        """Log an event with its fields. `level` is debug, info, warning or error."""


@dataclass(eq=False, slots=True)
class FailureLog:
    """One kind of failure. `failed` is the event that reports it at `level`, `recovered` the one that reports its end.

    The end of a warning is reported at level info.
    """

    log: LogEvent
    failed: str
    recovered: str
    level: str = "warning"
    _last: str | None = None

    def __bool__(self) -> bool:
        return self._last is not None

    def report(self, error: object) -> None:
        """Log a failure unless it equals the last one. The text may come from anywhere."""
        text = printable(error, _TEXT)
        if text != self._last:
            self._last = text
            self.log(self.level, self.failed, error=text)

    def recover(self) -> None:
        if self._last is not None:
            self._last = None
            self.log("info" if self.level == "warning" else self.level, self.recovered)


_AGAIN: Final = 600.0
"""Seconds after which something is logged again that went away and came back."""

_REMEMBERED: Final = 1000
"""Different texts that are logged within that time."""


class Recently:
    """The texts that were logged in the last ten minutes, at most 1,000."""

    def __init__(self) -> None:
        self._logged: dict[str, float] = {}

    def new(self, texts: Iterable[str]) -> list[str]:
        """The texts to log now, in order. From now on they count as logged."""
        now = monotonic()
        self._logged = {text: when for text, when in self._logged.items() if now - when < _AGAIN}
        new = sorted(set(texts) - self._logged.keys())[: _REMEMBERED - len(self._logged)]
        self._logged |= dict.fromkeys(new, now)
        return new
