"""Run the command line in a terminal of some size."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def in_terminal(*arguments: str, width: int, folder: Path, environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the lines that a command prints on a terminal, with their styles."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-m", "webhook", *arguments]
    surroundings = {**kept, "TERM": "xterm-256color", "LANG": "C.UTF-8", **(environment or {})}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=surroundings)
    os.close(theirs)
    try:
        written = b"".join(iter(lambda: _read(ours), b""))
    finally:
        os.close(ours)
        process.wait(timeout=20)
    return written.decode().replace("\r\n", "\n").splitlines()


def without_styles(line: str) -> str:
    """Return a line as it appears."""
    return _STYLE.sub("", line)


def _read(terminal: int) -> bytes:
    """Return the next bytes; none when the other side of the terminal is closed, which Linux reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
