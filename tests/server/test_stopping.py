"""Graceful shutdown loses no review; a second signal stops the server at once."""

from __future__ import annotations

import json
import signal
import socket
import time
from datetime import datetime, timedelta

import pytest

from tests.server.certificates import Certificates
from tests.server.client import reply, request
from tests.server.lines import PATIENCE, until
from tests.server.process import Serve, serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

WHOLE = request("POST", "/mutate?timeout=5s", json.dumps(review(pod())).encode())
LONG = "1h"
AT_ONCE = timedelta(seconds=0.8)
"""What a stop at once may take on a busy machine: less than anything that the server could wait for."""


def stopping(server: Serve, number: signal.Signals = signal.SIGTERM) -> None:
    """Begin the shutdown of a server."""
    server.process.send_signal(number)
    server.log.event("stopping")


def test_shutdown_delay_answers_with_connection_close(certificates: Certificates) -> None:
    with serve(certificates, shutdownDelay=LONG) as server, server.client.connect() as before:
        before.sendall(WHOLE)
        assert reply(before).headers.get("connection") is None
        stopping(server)
        unready = server.client.health("/readyz?verbose")
        assert (unready.status, b"[-]not stopping\n" in unready.body) == (503, True)
        assert server.client.health("/livez").status == 200
        before.sendall(WHOLE)
        assert (kept := reply(before)).status == 200
        assert kept.headers["connection"] == "close"
        assert before.recv(1) == b""
        assert (new := server.client.say(WHOLE)).status == 200
        assert new.headers["connection"] == "close"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_drain_refuses_connections_and_answers_open_request(certificates: Certificates, number: signal.Signals) -> None:
    with serve(certificates, drainTimeout=LONG) as server, server.client.connect() as connection:
        connection.sendall(WHOLE[:-1])
        stopping(server, number)
        until(lambda: is_refused(server))
        connection.sendall(WHOLE[-1:])
        assert reply(connection).status == 200
        assert server.process.wait(PATIENCE) == 0
        assert json.loads(server.log.to_the_end()[-1])["event"] == "stopped"
        assert server.errors.to_the_end() == []


def test_drain_keeps_idle_connections_for_a_second(certificates: Certificates) -> None:
    """A request may be under way on a connection that looks idle, and closing would lose it."""
    with serve(certificates, drainTimeout=LONG) as server, server.client.connect() as connection:
        connection.sendall(WHOLE)
        assert reply(connection).status == 200
        answered = time.monotonic()
        stopping(server)
        assert connection.recv(1) == b""
        assert time.monotonic() - answered > 0.9
        assert server.process.wait(PATIENCE) == 0


def test_end_of_drain_sheds_open_request(certificates: Certificates) -> None:
    with serve(certificates, drainTimeout="1s", bodyTimeout=LONG) as server, server.client.connect() as connection:
        connection.sendall(WHOLE[:-1])
        stopping(server)
        shed = reply(connection)
        assert shed.status == 503
        assert (shed.headers["retry-after"], shed.headers["connection"]) == ("1", "close")
        assert shed.json()["message"] == "the server stops"
        assert server.process.wait(PATIENCE) == 0
        assert server.errors.to_the_end() == []


@pytest.mark.parametrize("limits", [{"shutdownDelay": LONG}, {"drainTimeout": LONG}])
def test_second_signal_stops_at_once(certificates: Certificates, limits: dict[str, str]) -> None:
    """With a connection before its handshake, one within a request, and one that is idle."""
    with (
        serve(certificates, bodyTimeout=LONG, **limits) as server,
        socket.create_connection(("127.0.0.1", server.client.port), PATIENCE),
        server.client.connect() as connection,
        server.client.connect() as idle,
    ):
        idle.sendall(WHOLE)
        assert reply(idle).status == 200
        connection.sendall(WHOLE[:-1])
        stopping(server)
        assert server.end() == 0
        said = [json.loads(line) for line in server.log.to_the_end()]
        assert [event["event"] for event in said[-2:]] == ["stopping at once", "stopped"]
        again, over = (datetime.fromisoformat(event["time"]) for event in said[-2:])
        assert over - again < AT_ONCE
        assert server.errors.to_the_end() == []


def is_refused(server: Serve) -> bool:
    """Whether the server's port is closed."""
    try:
        socket.create_connection(("127.0.0.1", server.client.port), PATIENCE).close()
    except ConnectionRefusedError:
        return True
    return False
