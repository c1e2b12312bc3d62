"""Reviews take turns with the rest of the loop, and wait for their own time only.

The clock is simulated, so that no other process takes time from a review.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Generator

import pytest

from webhook.server.errors import OverloadedError
from webhook.server.http import load
from webhook.server.http.load import LoadShedder
from webhook.server.lifecycle import Lifecycle, Phase

TURN = 0.004
"""Seconds of a turn that is full of handshakes; three of them take longer than a stretch of reviews."""


class Turns:
    """Counts the turns of the loop, each of which is full of other work."""

    def __init__(self, seconds: float = TURN) -> None:
        self.count = 0
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._passed = asyncio.Event()
        self._turn()

    def _turn(self) -> None:
        self.count += 1
        spin(self._seconds)
        self._passed.set()
        self._handle = self._loop.call_soon(self._turn)

    async def next(self) -> None:
        """Wait for the end of a turn."""
        self._passed.clear()
        await self._passed.wait()

    def stop(self) -> None:
        self._handle.cancel()


class Clock:
    """A clock that only work advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "monotonic", CLOCK)


CLOCK = Clock()


def spin(seconds: float) -> None:
    CLOCK.now += seconds


async def waited(shedder: LoadShedder, turns: Turns, seconds: float) -> int:
    """How many turns a review of this many seconds waits."""
    before = turns.count
    await shedder.enter(CLOCK(), 10)
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


@pytest.mark.parametrize("seconds", [0.0, 0.001])
async def test_reviews_that_take_a_fifth_of_the_time_do_not_wait(seconds: float) -> None:
    assert await waits(seconds) == [0] * 30


async def test_long_reviews_leave_turns_to_other_work() -> None:
    found = await waits(0.02)
    assert found[0] == 0
    assert min(found[1:]) > 2


async def refusal(shedder: LoadShedder, arrived: float, budget: float) -> str:
    """Why a review is refused. It leaves nothing in flight."""
    before = shedder.in_flight
    with pytest.raises(OverloadedError) as refused:
        await shedder.enter(arrived, budget)
    assert shedder.in_flight == before
    return refused.value.reason


async def test_review_beyond_limit_is_shed() -> None:
    shedder = LoadShedder(1, Lifecycle())
    await shedder.enter(CLOCK(), 60)
    assert await refusal(shedder, CLOCK(), 60) == "in-flight"
    shedder.leave()
    await shedder.enter(CLOCK(), 60)


async def test_review_that_is_late_is_shed() -> None:
    shedder = LoadShedder(8, Lifecycle())
    await shedder.enter(CLOCK() - 29, 60)
    shedder.leave()
    assert await refusal(shedder, CLOCK() - 31, 60) == "late"


async def test_review_that_becomes_late_while_it_waits_is_shed() -> None:
    shedder, turns = LoadShedder(8, Lifecycle()), Turns(seconds=0.1)
    try:
        assert await waited(shedder, turns, 0.02) == 0
        assert await refusal(shedder, CLOCK(), 0.15) == "late"
    finally:
        turns.stop()


async def test_wait_of_last_review_predicts_that_of_next() -> None:
    shedder, turns = LoadShedder(8, Lifecycle()), Turns(seconds=0.05)
    try:
        await waited(shedder, turns, 0.02)
        await shedder.enter(CLOCK(), 60)  # after at least three turns
        before = turns.count
        assert await refusal(shedder, CLOCK(), 0.2) == "late"
        assert turns.count == before, "at once"
    finally:
        turns.stop()
    shedder.leave()
    turns = Turns(seconds=0)
    for _ in range(16):  # until another stretch begins
        await turns.next()
    turns.stop()
    await shedder.enter(CLOCK(), 0.2)


async def test_waiting_review_is_shed_when_server_refuses() -> None:
    lifecycle = Lifecycle()
    shedder, turns = LoadShedder(8, lifecycle), Turns()
    try:
        await waited(shedder, turns, 0.02)
        waiting = asyncio.create_task(refusal(shedder, CLOCK(), 60))
        await turns.next()
        lifecycle.enter(Phase.REFUSING)
        assert await waiting == "closing"
    finally:
        turns.stop()


async def admitted(shedder: LoadShedder, name: str, order: list[str], seconds: float = 0.0) -> None:
    await shedder.enter(CLOCK(), 60)
    order.append(name)
    spin(seconds)
    shedder.leave()


async def test_reviews_are_admitted_in_order_of_arrival() -> None:
    """Also those that arrive in the turn in which a new stretch begins, and while others are admitted."""
    shedder, order = LoadShedder(256, Lifecycle()), list[str]()
    await admitted(shedder, "first", order, 0.02)
    tasks = []
    for number in range(60):
        tasks.append(asyncio.create_task(admitted(shedder, f"{number:02}", order, 0.001)))
        if number % 3 == 0:
            await turn_of_loop()
    await asyncio.gather(*tasks)
    assert order == ["first", *(f"{number:02}" for number in range(60))]
    assert shedder.in_flight == 0


async def turn_of_loop() -> None:
    passed = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(passed.set_result, None)
    await passed


@pytest.mark.parametrize("gone", [0, 1, 4])
async def test_review_that_is_cancelled_leaves_its_turn_to_the_next(gone: int) -> None:
    shedder, order = LoadShedder(8, Lifecycle()), list[str]()
    await admitted(shedder, "first", order, 0.02)
    tasks = [asyncio.create_task(admitted(shedder, str(number), order)) for number in range(5)]
    await turn_of_loop()
    tasks[gone].cancel()
    await asyncio.wait(tasks, timeout=10)
    assert order == ["first", *(str(number) for number in range(5) if number != gone)]
    assert shedder.in_flight == 0


async def test_review_that_is_cancelled_when_admitted_leaves_its_turn_to_the_next() -> None:
    """In one of these turns it is admitted and has not run."""
    found = set()
    for turns in range(16):
        shedder, order = LoadShedder(8, Lifecycle()), list[str]()
        await admitted(shedder, "first", order, 0.02)
        tasks = [asyncio.create_task(admitted(shedder, str(number), order)) for number in range(3)]
        for _ in range(turns):
            await turn_of_loop()
        tasks[0].cancel()
        await asyncio.wait(tasks, timeout=10)
        assert shedder.in_flight == 0
        found.add(tuple(order))
    assert found == {("first", "1", "2"), ("first", "0", "1", "2")}


async def test_waiting_review_takes_no_turns() -> None:
    """A review that asked again in each turn would cost as much as its own work where the processor is short."""
    shedder, order, steps = LoadShedder(8, Lifecycle()), list[str](), 0
    await admitted(shedder, "first", order, 0.02)
    review = admitted(shedder, "second", order)

    @types.coroutine
    def counted() -> Generator[object, None, None]:
        nonlocal steps
        while True:
            try:
                waits_for = review.send(None)
            except StopIteration:
                return
            steps += 1
            yield waits_for

    async def run() -> None:
        await counted()

    await run()
    assert (order, steps) == (["first", "second"], 1)
