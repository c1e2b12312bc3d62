"""Load: small reviews that would be answered too late are refused, and large ones run one after the other."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic
from typing import Any

from webhook.server.errors import OverloadedError
from webhook.server.lifecycle import Lifecycle, Phase

SLICE = 0.01
"""Seconds of reviews at a stretch. Then they pause: bytes are read, connections accepted and probes answered.

What the loop does besides reviews does not count: in a flood of handshakes a turn takes as long, and reviews would wait
for eight of them.
"""

STRETCH = 2 * SLICE
"""Seconds after which another stretch begins, whether or not reviews have taken their slice of this one."""

_TURNS = 8
"""Turns of the loop in a pause: as many as a client takes from its handshake to an answer of 503."""


class LoadShedder:
    """Counts the reviews whose bytes have arrived, and admits them in the order of their arrival.

    The loop reads from all connections before it runs any handler, and a handler runs without a pause. Handlers that
    went straight on would hide how many wait: a counter in them would only ever see one. When a stretch is used up,
    reviews wait, which makes them visible; afterwards each turn of the loop admits one of those that wait.
    """

    def __init__(self, limit: int, lifecycle: Lifecycle) -> None:
        self._limit = limit
        self._lifecycle = lifecycle
        self._is_pausing = False
        self._spent = self._entered = self._stretch_ends = 0.0
        self._last_wait = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
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
            if self._waiting or self._is_pausing:
                await self._turn(latest)
                self._last_wait = monotonic() - now
            else:
                self._last_wait = 0.0
        except BaseException:
            self.in_flight -= 1
            self._admit_next()
            raise
        self._entered = now + self._last_wait
        if self._entered > self._stretch_ends:
            self._spent, self._stretch_ends = 0.0, self._entered + STRETCH

    def leave(self) -> None:
        """End the review that was admitted last: its handler has not paused."""
        self.in_flight -= 1
        self._spent += monotonic() - self._entered
        if self._spent >= SLICE and not self._is_pausing:
            self._is_pausing = True
            self._pause(_TURNS)
        self._admit_next()

    async def _turn(self, latest: float) -> None:
        """Wait behind the reviews that wait already. One that is admitted stays in line until it runs."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        finally:
            self._waiting.remove(turn)
        if self._lifecycle.phase >= Phase.REFUSING:
            raise _closing()
        if monotonic() > latest:
            raise _late()

    def _admit_next(self) -> None:
        """Admit the first review that waits, unless it is admitted already or reviews pause."""
        if self._waiting and not self._is_pausing and not self._waiting[0].done():
            self._waiting[0].set_result(None)

    def _pause(self, turns: int) -> None:
        """Let the loop take this many turns without a review. Then another stretch begins."""
        if turns:
            asyncio.get_running_loop().call_soon(self._pause, turns - 1)
        else:
            self._is_pausing, self._stretch_ends = False, 0.0
            self._admit_next()


def _late() -> OverloadedError:
    return OverloadedError("late", "the server is behind; the answer would come too late")


LARGE = 64 * 1024
"""Bytes of the largest review that is processed on the event loop, where it takes a few milliseconds."""

_WAITING = 64
"""Reviews that may wait. The memory of bodies bounds their bytes."""


class LargeReviews:
    """Runs jobs on one thread. Create it on the event loop that waits for them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = SimpleQueue()
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._running: asyncio.Future[Any] | None = None
        self._closed = False
        # A daemon thread: a server that stops at once does not wait for the end of a job.
        threading.Thread(target=self._work, name="large reviews", daemon=True).start()

    @property
    def in_flight(self) -> int:
        """The reviews that wait, and the one in progress."""
        return self._waiting + (self._running is not None)

    async def run(self, job: Callable[[], Any], latest: float, is_wanted: Callable[[], bool]) -> Any:
        """Run a job and return its result. Raises what the job raises, or OverloadedError if it does not start.

        It starts by `latest`, a time of the monotonic clock, and only if it `is_wanted` still, or not at all.
        """
        if self.in_flight > _WAITING:
            raise OverloadedError("queue", f"{_WAITING} large reviews are waiting already")
        self._waiting += 1
        try:
            async with asyncio.timeout(latest - monotonic()):
                await self._turn.acquire()
        except TimeoutError:
            raise OverloadedError("late", "large reviews are waiting; the answer would come too late") from None
        finally:
            self._waiting -= 1
        try:
            if not is_wanted():
                raise OverloadedError("gone", "the client has gone")
            if self._closed:
                raise _closing()
            self._running = self._loop.create_future()
            self._jobs.put((job, self._running))
            return await self._running
        finally:
            self._running = None
            self._turn.release()
            # An error would be held by the future, and the future by the error's frame, until garbage is collected.
            del job

    def close(self) -> None:
        """Shed the review in progress, those that wait, and all that follow."""
        self._closed = True
        if self._running is not None and not self._running.done():
            self._running.set_exception(_closing())

    def _work(self) -> None:
        while True:
            job, running = self._jobs.get()
            result = _done(job)
            with suppress(RuntimeError):  # the loop has ended, and no handler waits
                self._loop.call_soon_threadsafe(_finish, running, result)
            # The wait for the next job keeps nothing of this one.
            del job, running, result


def _finish(running: asyncio.Future[Any], result: Any) -> None:
    if running.done():
        return
    if isinstance(result, Exception):
        running.set_exception(result)
    else:
        running.set_result(result)


def _done(job: Callable[[], Any]) -> Any:
    """Run a job; return its result or its error."""
    try:
        return job()
    except Exception as error:
        _forget(error)
        return error
    except BaseException as error:  # would end the thread, and with it all large reviews
        return RuntimeError(f"{type(error).__name__} in a large review")


def _forget(error: BaseException) -> None:
    """Clear what the frames of an error and of its causes hold: the review, as text and decoded."""
    cause: BaseException | None = error
    seen: set[int] = set()  # a chain of contexts may lead back to its start
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        traceback.clear_frames(cause.__traceback__)
        cause = cause.__context__


def _closing() -> OverloadedError:
    return OverloadedError("closing", "the server stops")
