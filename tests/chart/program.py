"""A program that answers requests in JSON until its tests end: a start takes longer than an answer."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

KEPT = {name: os.environ[name] for name in ("PATH", "GOGC") if name in os.environ}
"""The environment of programs of the chart's tests, without the configuration of a user."""

_PATIENCE = 60
"""Seconds in which the program ends at the end of its input."""


class Program:
    """It runs from the first request on, without the environment of the user, and starts again after a failure."""

    def __init__(self, path: Callable[[], str]) -> None:
        self._path = path
        self._running: subprocess.Popen[bytes] | None = None

    def answer(self, request: Any) -> Any:
        """The answer to a request. Raises AssertionError with the log if the program fails."""
        if self._running is None:
            self._start()
        try:
            return json.loads(self._asked(json.dumps(request).encode()))
        except (BrokenPipeError, json.JSONDecodeError):
            raise AssertionError(f"{self._path()} gave no answer: {self._kill()}") from None
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

    def _start(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the program has ended
        self._running = subprocess.Popen(
            [self._path()], env=KEPT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )

    def _asked(self, request: bytes) -> bytes:
        assert self._running is not None
        assert self._running.stdin is not None
        assert self._running.stdout is not None
        self._running.stdin.write(request)
        self._running.stdin.flush()
        return self._running.stdout.readline()

    def _kill(self) -> str:
        """Kill the program if it runs. Return the first lines of its log, where a crash has its reason."""
        assert self._running is not None
        self._running.kill()
        self._running.communicate()
        self._running = None
        with self._log:
            self._log.seek(0)
            return self._log.read().decode()[:2000]
