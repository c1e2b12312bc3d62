"""Answers that are not read hold a connection, and memory, for a while only, however few they are.

The sockets are made to hold little, so that what is not read is left with the server.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.server.certificates import Certificates
from tests.server.client import measured, request
from tests.server.lines import PATIENCE, until
from tests.server.reviews import pod, review
from tests.server.within import Running, running
from webhook.server.http.acceptor import Acceptor

pytestmark = pytest.mark.slow

HASTY = "server: {headerTimeout: 500ms, keepAlive: 1s}"
LITTLE = 4096
WHOLE = request("POST", "/mutate?timeout=30s", json.dumps(review(pod(2))).encode())


@contextmanager
def unread(door: Acceptor) -> Iterator[socket.socket]:
    """A connection of which little can be under way."""
    assert door._socket is not None
    door._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LITTLE)
    with socket.socket() as plain:
        plain.settimeout(PATIENCE)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LITTLE)
        plain.connect(("127.0.0.1", door.port))
        yield plain


@pytest.mark.parametrize("headers", [{"Connection": "close"}, {}], ids=["the last answer", "until it is idle"])
async def test_a_connection_that_is_to_close_does_so_without_its_client(
    certificates: Certificates, headers: dict[str, str]
) -> None:
    async with running(certificates, HASTY) as server:
        with unread(server.server.health_door) as plain:
            plain.sendall(request("GET", "/metrics", b"", {}) * 2 + request("GET", "/metrics", b"", headers))
            await closed(server)
            await server.ask(until, lambda: not server.server.health_door.listener.open)


async def test_a_few_answers_that_are_not_read_end_their_connection(certificates: Certificates) -> None:
    """As many as would fit into what uvloop lets wait for TLS, half a megabyte."""
    async with running(certificates, "server: {headerTimeout: 500ms}") as server:
        with unread(server.server.door) as plain:
            trust = server.client.trust
            secure = await server.ask(lambda: trust.wrap_socket(plain, server_hostname="localhost"))
            asked = asyncio.create_task(asyncio.to_thread(secure.sendall, WHOLE * 400))
            await closed(server)
            secure.close()
            await asyncio.wait([asked])


async def closed(server: Running) -> None:
    """Wait until a connection has been closed for its unread answers."""
    series = 'closed_connections_total{reason="unread answer"}'
    await server.ask(until, lambda: measured(server.client, series) == 1)
