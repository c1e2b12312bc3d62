"""How many connections the limit of open files allows: a server without descriptors fails its probes."""

from __future__ import annotations

import resource
from contextlib import suppress

_KEPT = 192
"""Descriptors for everything else: 128 connections of the health port, files to reload, calls to the API server."""


def raised() -> int:
    """Raise the soft limit of this process to its hard limit, and return it. Without that, 1024 is usual."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # a sandbox may forbid it; then the limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft


def affordable(allowed: int) -> int:
    """How many connections a limit allows: a quarter of a small one."""
    return max(allowed - _KEPT, allowed // 4)
