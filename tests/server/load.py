"""Load on many connections at once, as from the API server of a busy cluster or from an attacker."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from tests.server.client import Client
from tests.server.lines import PATIENCE


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, and the seconds between the planned time of its request and its arrival."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float


class Line:
    """One connection, which stays open until the server or the test closes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, client: Client, trust: ssl.SSLContext | None = None) -> Line:
        """A new connection."""
        context = trust or client.trust
        return cls(*await asyncio.open_connection("127.0.0.1", client.port, ssl=context, server_hostname="localhost"))

    async def ask(self, request: bytes, since: float | None = None) -> Answer:
        """Send a request and read its answer."""
        since = time.monotonic() if since is None else since
        self.writer.write(request)
        return await self.answer(since)

    async def answer(self, since: float) -> Answer:
        """The next answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])}
        body = await self.reader.readexactly(int(headers["content-length"]))
        return Answer(int(head[0].split()[1]), headers, body, time.monotonic() - since)

    async def close(self) -> None:
        """End the connection, whatever state it is in."""
        self.writer.transport.abort()


class Pool:
    """Connections as Go's transport keeps them: the one used last serves next; without a free one it dials."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._free: list[Line] = []

    async def ask(self, request: bytes, planned: float) -> Answer:
        """Send a request on a free connection or a new one."""
        line = self._free.pop() if self._free else await Line.open(self._client)
        try:
            answer = await line.ask(request, planned)
        except BaseException:
            await line.close()
            raise
        if answer.headers.get("connection") == "close":
            await line.close()
        else:
            self._free.append(line)
        return answer

    async def close(self) -> None:
        """End all connections that are free."""
        for line in self._free:
            await line.close()


async def open_loop(
    client: Client, request: bytes, rate: float, seconds: float, patience: float = PATIENCE
) -> list[Answer | BaseException]:
    """Ask at a fixed rate whatever the answers are, and count every wait from the planned time of its request.

    A client without an answer after `patience` seconds hangs up, with a TimeoutError.
    """
    loop, pool = asyncio.get_running_loop(), Pool(client)
    asked: list[asyncio.Future[Answer]] = []
    all_asked = loop.create_future()

    def ask(planned: float) -> None:
        asked.append(asyncio.ensure_future(asyncio.wait_for(pool.ask(request, planned), patience)))

    start, count = loop.time(), int(rate * seconds)
    for number in range(count):
        loop.call_at(start + number / rate, ask, start + number / rate)
    loop.call_at(start + count / rate, all_asked.set_result, None)
    await all_asked
    answers = await asyncio.gather(*asked, return_exceptions=True)
    await pool.close()
    return answers


async def closed_loop(client: Client, request: bytes, connections: int, seconds: float) -> float:
    """Requests answered per second when this many connections ask one request after the other."""
    end = time.monotonic() + seconds

    async def ask() -> int:
        line, count = await Line.open(client), 0
        while time.monotonic() < end:
            assert (await line.ask(request)).status == 200
            count += 1
        await line.close()
        return count

    return sum(await asyncio.gather(*(ask() for _ in range(connections)))) / seconds


@asynccontextmanager
async def unfinished(client: Client, count: int, sent: bytes = b"") -> AsyncIterator[list[Line]]:
    """This many open connections, each of which has sent these bytes and sends nothing else."""
    async with AsyncExitStack() as stack:
        lines = []
        for _ in range(count):
            line = await asyncio.wait_for(Line.open(client), PATIENCE)
            stack.push_async_callback(line.close)
            line.writer.write(sent)
            lines.append(line)
        yield lines


def quantile(values: list[float], part: float) -> float:
    """The value below which this part of all values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
