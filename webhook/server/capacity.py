"""How much fits into the container's memory limit: a server that is killed for memory answers no review.

docs/explanation/limits.md explains the arithmetic; the chart's memory limit comes from it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where control groups of version 2 and of version 1 tell a container its limit."""

_UNLIMITED = 2**60
"""Version 1 tells the absence of a limit by a number about as large as there are bytes."""

_CONNECTION = 128 * 2**10
"""Bytes that one connection takes: 55 KiB were measured with TLS and all, 117 KiB with half a review of 16 kB."""

_FIXED = 32 * 2**20
_PER_BYTE = 14
_MOST = 320 * 2**20
"""What processing a large review takes beside its body: 32 MiB and 14 bytes for each of its bytes, in the worst shape.

The bounds of `admission.structure` end that growth: no review of 28 MiB was found to take more than 290 MiB.
"""

SMALL_BODIES = 4 * 2**20
"""Bytes kept for the bodies of small reviews, 80 of the largest of them, when large ones fill their room."""

_FEWEST = 64
"""Connections that are always allowed: one API server keeps 25."""

_USUAL = 256
"""Connections that have precedence over the size of the largest review: those of three API servers, with room."""

_SMALLEST = 4 * 2**20
"""Bytes of a review that are always allowed: an object of 3 MiB, the most that the API server takes, and its review.

A server that refuses legal objects, and with them each create of theirs, is worse than one that a hostile review of
this size may end.
"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a server takes on: bytes of the largest review, bytes of all that are in memory, connections."""

    body: int
    connections: int

    @property
    def bodies(self) -> int:
        """One is processed while the next one arrives."""
        return 2 * self.body

    @property
    def bytes(self) -> int:
        """The memory that all of it takes together, beside what the process holds already."""
        return self.bodies + SMALL_BODIES + _processing(self.body) + self.connections * _CONNECTION


def fitting(wanted: Bounds, room: int) -> Bounds:
    """As much of the wanted bounds as fits into so many bytes.

    Connections give way first, then the size of reviews.
    """
    for_bodies = room - SMALL_BODIES - min(wanted.connections, _USUAL) * _CONNECTION
    body = min(wanted.body, max(_SMALLEST, _largest(for_bodies)))
    left = room - Bounds(body, 0).bytes
    return Bounds(body, min(wanted.connections, max(_FEWEST, left // _CONNECTION)))


def _processing(body: int) -> int:
    return min(_FIXED + _PER_BYTE * body, _MOST)


def _largest(room: int) -> int:
    """Bytes of the largest review that can be processed while another one arrives."""
    return max((room - _FIXED) // (_PER_BYTE + 2), (room - _MOST) // 2)


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
