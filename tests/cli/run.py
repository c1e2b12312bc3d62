"""Run the command line in the process of the test: fast, and open to mocks."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any
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
