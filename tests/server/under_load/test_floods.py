"""A flood of bad input leaves no log line and no memory behind, and large bodies share bounded memory."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.server.attacks import ATTACKS
from tests.server.certificates import Certificates
from tests.server.client import JSON, measured, request
from tests.server.lines import until
from tests.server.load import Line, unfinished
from tests.server.process import Serve, serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

GOOD = request("POST", "/mutate", json.dumps(review(pod())).encode())
MEDIUM = request("POST", "/mutate", json.dumps(review(pod())).encode() + b" " * 60_000)
BAD = [
    request("POST", "/mutate", b"{"),
    request("POST", "/mutate", json.dumps({"kind": "AdmissionReview"}).encode()),
    request("POST", "/mutate", json.dumps(review({**pod(), "spec": {"containers": {}}})).encode()),
    request("POST", "/mutate", b"[" * 5000),
    request("POST", "/mutate", b"x" * 20_000),
    request("POST", "/mutate?timeout=soon", b"{}"),
    request("POST", "/elsewhere", b"{}"),
    request("GET", "/mutate"),
    request("POST", "/mutate", b"{}", {"Content-Type": "text/plain"}),
    request("POST", "/mutate", b"{}", {**JSON, "Content-Encoding": "gzip"}),
    request("POST", "/mutate", b"", {**JSON, "Content-Length": "99999999"}),
    b"no HTTP at all\r\n\r\n",
    b"POST /mutate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    GOOD[:-5],
]
FLOOD = 200
ALLOWANCE = 4 * 2**20
"""Bytes by which a heap may vary."""


async def flood(server: Serve, rounds: int) -> None:
    """Send every kind of bad input, on connections that are aborted."""

    async def say(wrong: bytes) -> None:
        line = await Line.open(server.client)
        line.writer.write(wrong)
        if wrong != GOOD[:-5]:
            assert (await line.answer(0)).status in range(400, 500)
        await line.close()

    for _ in range(rounds):
        await asyncio.gather(*map(say, BAD))


async def test_bad_input_leaves_no_log_line_and_no_memory(certificates: Certificates) -> None:
    with serve(certificates) as server:
        await flood(server, 20)
        settled = server.memory()
        await flood(server, 100)
        grown = server.memory() - settled
        assert server.client.say(GOOD).status == 200
        server.log.event("review")
        said = [json.loads(line)["event"] for line in server.log.so_far()]
    assert said == ["ready", "review"]
    assert grown < ALLOWANCE


async def test_large_bodies_share_bounded_memory(certificates: Certificates) -> None:
    """Clients that each send most of a large review: those for which there is no memory get 503."""
    large = request("POST", "/mutate?timeout=30s", b" " * (7 * 2**20))
    with serve(certificates, bodyTimeout="1m", bodyLimit="7Mi") as server:
        before = server.memory()
        async with unfinished(server.client, 2, large[:-1]):
            await asyncio.to_thread(until, lambda: measured(server.client, "large_bodies_bytes") > 13.9 * 2**20)
            shed = await asyncio.gather(*(refusal(server, large[:-1]) for _ in range(20)))
            assert set(shed) == {(503, "1", "close", "large reviews are being read already")}
            assert server.client.say(GOOD).status == 200  # a usual review needs none of that memory
            assert server.client.say(MEDIUM).status == 200  # and one of 60 KiB has some left
        grown = server.memory() - before
        assert server.client.say(request("POST", "/mutate", json.dumps(review(pod())).encode())).status == 200
    assert grown < 64 * 2**20


@pytest.mark.parametrize("name", ["header of 200 kB", "40 pipelined reviews"])
async def test_connections_that_send_much_take_bounded_memory(certificates: Certificates, name: str) -> None:
    """Clients that send much and read nothing take no more than the arithmetic of the memory limit says."""
    sent = next(attack.sent for attack in ATTACKS if attack.name == name)
    with serve(certificates) as server:
        async with unfinished(server.client, FLOOD):
            idle = server.memory()
        async with unfinished(server.client, FLOOD, sent):
            await asyncio.to_thread(until, lambda: server.client.say(GOOD).status == 200)
            grown = server.memory() - idle
    print(f"\n{name}: {grown / FLOOD / 1024:.0f} KiB per connection")
    assert grown < FLOOD * 128 * 1024


async def refusal(server: Serve, started: bytes) -> tuple[int, str, str, str]:
    """The answer to a client whose body finds no memory."""
    line = await Line.open(server.client)
    line.writer.write(started)
    answer = await line.answer(0)
    await line.close()
    headers = [answer.headers.get(name, "") for name in ("retry-after", "connection")]
    return answer.status, headers[0], headers[1], json.loads(answer.body)["message"]
