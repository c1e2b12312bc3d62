"""The journal: one line an event, written by a thread so that a slow reader of the log never blocks the loop."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_ROOM = 10_000
"""Lines that may wait; what comes when all are taken is dropped and counted."""

_PAUSE = 0.05
"""Seconds in which lines gather: a switch of threads for each would cost more than the review it tells of."""


class Journal:
    """Writes events to a file descriptor. `on_drop` is called for each line without room."""

    def __init__(self, form: str, level: str, descriptor: int = 1) -> None:
        self.on_drop: Callable[[], None] = lambda: None
        self._encode: Callable[[dict[str, Any]], bytes] = _FORMS[form]
        self._lowest = LEVELS[level]
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._waiting = threading.Event()
        self._closing = threading.Event()
        self._ended = False
        self._writer = threading.Thread(target=self._write, name="journal", daemon=True)
        self._writer.start()

    def say(self, level: str, event: str, /, **fields: Any) -> None:
        """Put an event into the journal, unless its level is too low."""
        if LEVELS[level] < self._lowest:
            return
        if len(self._lines) >= _ROOM:
            self.on_drop()
            return
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._lines.append(self._encode({"time": time, "level": level, "event": event, **fields}))
        self._waiting.set()

    def close(self) -> None:
        """Write what waits, and end."""
        self._ended = True
        self._closing.set()
        self._waiting.set()
        self._writer.join(timeout=2)

    def _write(self) -> None:
        while not self._ended or self._lines:
            self._waiting.wait()
            self._waiting.clear()
            try:
                while self._lines:
                    _write_all(self._descriptor, b"".join(self._taken()))
            except OSError:
                return  # nobody reads any more
            self._closing.wait(_PAUSE)

    def _taken(self) -> list[bytes]:
        return [self._lines.popleft() for _ in range(len(self._lines))]


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _as_json(event: dict[str, Any]) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def _as_text(event: dict[str, Any]) -> bytes:
    head = f"{event.pop('time')} {event.pop('level'):7} {event.pop('event')}"
    line = " ".join([head, *(f"{name}={_plain(value)}" for name, value in event.items())])
    return "".join(char if char.isprintable() else " " for char in line).encode() + b"\n"


def _plain(value: Any) -> str:
    """A value as it is, in quotes where it could be taken for more than one field."""
    if isinstance(value, str) and value and not _UNCLEAR.search(value):
        return value
    return msgspec.json.encode(value).decode()


_UNCLEAR = re.compile(r"[\s=\"\[\]]")

_FORMS = {"json": _as_json, "text": _as_text}


class Bridge(logging.Handler):
    """Leads what libraries log into the journal, without traces."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Say the message, and the kind of exception where there is one."""
        error = record.exc_info[1] if record.exc_info else None
        fields = {} if error is None else {"error": f"{type(error).__name__}: {error}"[:500]}
        level = next((name for name, number in LEVELS.items() if record.levelno <= number), "error")
        self._journal.say(level, "library", logger=record.name, message=record.getMessage()[:500], **fields)
