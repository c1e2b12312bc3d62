"""What a command costs for a file: its CPU time and its memory beyond those of a process that has nothing to do.

As a program it prints the table of all hostile files: `python -m tests.cli.costs [COMMAND] [NAME...]`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.hostile_files import FILES, HONEST, OBJECT, Shape, encoded

MIB = 1024 * 1024


class Cost(NamedTuple):
    """CPU seconds and peak bytes of a process, and the code that it exits with."""

    seconds: float
    memory: int
    code: int


_PROGRAM = """
import atexit, os, pathlib, sys
from webhook.cli import main

atexit.register(lambda: os.write(int(sys.argv.pop()), pathlib.Path("/proc/self/status").read_bytes()))
main(sys.argv[1:-1])
"""
_PEAK = re.compile(rb"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def _run(command: str, data: bytes) -> Cost:
    """Run a command for a file. It writes its peak itself: that of `wait4` includes the process that has forked it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file.yaml"
        file.write_bytes(data)
        status, written = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, command, str(file), str(written)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[written],
        )
        os.close(written)
        with open(status, "rb") as stream:  # noqa: PTH123 - a descriptor
            peak = _PEAK.search(stream.read())
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    assert peak is not None
    return Cost(usage.ru_utime + usage.ru_stime, int(peak[1]) * 1024, process.returncode)


@cache
def _rest(command: str) -> Cost:
    """The cost of a process for a file of one object."""
    runs = [_run(command, OBJECT.encode()) for _ in range(3)]
    return Cost(min(one.seconds for one in runs), min(one.memory for one in runs), 0)


def cost(command: str, data: bytes) -> Cost:
    """The cost of a file beyond that of a process."""
    run, rest = _run(command, data), _rest(command)
    return Cost(max(0.0, run.seconds - rest.seconds), max(0, run.memory - rest.memory), run.code)


def main(command: str = "check", *names: str) -> None:
    """Print the cost of each file of 1 and of 4 MiB: the seconds for each MiB, and all memory in MiB."""
    print("honest pods", *_columns(command, HONEST))
    for name in names or FILES:
        print(f"{name:46}", *_columns(command, FILES[name]), flush=True)


def _columns(command: str, shape: Shape) -> list[str]:
    columns = []
    for size in (MIB, 4 * MIB):
        data = encoded(shape, size)
        found = cost(command, data)
        columns.append(f"| {found.seconds / len(data) * MIB:6.2f} s/MiB {found.memory / MIB:5.0f} MiB")
    return [*columns, f"| exit {found.code}"]


if __name__ == "__main__":
    main(*sys.argv[1:])
