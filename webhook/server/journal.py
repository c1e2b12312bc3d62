"""The journal: one line an event, written by a thread so that a slow reader of the log never blocks the loop."""

from __future__ import annotations

import errno
import logging
import math
import os
import re
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final

import msgspec

from webhook.beside.failure import reason, stack
from webhook.policy.printable import printable

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_ROOM = 10_000
"""Lines that may wait; what comes when all are taken is dropped and counted."""

_PAUSE = 0.05
"""Seconds in which lines gather: a switch of threads for each would cost more than the review it tells of."""

_RETRY = 0.05
"""Seconds until the next try to write what could not be written."""

_PATIENCE = 2.0
"""Seconds that the end may take."""

_MESSAGE = 500
"""Characters of a library's message."""

_GONE = (errno.EPIPE, errno.EBADF)
"""What a write says when nobody will ever read."""


class Journal:
    """Writes events to a file descriptor. `on_drop` is called for each line that is lost."""

    def __init__(self, form: str, level: str, descriptor: int = 1) -> None:
        self.on_drop: Callable[[], None] = lambda: None
        self._encode: Callable[[dict[str, Any]], bytes] = _FORMS[form]
        self._lowest = LEVELS[level]
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._waiting = threading.Event()
        self._closing = threading.Event()
        self._rest = threading.Event()  # never set: its wait is the pause between two tries
        self._last = math.inf
        self._given_up = False
        self._writer = threading.Thread(target=self._write, name="journal", daemon=True)
        self._writer.start()

    def say(self, level: str, event: str, /, **fields: Any) -> None:
        """Put an event into the journal, unless its level is too low."""
        if LEVELS[level] < self._lowest:
            return
        if self._given_up or len(self._lines) >= _ROOM:
            self.on_drop()
            return
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._lines.append(self._encode({"time": time, "level": level, "event": event, **fields}))
        self._waiting.set()

    def close(self) -> None:
        """Write what waits, and end. What cannot be written in time is counted as dropped."""
        self._last = monotonic() + _PATIENCE
        self._closing.set()
        self._waiting.set()
        self._writer.join(timeout=_PATIENCE)

    def _write(self) -> None:
        """Write until the end. What cannot be written now, to a full disk or a slow reader, is tried again."""
        batch = b""
        while batch or self._lines or not self._closing.is_set():
            if not batch:
                self._waiting.wait()
                self._waiting.clear()
                batch = b"".join(self._taken())
            try:
                while batch:
                    batch = batch[os.write(self._descriptor, batch) :]
            except OSError as error:
                if error.errno in _GONE or monotonic() > self._last:
                    self._give_up(batch)
                    return
                self._rest.wait(_RETRY)
            else:
                self._closing.wait(_PAUSE)

    def _give_up(self, batch: bytes) -> None:
        """Count what nobody will read: the lines in hand, those that wait, and all that come."""
        self._given_up = True
        for _ in range(batch.count(b"\n") + len(self._taken())):
            self.on_drop()

    def _taken(self) -> list[bytes]:
        return [self._lines.popleft() for _ in range(len(self._lines))]


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
    """Leads what libraries log into the journal: messages and exceptions bounded, each on one line."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Log the message, and the exception with its causes and its stack where there is one."""
        error = record.exc_info[1] if record.exc_info else None
        fields = {} if error is None else {"error": reason(error), "stack": stack(error)}
        level = next((name for name, number in LEVELS.items() if record.levelno <= number), "error")
        self._journal.say(level, "library", logger=record.name, message=_message(record), **fields)


def _message(record: logging.LogRecord) -> str:
    """The message with its arguments; without them where a library gives others than its message wants."""
    try:
        return printable(record.getMessage(), _MESSAGE)
    except Exception:  # whatever the arguments raise: a log call of a library must not fail
        return printable(record.msg, _MESSAGE)
