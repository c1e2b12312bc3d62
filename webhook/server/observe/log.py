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

from webhook.policy.printable import printable
from webhook.runtime.exceptions import reason, stack

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
LINE: Final = 8 * 1024
"""Bytes of the longest line: what log collectors take as one (16 KiB is where containerd splits)."""

_LINES = 10_000
"""Lines that may wait; a line that comes when there is no room is dropped and counted."""

_BYTES = 4 * 2**20
"""Bytes that may wait, those being written included."""

_TEXT = 256
"""Characters of a text; a name has 253 at most."""

_TEXTS: Final = {"error": 2048, "message": 1024, "problem": 1024, "reason": 1024, "stack": 2048, "where": 1024}
"""Characters of the texts that explain something, by field."""

_ELEMENTS = 32
"""Elements of a list: there are fewer codes than that."""

_SHORT = 64
"""Characters of any text of a line that would be too long otherwise."""

_PAUSE = 0.05
"""Seconds in which lines gather: a switch of threads for each would cost more than the review it tells of."""

_RETRY = 0.05
"""Seconds until the next try to write what could not be written."""

_PATIENCE = 2.0
"""Seconds that the end may take."""

_GONE = (errno.EPIPE, errno.EBADF)
"""What a write says when nobody will ever read."""


class EventLog:
    """Writes events to a file descriptor. `on_drop` is called for each line that is lost."""

    def __init__(self, form: str, level: str, descriptor: int = 1) -> None:
        self.on_drop: Callable[[], None] = lambda: None
        self._encode: Callable[[dict[str, Any]], bytes] = _FORMS[form]
        self._lowest = LEVELS[level]
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._counting = threading.Lock()
        self._waiting = threading.Event()
        self._closing = threading.Event()
        self._rest = threading.Event()  # never set: its wait is the pause between two tries
        self._last = math.inf
        self._given_up = False
        self._writer = threading.Thread(target=self._write, name="journal", daemon=True)
        self._writer.start()

    def event(self, level: str, event: str, /, **fields: Any) -> None:
        """Put an event into the journal, unless its level is too low. Any thread may say something.

        Texts are made printable and cut, as is the line: no field, whatever a client put into it, is kept whole.
        """
        if LEVELS[level] < self._lowest:
            return
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = self._line({"time": time, "level": level, "event": event}, fields)
        with self._counting:
            room = not self._given_up and len(self._lines) < _LINES and self._held + len(line) <= _BYTES
            if room:
                self._held += len(line)
                self._lines.append(line)
        if room:
            self._waiting.set()
        else:
            self.on_drop()

    def close(self) -> None:
        """Write what waits, and end. What cannot be written in time is counted as dropped."""
        self._last = monotonic() + _PATIENCE
        self._closing.set()
        self._waiting.set()
        self._writer.join(timeout=_PATIENCE)

    def _line(self, head: dict[str, Any], fields: dict[str, Any]) -> bytes:
        event = head.copy()
        for name, value in fields.items():
            # Numbers are half of the fields of a review.
            event[name] = value if isinstance(value, int) else _bounded(value, _TEXTS.get(name, _TEXT))
        line = self._encode(event)
        if len(line) <= LINE:
            return line
        line = self._encode(head | {name: _bounded(value, _SHORT) for name, value in fields.items()})
        return line if len(line) <= LINE else self._encode(head | {"fields": len(fields)})

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
                    written = os.write(self._descriptor, batch)
                    batch = batch[written:]
                    with self._counting:
                        self._held -= written
            except OSError as error:
                if error.errno in _GONE or monotonic() > self._last:
                    self._give_up(batch)
                    return
                self._rest.wait(_RETRY)
            else:
                self._closing.wait(_PAUSE)

    def _give_up(self, batch: bytes) -> None:
        """Count what nobody will read: the lines in hand, those that wait, and all that come."""
        with self._counting:
            self._given_up = True
        for _ in range(batch.count(b"\n") + len(self._taken())):
            self.on_drop()

    def _taken(self) -> list[bytes]:
        return [self._lines.popleft() for _ in range(len(self._lines))]


def _as_json(event: dict[str, Any]) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def _as_text(event: dict[str, Any]) -> bytes:
    head = f"{event.pop('time')} {event.pop('level'):7} {event.pop('event')}"
    return " ".join([head, *(f"{name}={_plain(value)}" for name, value in event.items())]).encode() + b"\n"


def _bounded(value: Any, characters: int) -> Any:
    """A field's value, safe to print and of bounded size."""
    if isinstance(value, str):
        return printable(value, characters)
    if isinstance(value, list | tuple):
        return [one if isinstance(one, int) else printable(one, characters) for one in value[:_ELEMENTS]]
    if value is None or isinstance(value, int | float):
        return value
    return printable(value, characters)


def _plain(value: Any) -> str:
    """A value as it is, in quotes where it could be taken for more than one field."""
    if isinstance(value, str) and value and not _UNCLEAR.search(value):
        return value
    return msgspec.json.encode(value).decode()


_UNCLEAR = re.compile(r"[\s=\"\[\]]")

_FORMS = {"json": _as_json, "text": _as_text}


class Bridge(logging.Handler):
    """Leads what libraries log into the journal: messages and exceptions bounded, each on one line."""

    def __init__(self, log: EventLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log the message, and the exception with its causes and its stack where there is one."""
        error = record.exc_info[1] if record.exc_info else None
        fields = {} if error is None else {"error": reason(error), "stack": stack(error)}
        level = next((name for name, number in LEVELS.items() if record.levelno <= number), "error")
        self._log.event(level, "library", logger=record.name, message=_message(record), **fields)


def _message(record: logging.LogRecord) -> str:
    """The message with its arguments; without them where a library gives others than its message wants."""
    try:
        return record.getMessage()
    except Exception:  # whatever the arguments raise: a log call of a library must not fail
        return str(record.msg)
