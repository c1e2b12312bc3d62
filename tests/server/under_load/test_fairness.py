"""Clients that finish nothing neither keep honest reviews out nor fail a probe, at each limit and at ten times it.

The attackers are a process of their own: `python -m tests.server.slow_clients`. Their addresses are of loopback, all of
which belong to one machine, but which the server tells apart as it does those of pods.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from tests.server.callers import Callers
from tests.server.certificates import Certificates
from tests.server.client import Client, request
from tests.server.load import Line, open_loop, quantile
from tests.server.process import Serve, ended, serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

HONEST = request("POST", "/mutate?timeout=10s", json.dumps(review(pod())).encode())

WAITING, HEALTH, REVIEWS = 256, 128, 256
"""The limits: of clients without a slot, and of the slots of each port; the last is that of `settings` here."""

SECONDS = 2.5
BEARABLE = 0.25
"""Seconds within which 99 of 100 honest reviews are answered (design, section 10)."""

PROBE = 1.0


@contextmanager
def attack(server: Serve, name: str, count: int, sources: int = 1) -> Iterator[None]:
    """Attack from so many addresses, none of which is that of the honest clients, from when all clients have begun."""
    command = [sys.executable, "-m", "tests.server.slow_clients", name, str(count), str(sources)]
    ports = [str(server.client.port), str(server.client.health_port)]
    with subprocess.Popen([*command, *ports], stdout=subprocess.PIPE) as started, ended(started) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        yield
        assert process.poll() is None, "the attack lasts until the end"


async def dialed(client: Client) -> list[float]:
    """The seconds that reviews take, each on a connection of its own."""
    seconds, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.monotonic()
        async with asyncio.timeout(10):
            line = await Line.open(client)
            assert (await line.ask(HONEST)).status == 200
            await line.close()
        seconds.append(time.monotonic() - began)
    return seconds


async def probed(client: Client) -> list[float]:
    """The seconds that probes take."""
    seconds, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        for path in ("/livez", "/readyz"):
            began = time.monotonic()
            assert (await asyncio.to_thread(client.health, path)).status == 200
            seconds.append(time.monotonic() - began)
    return seconds


@asynccontextmanager
async def answered(server: Serve) -> AsyncIterator[None]:
    """Honest reviews on kept connections, reviews on new connections, and probes: none fails, all are in time."""
    kept = asyncio.create_task(open_loop(server.client, HONEST, rate=50, seconds=SECONDS))
    new, probes = asyncio.create_task(dialed(server.client)), asyncio.create_task(probed(server.client))
    yield
    answers = await kept
    assert [repr(one) for one in answers if isinstance(one, BaseException) or one.status != 200] == []
    late = quantile([one.seconds for one in answers if not isinstance(one, BaseException)], 0.99)
    dials, slowest = await new, max(await probes)
    dial = quantile(dials, 0.99)
    print(f"\n99 of 100: {late * 1000:.0f} ms kept, {dial * 1000:.0f} ms dialed ({len(dials)}); probe {slowest:.2f} s")
    assert late < BEARABLE
    assert dial < BEARABLE
    assert slowest < PROBE


@pytest.fixture(scope="module")
def server(certificates: Certificates) -> Iterator[Serve]:
    with serve(certificates, maxConnections=REVIEWS, drainTimeout="0s") as running:
        yield running


ATTACKS = {
    "silence": WAITING,
    "trickled ClientHello": WAITING,
    "half a handshake": REVIEWS,
    "trickled header": REVIEWS,
    "trickled body": REVIEWS,
    "requests for nothing": REVIEWS,
    "probes": HEALTH,
    "trickled probe": HEALTH,
    "unread metrics": HEALTH,
}
"""What the clients do, with the limit that it is about."""


@pytest.mark.parametrize("times", [pytest.param(1, marks=pytest.mark.exhaustive), 10])
@pytest.mark.parametrize("name", ATTACKS)
async def test_one_address_keeps_no_client_out(server: Serve, name: str, times: int) -> None:
    with attack(server, name, ATTACKS[name] * times + 16):
        async with answered(server):
            pass


@pytest.mark.parametrize("name", ["trickled ClientHello", "half a handshake", "trickled body"])
async def test_many_addresses_keep_no_client_out(certificates: Certificates, name: str) -> None:
    with serve(certificates) as server, attack(server, name, 300, sources=300):
        async with answered(server):
            pass


async def test_verified_certificate_is_not_evicted_for_newcomers(
    certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The API server may have opened a connection before it has a review for it."""
    callers = Callers.of(tmp_path_factory.mktemp("callers"), "callers")
    with serve(certificates, *callers.settings("kube-apiserver", maxConnections=20)) as server:
        trust = callers.called("kube-apiserver", certificates)
        spare = [await Line.open(server.client, trust) for _ in range(4)]
        with attack(server, "half a handshake", 200):
            for line in spare:
                assert (await line.ask(HONEST)).status == 200
                await line.close()
