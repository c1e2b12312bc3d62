"""A program that answers requests in JSON until its tests end: a start takes longer than an answer."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

_PATIENCE = 60
"""Seconds in which the program ends at the end of its input."""


class Program:
    """It runs from the first request on, without the environment of the user, and starts again after a failure."""

    def __init__(self, path: Callable[[], str]) -> None:
        self._path = path
        self._running: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the program

    def answer(self, request: Any) -> Any:
        """The answer to a request. Raises AssertionError with the log if the program fails."""
        if self._running is None:
            self._running = self._start()
        try:
            return json.loads(self._asked(self._running, json.dumps(request).encode()))
        except (BrokenPipeError, json.JSONDecodeError):
            self._kill()
            raise AssertionError(self._failure()) from None
        except BaseException:  # such as the time limit of a test: the next test must not read this answer
            self._kill()
            raise

    def end(self) -> None:
        """Close the program's input, with which it ends, and wait for it."""
        if self._running is not None:
            try:
                self._running.communicate(timeout=_PATIENCE)
            finally:
                self._kill()

    @staticmethod
    def _asked(running: subprocess.Popen[bytes], request: bytes) -> bytes:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(request)
        running.stdin.flush()
        return running.stdout.readline()

    def _kill(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.communicate()
            self._running = None

    def _start(self) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "GOGC") if name in os.environ}
        self._errors.truncate(0)
        self._errors.seek(0)
        return subprocess.Popen(
            [self._path()], env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )

    def _failure(self) -> str:
        """The log's first lines, where a crash has its reason."""
        self._errors.seek(0)
        return f"{self._path()} gave no answer: {self._errors.read().decode()[:2000]}"
