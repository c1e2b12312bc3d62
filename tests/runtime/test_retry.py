"""Retries: waits that double, and writes that are rate limited."""

from __future__ import annotations

import asyncio
from random import Random

from tests.pki.fake_api import wait
from tests.pki.virtual import virtual
from webhook.runtime.retry import Backoff, RateLimiter, delay, monotonic, wait_for_event

pytestmark = virtual


async def waits(backoff: Backoff, number: int) -> list[float]:
    """How long the next waits are."""
    found = []
    for _ in range(number):
        before = monotonic()
        await backoff.wait()
        found.append(monotonic() - before)
    return found


async def test_backoff_doubles_up_to_a_minute_and_resets() -> None:
    backoff = Backoff(1.0, Random(1))  # noqa: S311
    for waited, most in zip(await waits(backoff, 9), [1, 2, 4, 8, 16, 32, 60, 60, 60], strict=True):
        assert most / 2 <= waited <= most + 0.001
    assert backoff.failures == 9
    backoff.reset()
    assert max(await waits(backoff, 1)) <= 1


async def test_stable_operation_resets_backoff() -> None:
    backoff = Backoff(1.0, Random(1))  # noqa: S311
    await waits(backoff, 5)
    began = monotonic()
    await backoff.wait_after(began)
    assert monotonic() - began >= 16, "it ended at once"
    ended = monotonic()
    await backoff.wait_after(began)
    assert 0.5 <= monotonic() - ended <= 1


async def test_backoff_is_random() -> None:
    seconds = [(await waits(Backoff(1.0, Random(seed)), 1))[0] for seed in range(4)]  # noqa: S311
    assert len(set(seconds)) == 4


async def test_wait_for_event_ends_early() -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(3, event.set)
    assert await wait_for_event(event, 10)
    assert monotonic() == 3
    assert not await wait_for_event(asyncio.Event(), 10)
    assert monotonic() == 13
    await delay(2)
    assert monotonic() == 15


async def test_rate_limiter_allows_burst_of_ten_then_one_per_ten_seconds() -> None:
    allowance = RateLimiter()
    for _ in range(10):
        assert allowance.wait() == 0
        allowance.spend()
    assert allowance.wait() == 10
    await wait(4)
    assert allowance.wait() == 6
    await wait(6)
    assert allowance.wait() == 0
    allowance.spend()
    assert allowance.wait() == 10
    await wait(1000)
    assert allowance.full
    for _ in range(10):
        assert allowance.wait() == 0
        allowance.spend()
    assert allowance.wait() == 10
