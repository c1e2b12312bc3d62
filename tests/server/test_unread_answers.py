"""Answers that their client does not read: the connection ends in time, however small they are.

The sockets have small buffers, so that the server is left with what is not read.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.server.certificates import Certificates
from tests.server.client import measured, request
from tests.server.lines import PATIENCE, until
from tests.server.reviews import pod, review
from tests.server.within import Running, running

pytestmark = pytest.mark.slow

HASTY = "server: {headerTimeout: 500ms, keepAlive: 1s}"
SMALL = 4096
WHOLE = request("POST", "/mutate?timeout=30s", json.dumps(review(pod())).encode())
AHEAD = 80
"""Requests to send ahead: less than 64 KiB of them. Twice as many answers are more than the server lets wait."""


@pytest.fixture(autouse=True)
def _small_server_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepted sockets inherit the buffers of the listening one."""
    create = socket.create_server

    def create_small(*arguments: Any, **options: Any) -> socket.socket:
        listening = create(*arguments, **options)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        return listening

    monkeypatch.setattr(socket, "create_server", create_small)


@contextmanager
def small_client(port: int) -> Iterator[socket.socket]:
    """A connection whose client receives little at a time."""
    with socket.socket() as plain:
        plain.settimeout(PATIENCE)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        plain.connect(("127.0.0.1", port))
        yield plain


@pytest.mark.parametrize("headers", [{"Connection": "close"}, {}], ids=["last-answer", "keep-alive-over"])
async def test_closing_connection_ends_without_its_client(certificates: Certificates, headers: dict[str, str]) -> None:
    async with running(certificates, HASTY) as server:
        with small_client(server.server.health_acceptor.port) as plain:
            plain.sendall(request("GET", "/metrics", b"", {}) * 2 + request("GET", "/metrics", b"", headers))
            await server.ask(until, lambda: is_closed(server))
            await server.ask(until, lambda: not server.server.health_acceptor.connections)


async def test_few_unread_answers_end_their_connection(certificates: Certificates) -> None:
    """Far fewer than uvloop lets wait for TLS, half a megabyte."""
    async with running(certificates, "server: {headerTimeout: 500ms}") as server:

        def send_and_read_nothing(secure: ssl.SSLSocket) -> None:
            for sent in (AHEAD, 2 * AHEAD):
                secure.sendall(WHOLE * AHEAD)
                until(lambda: measured(server.client, "reviews_total") == sent or is_closed(server))  # noqa: B023
            until(lambda: is_closed(server))

        with small_client(server.server.review_acceptor.port) as plain:
            trust = server.client.trust
            secure = await server.ask(lambda: trust.wrap_socket(plain, server_hostname="localhost"))
            with suppress(OSError):  # the server may close it while the client sends
                await server.ask(send_and_read_nothing, secure)
            secure.close()
        await server.ask(until, lambda: is_closed(server))


def is_closed(server: Running) -> bool:
    """Whether a connection has been closed for its unread answers."""
    return measured(server.client, 'closed_connections_total{reason="unread answer"}') == 1
