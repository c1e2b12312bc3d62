"""The log: one line per event, written by a thread, so that a slow reader of the log never blocks the event loop."""

from __future__ import annotations

import errno
import logging
import math
import os
import re
import select
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import msgspec

from webhook.policy.messages import is_plain, printable
from webhook.runtime import exceptions

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
LINE = 8 * 1024
"""Bytes of the longest line. containerd splits lines at 16 KiB."""

_LINES = 10_000
"""Lines in the queue; further lines are dropped and counted."""

_BYTES = 4 * 2**20
"""Bytes in the queue, including those being written."""

_TEXT = 256
"""Characters of a text field; a Kubernetes name has at most 253."""

_TEXTS = {"error": 2048, "message": 1024, "problem": 1024, "reason": 1024, "stack": 2048, "where": 1024}
"""Characters of longer text fields."""

_ELEMENTS = 32
"""Elements of a list; there are fewer codes."""

_SHORT = 64
"""Characters of each text field in a line that would be too long otherwise."""

_ENCODER = msgspec.json.Encoder()
GATHER = 0.05
"""Seconds for which lines are collected: a thread switch per line would cost more than the review itself."""

_RETRY = 0.05
"""Seconds until a failed write is retried, at most."""

_PATIENCE = 2.0
"""Seconds that `close` may take."""

_GONE = (errno.EPIPE, errno.EBADF)
"""The errors of a write whose reader is gone for good."""


class ReviewLine(msgspec.Struct, kw_only=True):
    """The line about a review: its fields in their order."""

    time: datetime
    level: str = "info"
    event: str = "review"
    hook: str
    uid: str
    namespace: str
    name: str
    kind: str
    operation: str
    user: str
    dryRun: bool = False  # noqa: N815 - as the API server spells it
    decision: str
    allowed: bool
    codes: list[str] = []
    findings: int = 0
    message: str = ""
    injections: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    edits: int = 0
    microseconds: int


class EventLog:
    """Writes one line per event to a file descriptor. Calls `on_drop` for each line that is lost."""

    def __init__(self, form: str, level: str, descriptor: int = 1) -> None:
        self.on_drop: Callable[[], None] = lambda: None
        self._encode = _FORMS[form]
        self._lowest = LEVELS[level]
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._counting = threading.Lock()
        self._waiting = threading.Event()
        self._closing = threading.Event()
        self._deadline = math.inf
        self._given_up = False
        self._writer = threading.Thread(target=self._write, name="log writer", daemon=True)
        self._writer.start()

    def event(self, level: str, event: str, /, **fields: Any) -> None:
        """Log an event unless its level is too low. Any thread may call this; it never blocks.

        Texts are made printable and cut, as is the line: no field is kept whole, whatever a client puts into it.
        """
        if self.is_logged(level):
            self._append(self._line({"time": datetime.now(UTC), "level": level, "event": event}, fields))

    def is_logged(self, level: str) -> bool:
        """Whether events of this level are written."""
        return LEVELS[level] >= self._lowest

    def review(self, line: ReviewLine) -> None:
        """Log a review as `event` does. One look at all texts that a client chooses shows that none needs a change.

        The message of a denial is printable and cut already.
        """
        if LEVELS[line.level] < self._lowest:
            return
        texts = f"{line.uid} {line.namespace} {line.name} {line.kind} {line.operation} {line.user}"
        if len(texts) > _TEXT or not is_plain(texts):
            fields = msgspec.structs.asdict(line)
            head = {name: fields.pop(name) for name in ("time", "level", "event")}
            self._append(self._line(head, fields))
        else:
            self._append(self._encode(line))

    def _append(self, line: bytes) -> None:
        with self._counting:
            room = not self._given_up and len(self._lines) < _LINES and self._held + len(line) <= _BYTES
            if room:
                self._held += len(line)
                self._lines.append(line)
        if not room:
            self.on_drop()
        elif not self._waiting.is_set():  # the writer clears it before it takes the lines
            self._waiting.set()

    def close(self) -> None:
        """Write the queued lines and stop. Lines that cannot be written in time are counted as dropped."""
        self._deadline = monotonic() + _PATIENCE
        self._closing.set()
        self._waiting.set()
        self._writer.join(timeout=_PATIENCE)

    def _line(self, head: dict[str, Any], fields: dict[str, Any]) -> bytes:
        for most, longer in ((_TEXT, _TEXTS), (_SHORT, {})):
            bounded = {name: _bounded(value, longer.get(name, most)) for name, value in fields.items()}
            if len(line := self._encode(head | bounded)) <= LINE:
                return line
        return self._encode(head | {"fields": len(fields)})

    def _write(self) -> None:
        """Write until closed. A write that fails, to a full disk or a slow reader, is retried."""
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
                if error.errno in _GONE or not self._await_room(error):
                    # Lines are lost: those in hand, those that are queued, and all later ones.
                    with self._counting:
                        self._given_up = True
                    for _ in range(batch.count(b"\n") + len(self._taken())):
                        self.on_drop()
                    return
            else:
                self._closing.wait(GATHER)

    def _await_room(self, error: OSError) -> bool:
        """Wait before the next attempt; return False if it is too late for one."""
        if isinstance(error, BlockingIOError):  # a pipe that is full: wait for its reader
            poll = select.poll()
            poll.register(self._descriptor, select.POLLOUT)
            poll.poll(_RETRY * 1000)
            return monotonic() < self._deadline
        return not self._closing.wait(_RETRY)  # such as a full disk: nothing announces that it has room

    def _taken(self) -> list[bytes]:
        return [self._lines.popleft() for _ in range(len(self._lines))]


def _as_json(event: dict[str, Any] | ReviewLine) -> bytes:
    return _ENCODER.encode(event) + b"\n"


def _as_text(event: dict[str, Any] | ReviewLine) -> bytes:
    fields = msgspec.to_builtins(event)
    line = f"{fields.pop('time')} {fields.pop('level'):7} {fields.pop('event')}"
    for name, value in fields.items():
        # Quoted if it could be read as more than one field.
        is_plain_text = isinstance(value, str) and value and not _UNCLEAR.search(value)
        line += f" {name}={value if is_plain_text else msgspec.json.encode(value).decode()}"
    return line.encode() + b"\n"


def _bounded(value: Any, characters: int) -> Any:
    """The value of a field, printable and of bounded size."""
    if isinstance(value, list | tuple):
        return [item if isinstance(item, int) else printable(item, characters) for item in value[:_ELEMENTS]]
    if value is None or isinstance(value, int | float):
        return value
    return printable(value, characters)


_UNCLEAR = re.compile(r"[\s=\"\[\]]")

_FORMS = {"json": _as_json, "text": _as_text}


class Bridge(logging.Handler):
    """Forwards what libraries log: messages and exceptions bounded, each record on one line."""

    def __init__(self, log: EventLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        fields = {} if error is None else exceptions.fields(error)
        level = next((name for name, number in LEVELS.items() if record.levelno <= number), "error")
        try:
            message = record.getMessage()
        except Exception:  # a log call must not fail, whatever the arguments raise
            message = str(record.msg)
        self._log.event(level, "library", logger=record.name, message=message, **fields)
