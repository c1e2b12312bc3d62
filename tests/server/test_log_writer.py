"""Log lines that cannot be written: retried, and counted when they are dropped."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.server.lines import Lines, until
from webhook.server.log import EventLog

pytestmark = pytest.mark.slow

LINES = 300
SMALLEST_PIPE = 4096
FILLER = json.dumps({"number": -1, "filler": ""})
FULL = FILLER.replace('""', f'"{"x" * (SMALLEST_PIPE - len(FILLER) - 1)}"').encode() + b"\n"
"""A line that fills a pipe: how many lines of the log fit beside each other depends on how the writer batches them."""


@dataclass(slots=True)
class Piped:
    """A log in a small non-blocking pipe that is full, and what it has dropped."""

    log: EventLog
    reading: int
    dropped: list[None] = field(default_factory=list)

    def fill(self) -> None:
        """Log more lines than a pipe of this size holds."""
        for number in range(LINES):
            self.log.event("info", "said", number=number)


@pytest.fixture
def piped() -> Iterator[Piped]:
    reading, writing = os.pipe2(os.O_NONBLOCK)
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    os.set_blocking(reading, True)
    assert os.write(writing, FULL) == SMALLEST_PIPE
    made = Piped(EventLog("json", "info", writing), reading)
    made.log.on_drop = lambda: made.dropped.append(None)
    yield made
    os.close(writing)


def numbers(lines: list[str]) -> list[int]:
    return [json.loads(line)["number"] for line in lines]


def test_full_pipe_is_written_later(piped: Piped) -> None:
    piped.fill()
    lines = Lines(os.fdopen(piped.reading, "rb"))
    lines.event("said", number=LINES - 1)
    piped.log.close()
    assert numbers(lines.so_far()) == list(range(-1, LINES))
    assert not piped.dropped


def test_unwritten_lines_are_counted_at_close(piped: Piped) -> None:
    piped.fill()
    piped.log.close()
    assert os.read(piped.reading, 2 * SMALLEST_PIPE) == FULL
    until(lambda: len(piped.dropped) == LINES)
    os.close(piped.reading)


def test_lines_without_reader_are_counted(piped: Piped) -> None:
    os.close(piped.reading)
    piped.fill()
    until(lambda: len(piped.dropped) == LINES)
    piped.fill()
    assert len(piped.dropped) == 2 * LINES
    piped.log.close()


def test_full_disk_drops_are_counted_at_close() -> None:
    dropped: list[None] = []
    full = os.open("/dev/full", os.O_WRONLY)
    log = EventLog("json", "info", full)
    log.on_drop = lambda: dropped.append(None)
    for number in range(LINES):
        log.event("info", "said", number=number)
    log.close()
    os.close(full)
    until(lambda: len(dropped) == LINES)
