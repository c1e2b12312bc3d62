"""The load generator counts its requests, and latency includes every wait for a slow server."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from bench.load_generator import Load, LoadError, Report, generate
from tests.server.certificates import issue

SERVICE = 0.02
Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("go") is None, reason="Go is not on PATH")]


class Slow:
    """Answers one request after the other, each after the same time; counts and keeps what it was sent."""

    def __init__(self, service: float = 0, status: int = 200, body: bytes = b'{"allowed":true}') -> None:
        self.bodies: list[bytes] = []
        self._service = service
        self._response = (status, body)
        self._turn = asyncio.Lock()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.bodies.append(await request.read())
        if self._service:
            async with self._turn:
                done = asyncio.get_running_loop().create_future()
                asyncio.get_running_loop().call_later(self._service, done.set_result, None)
                await done
        status, body = self._response
        return web.Response(status=status, body=body)


@asynccontextmanager
async def listening(answer: Answer, folder: Path) -> AsyncIterator[Load]:
    """A server on loopback, and a load for it of one connection and short time."""
    certificates = issue(folder)
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(certificates.certificate, certificates.key)
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=shown).start()
    bodies = folder / "bodies.jsonl"
    bodies.write_bytes(b'{"n":1}\n{"n":2}\n{"n":3}\n')
    port = runner.addresses[0][1]
    try:
        yield Load(f"127.0.0.1:{port}", bodies, certificates.authority, 1, 0.3, warmup=0)
    finally:
        await runner.cleanup()


async def run(load: Load) -> Report:
    return await asyncio.to_thread(generate, load)


async def test_closed_loop_counts_every_request(tmp_path: Path) -> None:
    server = Slow()
    async with listening(server, tmp_path) as load:
        report = await run(replace(load, connections=4))
    assert report.requests == len(server.bodies) > 0
    assert report.statuses == {"200": report.requests}
    assert report.allowed == report.requests
    assert set(server.bodies[:8]) >= {b'{"n":1}', b'{"n":2}', b'{"n":3}'}  # connections overtake one another


async def test_closed_loop_ends_at_its_limit(tmp_path: Path) -> None:
    server = Slow()
    async with listening(server, tmp_path) as load:
        report = await run(replace(load, connections=4, seconds=60, limit=50))
    assert report.requests == len(server.bodies) == 50


async def test_open_loop_sends_the_planned_number(tmp_path: Path) -> None:
    server = Slow()
    async with listening(server, tmp_path) as load:
        report = await run(replace(load, rate=200, seconds=0.5, connections=8))
    assert report.requests == len(server.bodies) == 100


async def test_open_loop_latency_includes_queueing(tmp_path: Path) -> None:
    """100 requests per second for a server that answers 50: request n waits for all before it, about n times 10 ms."""
    server = Slow(service=SERVICE)
    async with listening(server, tmp_path) as load:
        report = await run(replace(load, rate=100, seconds=0.6, connections=1))
        unplanned = await run(load)
    assert report.requests == 60
    backlog = 60 * (SERVICE - 0.01)
    assert report.latency["max"] >= 0.9 * backlog
    assert report.latency["p50"] >= 0.9 * backlog / 2
    assert report.latency["p50"] > 2 * unplanned.latency["p50"] >= 2 * SERVICE


async def test_status_and_denial_are_counted_and_refused(tmp_path: Path) -> None:
    async with listening(Slow(status=503, body=b'{"allowed":false}'), tmp_path) as load:
        report = await run(replace(load, limit=5))
    assert (report.statuses, report.allowed) == ({"503": 5}, 0)
    with pytest.raises(LoadError, match="503"):
        report.check("server", allowed=None)


async def test_wrong_decision_is_refused(tmp_path: Path) -> None:
    async with listening(Slow(), tmp_path) as load:
        report = await run(replace(load, limit=5))
    report.check("server", allowed=True)
    with pytest.raises(LoadError, match="5 of 5 allowed"):
        report.check("server", allowed=False)


@pytest.mark.parametrize("address", ["192.0.2.1:443", "[2001:db8::1]:443", "0.0.0.0:443", "example.test:443"])
def test_load_goes_to_loopback_only(address: str, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="-address"):
        generate(Load(address, tmp_path, tmp_path, 1, 0.1))
