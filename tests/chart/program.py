"""A program that answers requests in JSON as long as the tests run: to start it takes longer than an answer."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any


class Program:
    """It runs from the first request on, without the environment of the user, and starts again after it failed."""

    def __init__(self, path: Callable[[], str]) -> None:
        self._path = path
        self._running: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the program

    def answer(self, request: Any) -> Any:
        """What it answers. Raises AssertionError with the last lines of its log when it fails."""
        if self._running is None:
            self._running = self._start()
        assert self._running.stdin is not None
        assert self._running.stdout is not None
        try:
            self._running.stdin.write(json.dumps(request).encode())
            self._running.stdin.flush()
            line = self._running.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            self.end()
            raise AssertionError(self._said())
        return json.loads(line)

    def end(self) -> None:
        """End it, which it does with its input."""
        if self._running is not None:
            self._running.communicate()
            self._running = None

    def _start(self) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "GOGC") if name in os.environ}
        return subprocess.Popen(
            [self._path()], env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode()[-2000:]
