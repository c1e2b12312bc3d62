"""Connections that only occupy room neither slow honest reviews down nor keep them out."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import AsyncExitStack, ExitStack, suppress

import pytest

from tests.server.certificates import Certificates
from tests.server.client import Client, measured, request
from tests.server.lines import until
from tests.server.load import Line, open_loop, quantile, unfinished
from tests.server.process import Serve, serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

HONEST = request("POST", "/mutate?timeout=5s", json.dumps(review(pod())).encode())
PATIENT = HONEST.replace(b"timeout=5s", b"timeout=30s")
HALF_A_HEADER = HONEST[:60]
HALF_A_BODY = PATIENT[:-100]
"""The server waits for the rest for half of the timeout; what it refuses after that leaves nothing to evict."""

STALLED = 1.0
"""Seconds without a request after which a proven connection gives way to another proven one."""

BEARABLE = 0.02
"""Seconds within which 99 of 100 honest reviews are answered."""


async def p99(client: Client) -> float:
    """The 99th percentile of honest reviews, 100 per second."""
    answers = await open_loop(client, HONEST, rate=100, seconds=4)
    failed = [repr(answer) for answer in answers if isinstance(answer, BaseException) or answer.status != 200]
    assert failed == []
    return quantile([answer.seconds for answer in answers if not isinstance(answer, BaseException)], 0.99)


LENIENT = {"drainTimeout": "0s", "headerTimeout": "1m", "bodyTimeout": "1m"}
"""Limits of a server that lets clients stop for a minute."""


async def test_unfinished_requests_do_not_slow_reviews(certificates: Certificates) -> None:
    """Compared with a server without them at the same time: whatever else the machine does, it does to both."""
    with serve(certificates, **LENIENT) as server, serve(certificates, **LENIENT) as empty:
        async with (
            unfinished(server.client, 1000),
            unfinished(server.client, 100, HALF_A_HEADER),
            unfinished(server.client, 100, HALF_A_BODY),
        ):
            among, alone = await asyncio.gather(p99(server.client), p99(empty.client))
    print(f"\n99 of 100 honest reviews: {among * 1000:.1f} ms among 1,200 others, {alone * 1000:.1f} ms without them")
    assert among < max(BEARABLE, 2 * alone)


@pytest.mark.parametrize("sent", [b"", HALF_A_HEADER, HALF_A_BODY], ids=["nothing", "half-a-header", "half-a-body"])
async def test_connection_limit_evicts_unfinished(certificates: Certificates, sent: bytes) -> None:
    with serve(certificates, **LENIENT, maxConnections=20) as server:
        async with unfinished(server.client, 50, sent):
            assert measured(server.client, "connections") <= 20
            await is_served(server, HONEST)
        assert measured(server.client, 'closed_connections_total{reason="evicted"}') >= 30


async def test_proven_connections_outlast_newcomers(certificates: Certificates) -> None:
    """A review proves a connection; where all slots for proven ones are in use, the answer of a newcomer closes it."""
    with serve(certificates, **LENIENT, maxConnections=20) as server:
        proven = [await Line.open(server.client) for _ in range(18)]
        for line in proven:
            assert (await line.ask(PATIENT)).status == 200
        async with unfinished(server.client, 50, HALF_A_BODY):
            newcomer = await Line.open(server.client)
            for line in proven:
                assert (await line.ask(PATIENT)).status == 200
            answer = await newcomer.ask(PATIENT)
            assert (answer.status, answer.headers["connection"]) == (200, "close")
            for line in proven:
                assert (await line.ask(PATIENT)).status == 200
                await line.close()


async def test_proven_connection_replaces_idle_proven_connection(certificates: Certificates) -> None:
    with serve(certificates, **LENIENT, maxConnections=9) as server:
        idle = [await Line.open(server.client) for _ in range(8)]
        for line in idle:
            assert (await line.ask(PATIENT)).status == 200
        since = time.monotonic()
        await asyncio.to_thread(until, lambda: time.monotonic() - since > 2 * STALLED)
        newcomer = await Line.open(server.client)
        assert "connection" not in (await newcomer.ask(PATIENT)).headers
        assert (await newcomer.ask(PATIENT)).status == 200
        with suppress(ConnectionResetError):
            assert await idle[0].reader.read() == b""
        assert (await idle[1].ask(PATIENT)).status == 200
        for line in [*idle, newcomer]:
            await line.close()


async def test_connections_in_use_survive_half_sent_reviews(certificates: Certificates) -> None:
    """Clients that keep their connections busy lose none of them, and no request, to 500 half reviews."""
    with serve(certificates, **LENIENT, maxConnections=200) as server:
        attacked = asyncio.Event()

        async def use(line: Line) -> int:
            answered = 0
            while not attacked.is_set():
                assert (await line.ask(PATIENT)).status == 200
                answered += 1
            return answered

        lines = [await Line.open(server.client) for _ in range(4)]
        honest = [asyncio.create_task(use(line)) for line in lines]
        async with AsyncExitStack() as stack:

            async def attack() -> None:
                for _ in range(500 // 8):
                    await stack.enter_async_context(unfinished(server.client, 1, HALF_A_BODY))

            await asyncio.gather(*(attack() for _ in range(8)))
            attacked.set()
            answered = await asyncio.gather(*honest, return_exceptions=True)
        for line in lines:
            await line.close()
        assert [one for one in answered if not isinstance(one, int) or one == 0] == []
        assert measured(server.client, 'closed_connections_total{reason="evicted"}') >= 290


@pytest.mark.parametrize(("at_most", "count"), [(2048, 200), (100, 200)], ids=["with-room", "at-the-limit"])
async def test_clients_without_tls_keep_no_review_out(certificates: Certificates, at_most: int, count: int) -> None:
    with serve(certificates, **LENIENT, maxConnections=at_most) as server, ExitStack() as silent:
        for _ in range(count):
            silent.enter_context(socket.create_connection(("127.0.0.1", server.client.port), 5))
        async with asyncio.timeout(4):  # the API server waits for five seconds
            await is_served(server, HONEST)


async def test_connection_beyond_the_limit_waits_for_a_slot(certificates: Certificates) -> None:
    """A client that has as many slots as others waits for a second before it evicts a body that still arrives."""
    with serve(certificates, **LENIENT, maxConnections=5) as server:
        async with unfinished(server.client, 5, HALF_A_BODY) as busy:
            until(lambda: measured(server.client, "connections") == 5)
            waiting = asyncio.create_task(Line.open(server.client))
            for line in busy:
                line.writer.write(HONEST[-100:])
            for line in busy:
                assert (await line.answer(0)).status == 200
            late = await waiting
            assert (await late.ask(HONEST)).status == 200
            await late.close()


async def is_served(server: Serve, asked: bytes) -> None:
    """Have a review answered on a new connection."""
    line = await Line.open(server.client)
    assert (await line.ask(asked)).status == 200
    await line.close()
