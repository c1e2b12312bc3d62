"""Chunked bodies: those of usual chunks are read, and tiny chunks cost the server no more the more there are."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.server.client import JSON, Client, Reply, reply, request
from tests.server.process import Serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

GOOD = json.dumps(review(pod())).encode()
TOO_MANY = "a body has at most 256 chunks and one for each 512 bytes; send larger chunks, or a Content-Length"
REQUESTS = 10


def head(path: str) -> bytes:
    return request("POST", path, b"", {**JSON, "Transfer-Encoding": "chunked"}).replace(b"Content-Length: 0\r\n", b"")


def chunked(body: bytes, size: int) -> bytes:
    """A request whose body comes in chunks of this size."""
    return head("/mutate?timeout=30s") + b"".join(map(chunk, parts(body, size))) + b"0\r\n\r\n"


def parts(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


@pytest.mark.parametrize(
    ("body", "size"),
    [
        pytest.param(GOOD, len(GOOD), id="one chunk"),
        pytest.param(GOOD, -(-len(GOOD) // 256), id="256 chunks"),
        pytest.param(GOOD + b" " * 2**20, 4096, id="chunks of a proxy"),
        pytest.param(GOOD + b" " * 2**20, 512, id="the smallest chunks that any number may have"),
        pytest.param(GOOD + b" " * 20 * 2**20, 32768, id="chunks of a large review"),
    ],
)
def test_body_in_usual_chunks_is_read(client: Client, body: bytes, size: int) -> None:
    assert client.say(chunked(body, size)).status == 200


@pytest.mark.parametrize(("size", "length"), [(1, 100_000), (16, 100_000), (400, 2_000_000)])
def test_body_in_tiny_chunks_gets_400(client: Client, size: int, length: int) -> None:
    assert_refused(client.say(chunked(GOOD + b" " * length, size)))


@pytest.mark.parametrize("end", [b"0\r\n\r\n", b""], ids=["complete", "unfinished"])
def test_tiny_chunks_of_small_body_get_400(client: Client, end: bytes) -> None:
    """The whole body is in the buffer before the handler looks, or it never arrives."""
    spread = b"".join(map(chunk, parts(GOOD[:300], 1)))
    assert_refused(client.say(head("/mutate") + spread + end))


def assert_refused(refused: Reply) -> None:
    assert (refused.status, refused.headers["connection"]) == (400, "close")
    assert refused.json()["message"] == TOO_MANY


@pytest.mark.parametrize(("path", "status"), [("/mutate?timeout=30s", 400), ("/nowhere", 404)])
def test_cost_of_tiny_chunks_is_bounded(served: Serve, path: str, status: int) -> None:
    """Eight times as many cost about as much: the server parses none behind its answer."""

    def cost(count: int) -> float:
        """Processor time of the server for some requests with this many chunks, until it has closed the connections."""
        asked, before = head(path) + chunk(b"{") * count + b"0\r\n\r\n", served.cpu()
        for _ in range(REQUESTS):
            with served.client.connect() as connection:
                connection.sendall(asked)
                assert reply(connection).status == status
                assert connection.recv(1) == b""
        return served.cpu() - before

    cost(1000)
    assert cost(160_000) < 4 * cost(20_000)
