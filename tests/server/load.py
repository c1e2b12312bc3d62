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
        line = None
        while self._free and line is None:
            line = self._free.pop()
            if line.reader.at_eof():  # closed after `keepAlive`
                await line.close()
                line = None
        line = line or await Line.open(self._client)
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


async def overload(
    client: Client, request: bytes, times: int, at_once: int, until_answered: int, patience: float
) -> list[Answer | BaseException]:
    """Ask this many times for each time that the server answers with 200, however fast the machine is.

    It begins with `at_once` requests, and asks nothing else after `until_answered` answers of 200. A client without an
    answer after `patience` seconds hangs up, with a TimeoutError.
    """
    loop, pool = asyncio.get_running_loop(), Pool(client)
    asked: list[asyncio.Task[Answer]] = []
    answered = 0

    async def ask() -> Answer:
        nonlocal answered
        answer = await asyncio.wait_for(pool.ask(request, loop.time()), patience)
        if answer.status == 200 and (answered := answered + 1) < until_answered:
            begin(times)
        return answer

    def begin(count: int) -> None:
        asked.extend(loop.create_task(ask()) for _ in range(count))

    begin(at_once)
    answers: list[Answer | BaseException] = []
    while len(answers) < len(asked):
        answers += await asyncio.gather(*asked[len(answers) :], return_exceptions=True)
    await pool.close()
    return answers


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
