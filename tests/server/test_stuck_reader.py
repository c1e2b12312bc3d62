"""A log reader that is stuck or gone blocks neither reviews nor the exit of the server."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.certificates import Certificates
from tests.server.client import Client
from tests.server.lines import PATIENCE, Lines, PipedLog, until
from tests.server.process import FREE_PORTS, SERVE, ended
from tests.server.reviews import pod, review
from tests.server.within import client_of, configuration, started
from webhook.server.log import EventLog, ReviewLine

pytestmark = pytest.mark.slow

MORE_THAN_ROOM = 40_000
SMALLEST_PIPE = 4096


class CountingLog(EventLog):
    """A log that counts its lines. The watchdog logs, too, when the machine is busy."""

    def __init__(self, descriptor: int) -> None:
        super().__init__("json", "debug", descriptor)
        self.logged: list[str] = []

    def event(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append(event)
        super().event(level, event, **fields)

    def review(self, line: ReviewLine) -> None:
        self.logged.append(line.event)
        super().review(line)


async def test_each_line_is_written_or_counted_as_dropped(certificates: Certificates) -> None:
    reading, writing = os.pipe()
    log = CountingLog(writing)

    async with started(configuration("", certificates), log) as server:
        client = client_of(server, certificates)
        for number in range(MORE_THAN_ROOM):
            log.event("info", "filling", number=number)
        replied = await asyncio.to_thread(client.review, "/mutate", review(pod(), uid="after"))
        lines = Lines(os.fdopen(reading, "rb"))

        def has_room() -> bool:
            log.event("info", "seen")
            return '"seen"' in "".join(lines.so_far()[-1:])

        await asyncio.to_thread(until, has_room)
        dropped = await asyncio.to_thread(dropped_lines, client)
    os.close(writing)
    events = [json.loads(line) for line in lines.to_the_end()]
    written = [event["number"] for event in events if event["event"] == "filling"]
    assert replied.json()["response"]["uid"] == "after"
    assert dropped > 0
    assert len(events) + dropped == len(log.logged)
    assert written == sorted(set(written))


def dropped_lines(client: Client) -> int:
    """The dropped lines by the server's metric."""
    metrics = client.metrics()
    found = re.search("^gpushare_webhook_log_lines_dropped_total (.*)$", metrics, re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


@pytest.fixture
def unread(certificates: Certificates) -> Iterator[tuple[subprocess.Popen[bytes], Client, int]]:
    """A server whose log is read only until it is ready: its process, a client, and the pipe."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    command = [*SERVE, *FREE_PORTS, *certificates.options, *certificates.impatient]
    with ended(subprocess.Popen(command, stdout=writing)) as process:
        os.close(writing)
        ready = json.loads(_line(reading))
        yield process, Client(ready["port"], ready["healthPort"], certificates.trust()), reading


def _line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(descriptor, 1)
    return line


@pytest.mark.parametrize("gone", [False, True], ids=["stuck", "closed"])
def test_log_reader_blocks_neither_reviews_nor_exit(
    unread: tuple[subprocess.Popen[bytes], Client, int], gone: bool
) -> None:
    process, client, reading = unread
    if gone:
        os.close(reading)
    for _ in range(50):  # each line has about 250 bytes; the pipe is full after 17
        assert client.review("/mutate", review(pod())).status == 200
    assert client.health("/readyz").status == 200
    process.terminate()
    assert process.wait(PATIENCE) == 0
    if not gone:
        os.close(reading)


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_log_level_filters_events(level: str) -> None:
    levels = ["debug", "info", "warning", "error"]
    piped = PipedLog(level)
    for each in levels:
        piped.log.event(each, "said")
    assert [event["level"] for event in piped.end()] == levels[levels.index(level) :]
