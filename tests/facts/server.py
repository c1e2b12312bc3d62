"""A STAND-IN for the API server: real HTTPS on loopback, but its answers are written by the test."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

from webhook.pki import Authority

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class StandIn:
    """The running server: its port, the authority of its certificate, and every request that it received."""

    port: int
    authority: Path
    requests: list[web.BaseRequest] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def standing_in(folder: Path, answer: Answer) -> AsyncIterator[StandIn]:
    """Answer every request with `answer`."""
    now = datetime.now(UTC)
    authority = Authority.create("stand-in", now, timedelta(days=1))
    leaf = authority.sign(["127.0.0.1"], now, timedelta(days=1))
    (folder / "ca.crt").write_bytes(authority.bundle())
    (folder / "tls.pem").write_bytes(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.pem")
    running = StandIn(0, folder / "ca.crt")

    async def handle(request: web.Request) -> web.StreamResponse:
        running.requests.append(request)
        running.bodies.append(await request.read())
        return await answer(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        running.port = int(runner.addresses[0][1])
        yield running
    finally:
        await runner.cleanup()
