"""Run commands of the installed distribution in one process: `python -I driver.py COMMANDS ENDED`.

COMMANDS is a JSON list of argument lists. ENDED gets a list of the exit code, output and error output of each. This
file imports nothing of the tests, since an environment without them runs it.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from webhook.cli import main


def run(arguments: list[str]) -> tuple[object, str, str]:
    """Run a command. Return its exit code, output and error output."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    commands, ended = map(Path, sys.argv[1:])
    sys.argv = ["gpushare-webhook"]
    ended.write_text(json.dumps([run(arguments) for arguments in json.loads(commands.read_text())]))
