"""Run the command line: in the process of the test, fast and open to mocks, or in a process of its own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import IO, Any
from unittest import mock

from webhook.cli import main


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return standard output, parsed as JSON."""
        return json.loads(self.out)


def run(*arguments: object, stdin: bytes = b"") -> Ended:
    """Run a command and return how it ended."""
    out, err = io.StringIO(), io.StringIO()
    entry = io.TextIOWrapper(io.BytesIO(stdin))
    program = mock.patch.object(sys, "argv", ["gpushare-webhook"])
    with program, mock.patch.object(sys, "stdin", entry), redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
            code: Any = 0
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Ended(code, out.getvalue(), err.getvalue())


PATIENCE = 30
"""Seconds for a command in a process of its own."""


def program(
    *arguments: str, stdin: bytes = b"", stdout: IO[bytes] | int = subprocess.PIPE, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own, for what depends on one."""
    command = [sys.executable, "-m", "webhook", *arguments]
    return subprocess.run(
        command, input=stdin, stdout=stdout, stderr=subprocess.PIPE, env=env, timeout=PATIENCE, check=False
    )
