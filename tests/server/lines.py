"""What a server writes, collected while it writes, so that every wait for a line is bounded."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from webhook.server.log import EventLog

PATIENCE = 20.0
"""Seconds that anything may take before a test gives up on it."""


class Lines:
    """The lines of a stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._ended = False
        self._grown = threading.Condition()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        with self._stream:
            for line in self._stream:
                with self._grown:
                    self._lines.append(line.decode())
                    self._grown.notify_all()
        with self._grown:
            self._ended = True
            self._grown.notify_all()

    def wait_for(self, wanted: Callable[[str], bool]) -> str:
        """The first line that is wanted. Raises an error after PATIENCE, even if other lines arrive."""
        seen, end = 0, time.monotonic() + PATIENCE
        with self._grown:
            while True:
                for line in self._lines[seen:]:
                    if wanted(line):
                        return line
                seen = len(self._lines)
                if self._ended or not self._grown.wait(end - time.monotonic()):
                    raise AssertionError(f"no such line among {self._lines}")

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """The first event of a JSON log with this name and these fields."""

        def wanted(line: str) -> bool:
            return is_event(json.loads(line), name, fields)

        found: dict[str, Any] = json.loads(self.wait_for(wanted))
        return found

    def so_far(self) -> list[str]:
        """The lines that have arrived."""
        with self._grown:
            return list(self._lines)

    def to_the_end(self) -> list[str]:
        """All lines, once the stream has ended."""
        with self._grown:
            if not self._grown.wait_for(lambda: self._ended, PATIENCE):
                raise AssertionError("the stream does not end")
            return list(self._lines)


class PipedLog:
    """A log in a pipe, and its lines."""

    def __init__(self, level: str = "debug") -> None:
        reading, self._writing = os.pipe()
        self.log = EventLog("json", level, self._writing)
        self.lines = Lines(os.fdopen(reading, "rb"))

    def end(self) -> list[dict[str, Any]]:
        """Close the log; all its events."""
        self.log.close()
        os.close(self._writing)
        return [json.loads(line) for line in self.lines.to_the_end()]


def is_event(event: dict[str, Any], name: str, fields: dict[str, Any]) -> bool:
    """Whether an event has this name and these fields."""
    return {**event, **fields, "event": name} == event


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that announces itself in no other way."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("the condition never came true")
        threading.Event().wait(0.01)
