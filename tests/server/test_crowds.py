"""Connections that only take room do not slow honest reviews down, and cannot shut them out."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.server.certificates import Certificates
from tests.server.client import Client, measured, request
from tests.server.lines import PATIENCE, until
from tests.server.load import Line, crowd, open_loop, quantile
from tests.server.process import serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

HONEST = request("POST", "/mutate?timeout=5s", json.dumps(review(pod())).encode())
PATIENT = HONEST.replace(b"timeout=5s", b"timeout=30s")
HALF_A_HEAD = HONEST[:60]
HALF_A_BODY = HONEST[:-100]
BEARABLE = 0.02
"""Seconds within which 99 of 100 honest reviews are answered."""


async def p99(client: Client) -> float:
    """The 99th percentile of honest reviews, 100 a second."""
    answers = await open_loop(client, HONEST, rate=100, seconds=4)
    assert [answer for answer in answers if isinstance(answer, BaseException) or answer.status != 200] == []
    return quantile([answer.seconds for answer in answers if not isinstance(answer, BaseException)], 0.99)


async def test_a_crowd_does_not_slow_honest_reviews(certificates: Certificates, tmp_path: Path) -> None:
    """Beside a server that has no crowd, at the same time: whatever else the machine does, it does to both."""
    settings = tmp_path / "settings.yaml"
    settings.write_text("server: {shutdownDelay: 0s, headerTimeout: 1m, bodyTimeout: 1m}\n")
    config = ["--config", str(settings)]
    with serve(certificates, *config) as server, serve(certificates, *config) as empty:
        async with (
            crowd(server.client, 1000),
            crowd(server.client, 100, HALF_A_HEAD),
            crowd(server.client, 100, HALF_A_BODY),
        ):
            among, alone = await asyncio.gather(p99(server.client), p99(empty.client))
    print(f"\n99 of 100 honest reviews: {among * 1000:.1f} ms among 1,200 others, {alone * 1000:.1f} ms without them")
    assert among < max(BEARABLE, 2 * alone)


@pytest.mark.parametrize("said", [b"", HALF_A_HEAD, HONEST], ids=["nothing", "half a head", "a review"])
async def test_a_full_house_has_room_for_honest_reviews(
    certificates: Certificates, tmp_path: Path, said: bytes
) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("server: {shutdownDelay: 0s, maxConnections: 20, headerTimeout: 1m}\n")
    with serve(certificates, "--config", str(settings)) as server:
        async with crowd(server.client, 100, said):
            assert measured(server.client, "connections") <= 20
            line = await Line.open(server.client)
            assert (await line.ask(HONEST)).status == 200
            await line.close()
        assert measured(server.client, 'closed_connections_total{reason="evicted"}') >= 80


@pytest.mark.parametrize(("at_most", "crowd"), [(2048, 200), (100, 200)], ids=["room", "a full house"])
async def test_who_never_begins_tls_keeps_nobody_out(
    certificates: Certificates, tmp_path: Path, at_most: int, crowd: int
) -> None:
    settings = tmp_path / "settings.yaml"
    limits = f"maxConnections: {at_most}, headerTimeout: 1m"
    settings.write_text(f"server: {{shutdownDelay: 0s, drainTimeout: 0s, {limits}}}\n")
    with serve(certificates, "--config", str(settings)) as server, ExitStack() as mute:
        for _ in range(crowd):
            mute.enter_context(socket.create_connection(("127.0.0.1", server.client.port), 5))
        async with asyncio.timeout(4):  # the API server waits for five seconds
            line = await Line.open(server.client)
            assert (await line.ask(HONEST)).status == 200
        await line.close()


async def test_who_stops_within_the_handshake_keeps_nobody_out(certificates: Certificates, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("server: {shutdownDelay: 0s, drainTimeout: 0s, headerTimeout: 1m}\n")
    with serve(certificates, "--config", str(settings)) as server, ExitStack() as stopped:
        for _ in range(150):
            plain = stopped.enter_context(socket.create_connection(("127.0.0.1", server.client.port), 5))
            plain.sendall(b"\x16\x03\x01\x02\x00")
        async with asyncio.timeout(PATIENCE):
            line = await Line.open(server.client)
            assert (await line.ask(PATIENT)).status == 200
        await line.close()


async def test_who_comes_to_a_busy_house_waits_and_loses_nothing(certificates: Certificates, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("server: {shutdownDelay: 0s, maxConnections: 5, bodyTimeout: 1m}\n")
    with serve(certificates, "--config", str(settings)) as server:
        async with crowd(server.client, 5, HALF_A_BODY) as busy:
            until(lambda: measured(server.client, "connections") == 5)
            waiting = asyncio.create_task(Line.open(server.client))
            for line in busy:
                line.writer.write(HONEST[-100:])
            for line in busy:
                assert (await line.answer(0)).status == 200
            late = await waiting
            assert (await late.ask(HONEST)).status == 200
            await late.close()
