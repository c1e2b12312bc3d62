"""Large reviews: one at a time on their own thread, in order, shed when they would be late or their client has gone."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from time import monotonic

import pytest

from tests.server import lines
from tests.server.lines import PATIENCE
from webhook.server.errors import OverloadedError, RequestError
from webhook.server.http.load import LargeReviews

WAITING = 64


class Jobs:
    """Jobs that end when they are let go, and what has begun."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.at_once = 0
        self._let_go = [threading.Event() for _ in range(WAITING + 2)]
        self._running = 0

    def job(self, number: int) -> Callable[[], int]:
        """A job that answers with its number."""
        return partial(self._run, number)

    def let_go(self, *numbers: int) -> None:
        """Have jobs end as soon as they are begun."""
        for number in numbers:
            self._let_go[number].set()

    def _run(self, number: int) -> int:
        self.begun.append(number)
        self._running += 1
        self.at_once = max(self.at_once, self._running)
        assert self._let_go[number].wait(PATIENCE)
        self._running -= 1
        return number


def begin(large: LargeReviews, jobs: Jobs, number: int, seconds: float = PATIENCE) -> asyncio.Task[int]:
    """Ask for a job, to begin within this many seconds."""
    return asyncio.ensure_future(large.run(jobs.job(number), monotonic() + seconds, lambda: True))


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, while the loop turns."""
    await asyncio.to_thread(lines.until, condition)


async def shed(asked: asyncio.Task[int]) -> str:
    """Why a job was shed."""
    with pytest.raises(OverloadedError) as error:
        await asyncio.wait_for(asked, PATIENCE)
    return error.value.reason


async def test_jobs_run_one_at_a_time_in_order() -> None:
    large, jobs = LargeReviews(), Jobs()
    asked = [begin(large, jobs, number) for number in range(10)]
    await until(lambda: jobs.begun == [0])
    assert large.in_flight == 10
    jobs.let_go(*range(10))
    assert await asyncio.gather(*asked) == list(range(10))
    assert jobs.begun == list(range(10))
    assert jobs.at_once == 1
    assert large.in_flight == 0


async def test_full_queue_sheds_at_once() -> None:
    large, jobs = LargeReviews(), Jobs()
    asked = [begin(large, jobs, number) for number in range(WAITING + 1)]
    await until(lambda: large.in_flight == WAITING + 1)
    assert await shed(begin(large, jobs, WAITING + 1)) == "queue"
    jobs.let_go(*range(WAITING + 1))
    assert await asyncio.gather(*asked) == list(range(WAITING + 1))


async def test_late_job_is_shed() -> None:
    large, jobs = LargeReviews(), Jobs()
    asked = [begin(large, jobs, number, seconds) for number, seconds in enumerate((PATIENCE, 0.05, PATIENCE))]
    assert await shed(asked[1]) == "late"
    jobs.let_go(0, 2)
    assert [await asked[0], await asked[2]] == [0, 2]
    assert jobs.begun == [0, 2]


async def test_job_without_client_is_not_started() -> None:
    large, jobs = LargeReviews(), Jobs()
    there = [True]
    first = begin(large, jobs, 0)
    gone = asyncio.ensure_future(large.run(jobs.job(1), monotonic() + PATIENCE, lambda: there[0]))
    last = begin(large, jobs, 2)
    await until(lambda: jobs.begun == [0])
    there[0] = False
    jobs.let_go(0, 2)
    assert await shed(gone) == "gone"
    assert [await first, await last] == [0, 2]
    assert jobs.begun == [0, 2]


async def test_cancelled_wait_passes_its_turn() -> None:
    large, jobs = LargeReviews(), Jobs()
    asked = [begin(large, jobs, number) for number in range(3)]
    await until(lambda: jobs.begun == [0])
    asked[1].cancel()
    jobs.let_go(0, 2)
    assert [await asked[0], await asked[2]] == [0, 2]
    assert large.in_flight == 0


async def test_turn_that_comes_with_a_cancellation_is_passed_on() -> None:
    large, jobs = LargeReviews(), Jobs()
    first = begin(large, jobs, 0)
    await until(lambda: jobs.begun == [0])
    cancelled, last = begin(large, jobs, 1), begin(large, jobs, 2)
    jobs.let_go(0, 2)
    with pytest.raises(OverloadedError):  # it waits before the other two, and gives its turn to the first of them
        await large.run(jobs.job(3), monotonic() + PATIENCE, lambda: False)
    cancelled.cancel()
    assert await asyncio.wait_for(last, PATIENCE) == 2
    assert await first == 0
    assert jobs.begun == [0, 2]


async def test_cancelled_caller_does_not_let_two_run_at_once() -> None:
    large, jobs = LargeReviews(), Jobs()
    first, second = begin(large, jobs, 0), begin(large, jobs, 1)
    await until(lambda: jobs.begun == [0])
    first.cancel()
    await until(first.done)
    assert jobs.begun == [0]
    jobs.let_go(0, 1)
    assert await second == 1
    assert jobs.at_once == 1


async def test_close_sheds_what_runs_what_waits_and_what_comes() -> None:
    large, jobs = LargeReviews(), Jobs()
    asked = [begin(large, jobs, number) for number in range(3)]
    await until(lambda: jobs.begun == [0])
    large.close()
    assert [await shed(one) for one in [*asked, begin(large, jobs, 3)]] == ["closing"] * 4
    jobs.let_go(0)
    await until(lambda: large.in_flight == 0)
    assert jobs.begun == [0]


async def test_close_sheds_next_job_before_it_begins() -> None:
    large, jobs = LargeReviews(), Jobs()

    def closing() -> bool:
        large.close()
        return True

    jobs.let_go(0)
    assert await shed(asyncio.ensure_future(large.run(jobs.job(0), monotonic() + PATIENCE, closing))) == "closing"
    assert jobs.begun == []
    assert large.in_flight == 0


class ExtractedPod:
    """Something that a job holds."""


class DefectError(Exception):
    """What a defect in a job raises."""


async def test_error_of_a_job_holds_nothing_of_it() -> None:
    large = LargeReviews()
    kept: list[weakref.ref[ExtractedPod]] = []

    def failing() -> None:
        held = ExtractedPod()
        kept.append(weakref.ref(held))
        raise DefectError

    def refusing() -> None:
        try:
            failing()
        except DefectError:
            raise RequestError(HTTPStatus.BAD_REQUEST, "wrong") from None

    gc.disable()
    try:
        for job in (failing, refusing):
            raised: list[weakref.ref[Exception]] = []
            try:
                await large.run(job, monotonic() + PATIENCE, lambda: True)
            except (DefectError, RequestError) as error:
                raised.append(weakref.ref(error))
                assert kept.pop()() is None
            # No cycle that only the garbage collector would find.
            await until(lambda: raised[0]() is None)  # noqa: B023 - it is called here
    finally:
        gc.enable()


async def test_result_and_job_are_released() -> None:
    large = LargeReviews()
    held = ExtractedPod()
    kept = weakref.ref(held)
    await large.run(partial(lambda same: same, held), monotonic() + PATIENCE, lambda: True)
    del held
    await until(lambda: kept() is None)


async def test_exit_within_a_job_does_not_end_the_thread() -> None:
    def leave() -> int:
        raise SystemExit(7)

    large = LargeReviews()
    with pytest.raises(RuntimeError, match="SystemExit"):
        await asyncio.wait_for(large.run(leave, monotonic() + PATIENCE, lambda: True), PATIENCE)
    assert await asyncio.wait_for(large.run(lambda: 5, monotonic() + PATIENCE, lambda: True), PATIENCE) == 5


async def test_error_with_a_cyclic_context_ends() -> None:
    def fail() -> int:
        first, second = ValueError("first"), ValueError("second")
        first.__context__, second.__context__ = second, first
        raise first

    large = LargeReviews()
    with pytest.raises(ValueError, match="first"):
        await asyncio.wait_for(large.run(fail, monotonic() + PATIENCE, lambda: True), PATIENCE)
