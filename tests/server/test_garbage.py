"""A connection leaves nothing behind that only the garbage collector would find, however its client ends it.

The collector runs after thousands of objects. What connections of 20 objects leave, with the bytes that they received,
can take hundreds of megabytes until then.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest
import uvloop

from tests.server.attacks import ATTACKS, Attack, End
from tests.server.certificates import Certificates
from tests.server.lines import until
from tests.server.within import Running, running
from webhook.server.http.server import GuardedConnection

pytestmark = pytest.mark.slow

Result = TypeVar("Result")

ATTEMPTS = 8
BY_NAME = {attack.name: attack for attack in ATTACKS}
TRAILERS = BY_NAME.pop("2,000 trailers")
"""aiohttp keeps the error of a body that cannot be parsed, in a cycle that is out of reach."""

PIPELINED = BY_NAME.pop("40 pipelined reviews")
"""aiohttp keeps a request that has not begun when its client goes."""


@pytest.fixture(scope="module", autouse=True)
def _without_older_objects() -> Iterator[None]:
    """Keep what other tests have left in the process from the collector, which need not look through it each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("attack", BY_NAME.values(), ids=BY_NAME)
def test_ended_connection_leaves_no_garbage(certificates: Certificates, attack: Attack) -> None:
    """A client may go in the two turns before its request begins, so one clean end is enough."""

    async def left_behind() -> Counter[str]:
        left: Counter[str] = Counter()
        async with running(certificates) as server:
            await once(server, attack)  # whatever a first connection leaves for good
            for _ in range(ATTEMPTS):
                if not (left := await garbage_of(server, attack)):
                    break
        return left

    assert in_loop(left_behind()) == Counter()


def test_pipelined_requests_leave_at_most_one(certificates: Certificates) -> None:
    async def left_behind() -> Counter[str]:
        async with running(certificates) as server:
            await once(server, PIPELINED)
            return await garbage_of(server, PIPELINED)

    assert in_loop(left_behind())["RawRequestMessage"] <= 1


def test_garbage_of_ended_connections_is_bounded_in_bytes(certificates: Certificates) -> None:
    """Connections that leave themselves behind are collected after 8 MiB, although they are few."""
    large = Attack("trailers and more", TRAILERS.sent + b"x" * 200_000, End.HALF)

    async def left() -> list[int]:
        """The connections left behind after each, up to a collection."""
        counts = [0]
        async with running(certificates) as server:
            while counts[-1] >= len(counts) - 1 < 80:
                await once(server, large)
                counts.append(sum(isinstance(one, GuardedConnection) for one in gc.get_objects()))
        return counts

    gc.disable()
    try:
        counts = in_loop(left())
    finally:
        gc.enable()
    assert max(counts) > 5 > counts[-1]


async def garbage_of(server: Running, attack: Attack) -> Counter[str]:
    """The types of what an attack leaves."""
    with collected() as garbage:
        await once(server, attack)
    return Counter(type(one).__qualname__ for one in garbage)


def in_loop(work: Coroutine[None, None, Result]) -> Result:
    """The result of a coroutine in the loop that the server uses."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def once(server: Running, attack: Attack) -> None:
    """Attack, and wait until the connection has ended."""
    await server.ask(attack.attempt, server.client.port, server.client.trust)
    await server.ask(until, lambda: server.server.review_acceptor.connections == 0)
    await asyncio.sleep(0)  # noqa: TID251 - gives the loop a turn


@contextmanager
def collected() -> Iterator[list[object]]:
    """What only the collector finds of that which comes into being within the context."""
    gc.collect()
    gc.disable()
    found: list[object] = []
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.extend(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
