"""What the limit of open files leaves for connections: a server without descriptors answers no probe, and is killed."""

from __future__ import annotations

import resource
from contextlib import suppress

_KEPT = 192
"""Descriptors for everything else: 128 connections of probes, files that are read anew, the calls to the cluster."""


def raised() -> int:
    """The limit of this process, raised to the most that it may give itself; 1024 is usual without that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # a sandbox may forbid it; then the limit is what it was
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft


def affordable(allowed: int) -> int:
    """How many connections fit into a limit. Of a small one they take a quarter."""
    return max(allowed - _KEPT, allowed // 4)
