"""A log line, its texts and the queue of lines are bounded, whatever the fields hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.server.lines import Lines, until
from webhook.server.log import LINE, EventLog

MIB = 2**20


@dataclass(slots=True)
class Written:
    """A log, and its lines."""

    log: EventLog
    lines: Lines

    def said(self, **fields: Any) -> str:
        """The line of one event."""
        self.log.event("info", "said", **fields)
        return self.lines.wait_for(lambda line: "said" in line or "fields" in line)


@pytest.fixture(params=["json", "text"])
def written(request: pytest.FixtureRequest) -> Iterator[Written]:
    reading, writing = os.pipe()
    log = EventLog(request.param, "info", writing)
    yield Written(log, Lines(os.fdopen(reading, "rb")))
    log.close()
    os.close(writing)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "n" * MIB},
        {"codes": ["c" * MIB] * 10_000},
        {f"f{number}": "é😀" * MIB for number in range(20)},
        {f"f{number}": '"\\' * 200 for number in range(40)},
        {f"f{number}": ["x" * 300] * 40 for number in range(20)},
        {f"field-{number}": number for number in range(2000)},
    ],
    ids=["text", "list", "many texts", "escapes", "many lists", "many fields"],
)
def test_line_is_bounded(written: Written, fields: dict[str, Any]) -> None:
    assert len(written.said(**fields).encode()) <= LINE


def test_control_characters_are_removed(written: Written) -> None:
    line = written.said(name="\x1b[31mred\n::error::forged\u202e", codes=["a\nb"])
    assert line.rstrip("\n").isprintable()


def test_name_of_legal_length_is_not_cut(written: Written) -> None:
    assert "n" * 253 in written.said(name="n" * 253)


@dataclass(slots=True)
class Full:
    """A log whose reader does not read, and its dropped lines."""

    log: EventLog
    reading: int
    dropped: list[None] = field(default_factory=list)


@pytest.fixture
def full() -> Iterator[Full]:
    reading, writing = os.pipe2(os.O_NONBLOCK)
    os.set_blocking(reading, True)
    made = Full(EventLog("json", "info", writing), reading)
    made.log.on_drop = lambda: made.dropped.append(None)
    yield made
    made.log.close()
    os.close(writing)


def test_queued_bytes_are_bounded_and_drops_counted(full: Full) -> None:
    """5,000 lines of 7 KiB are 35 MiB, fewer than may wait by number."""
    fields = {f"f{number}": "x" * 250 for number in range(28)}
    for _ in range(5000):
        full.log.event("info", "said", **fields)
    kept = 5000 - len(full.dropped)
    assert 400 < kept < 4 * MIB / 7000 + 20
    lines = Lines(os.fdopen(full.reading, "rb"))
    until(lambda: len(lines.so_far()) == kept)
    full.log.event("info", "room again")
    lines.event("room again")
