"""What the container's memory limit leaves for connections: a server that is killed for memory answers nobody."""

from __future__ import annotations

import os
from pathlib import Path

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where control groups of version 2 and of version 1 tell a container its limit."""

_UNLIMITED = 2**60
"""Version 1 tells the absence of a limit by a number about as large as there are bytes."""

_CONNECTION = 128 * 2**10
"""Bytes that one connection takes: 55 KiB were measured with TLS and all, 117 KiB with half a review of 16 kB."""

_JUDGING = 24 * 2**20
"""Bytes that judging takes for a while: the review of the largest usual pod, 1.5 MB, was measured."""

_FEWEST = 64
"""Connections that are always allowed: one API server keeps 25."""


def limit() -> int | None:
    """The container's memory limit in bytes; None where there is none."""
    for file in _LIMITS:
        try:
            told = file.read_text().strip()
        except OSError:
            continue
        return int(told) if told.isdecimal() and int(told) < _UNLIMITED else None
    return None


def resident() -> int:
    """The bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def affordable(allowed: int, held: int, body_limit: int) -> int:
    """How many connections fit into a limit beside what is held already, large bodies, and one review's judging."""
    return max(_FEWEST, (allowed - held - 2 * body_limit - _JUDGING) // _CONNECTION)
