"""Every wait for a client has a deadline: for its handshake, its header, its body, and for reading the answer."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.server.certificates import Certificates
from tests.server.client import JSON, measured, reply, request
from tests.server.lines import PATIENCE
from tests.server.process import Serve, serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

WHOLE = request("POST", "/mutate?timeout=5s", json.dumps(review(pod())).encode())
CHUNKED = {**JSON, "Transfer-Encoding": "chunked"}


@pytest.fixture(scope="module")
def hasty(certificates: Certificates) -> Iterator[Serve]:
    """A server whose deadlines are half a second."""
    with serve(certificates, headerTimeout="500ms", bodyTimeout="500ms") as server:
        yield server


@pytest.mark.parametrize("sent", [1, 30, WHOLE.index(b"\r\n\r\n") + 3])
def test_incomplete_header_times_out(hasty: Serve, sent: int) -> None:
    closed = measured(hasty.client, 'closed_connections_total{reason="header"}')
    with hasty.client.connect() as connection:
        connection.sendall(WHOLE[:sent])
        assert is_closed(connection)
    assert measured(hasty.client, 'closed_connections_total{reason="header"}') == closed + 1


def test_trickling_header_times_out(hasty: Serve) -> None:
    long = request("POST", "/mutate", b"{}", {**JSON, "X-Long": "x" * 5000})
    with hasty.client.connect() as connection:
        connection.settimeout(0.01)
        for number in range(len(long)):
            connection.sendall(long[number : number + 1])
            if is_over(connection):
                return
        raise AssertionError("a header of 5,000 bytes has no deadline")


@pytest.mark.parametrize("cut", [0, len(WHOLE) - 5], ids=["after a whole request", "after the end of a body"])
def test_pipelined_header_times_out(hasty: Serve, cut: int) -> None:
    with hasty.client.connect() as connection:
        connection.sendall(WHOLE[:cut])
        connection.sendall(WHOLE[cut:] + WHOLE[:30])
        assert reply(connection).status == 200
        assert is_closed(connection)


def test_silent_connection_stays_open(hasty: Serve) -> None:
    """The API server dials ahead: a connection of its own may be idle without having carried a request."""
    with hasty.client.connect() as silent, hasty.client.connect() as slow:
        slow.sendall(WHOLE[:30])
        assert is_closed(slow)
        silent.sendall(WHOLE)
        assert reply(silent).status == 200


@pytest.mark.parametrize(
    "started", [WHOLE[:-1], WHOLE[: WHOLE.index(b"\r\n\r\n") + 4]], ids=["all but a byte", "the header alone"]
)
def test_incomplete_body_gets_408(hasty: Serve, started: bytes) -> None:
    with hasty.client.connect() as connection:
        connection.sendall(started)
        refused = reply(connection)
        assert (refused.status, refused.headers["connection"]) == (408, "close")
        assert refused.json()["message"] == "the review did not arrive within 0.5 s"
        assert refused.json()["reason"] == "Timeout"


@pytest.mark.parametrize("chunks", [b"5\r\nabcde\r\n", b"zz\r\n"], ids=["a chunk", "a broken chunk"])
def test_incomplete_chunks_get_408(hasty: Serve, chunks: bytes) -> None:
    started = request("POST", "/mutate", chunks, {**CHUNKED, "Content-Length": ""})
    refused = hasty.client.say(started.replace(b"Content-Length: \r\n", b""))
    assert (refused.status, refused.headers["connection"]) == (408, "close")
    assert refused.json()["message"] == "the review did not arrive in valid chunks within 0.5 s"


def test_slow_body_gets_503_after_half_of_its_timeout(certificates: Certificates) -> None:
    """The message names the slow client as the cause, not a busy server."""
    started = request("POST", "/mutate?timeout=500ms", json.dumps(review(pod())).encode())[:-1]
    with serve(certificates) as server, server.client.connect() as connection:
        connection.sendall(started)
        refused = reply(connection)
        assert (refused.status, refused.headers["retry-after"], refused.headers["connection"]) == (503, "1", "close")
        assert refused.json()["message"] == "the review did not arrive within 0.25 s, half of its timeout"
        assert measured(server.client, "shed_total") == 1


def test_review_seconds_include_the_body(certificates: Certificates) -> None:
    with serve(certificates) as server:
        with server.client.connect() as connection:
            started = time.monotonic()
            connection.sendall(WHOLE[:-1])
            assert measured(server.client, "in_flight") == 0
            waited = time.monotonic() - started
            connection.sendall(WHOLE[-1:])
            assert reply(connection).status == 200
        assert measured(server.client, "review_seconds_sum") > waited > 0.1


def test_incomplete_handshake_times_out(hasty: Serve) -> None:
    closed = measured(hasty.client, 'closed_connections_total{reason="handshake"}')
    with socket.create_connection(("127.0.0.1", hasty.client.port), PATIENCE) as connection:
        assert is_closed(connection)
    assert measured(hasty.client, 'closed_connections_total{reason="handshake"}') == closed + 1


def test_pipelining_beyond_64_kib_closes(hasty: Serve) -> None:
    """With more than 64 KiB of requests behind one that is not answered, the server loses track of where they end."""
    with hasty.client.connect() as connection:
        connection.settimeout(PATIENCE)
        sent = 2**18 // len(WHOLE)
        connection.sendall(WHOLE * sent)
        answers = b""
        with suppress(ConnectionError):
            while received := connection.recv(65536):
                answers += received
    assert 0 < answers.count(b"HTTP/1.1 200 OK") < sent
    assert answers.count(b"Connection: close") == 1


@pytest.mark.parametrize("wrong", ["x", "5", "0s", "-1s", "5s5", "", "9" * 50 + "s"])
def test_invalid_timeout_gets_400(hasty: Serve, wrong: str) -> None:
    refused = hasty.client.review(f"/mutate?timeout={wrong}", review(pod()))
    assert refused.status == 400
    assert refused.json()["message"] == "the timeout in the query is not a positive duration, such as 5s"


@pytest.mark.parametrize("right", ["timeout=1s", "timeout=1m30s", "timeout=1.5s", "timeout=300ms", "timeout=9h", "a=b"])
def test_go_duration_is_a_valid_timeout(hasty: Serve, right: str) -> None:
    assert hasty.client.review(f"/mutate?{right}", review(pod())).status == 200


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes a connection without an answer."""
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def is_over(connection: socket.socket) -> bool:
    """Whether the server has closed a connection; the check takes as long as the connection's timeout."""
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
