"""The process: its bounds, by the memory limit of its container and the files that it may open, and its interpreter.

docs/explanation/limits.md explains the arithmetic. The memory limit of the chart follows from it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The files with a container's limit: of control groups version 2, and of version 1."""

_UNLIMITED = 2**60
"""Version 1 reports no limit as a number close to 2**63."""

_CONNECTION = 128 * 2**10
"""Bytes per connection. Measured: 55 KiB with TLS, 117 KiB with half a review of 16 kB."""

_FIXED = 32 * 2**20
_PER_BYTE = 14
_MOST = 320 * 2**20
"""What processing a large review takes besides its body: at worst 32 MiB, and 14 bytes per byte, up to 320 MiB.

The limits of `admission.review` bound that growth: no review of 28 MiB was found to take more than 290 MiB.
"""

SMALL_BODIES = 4 * 2**20
"""Bytes reserved for the bodies of small reviews, 80 of the largest, when large ones use all of theirs."""

_NODES = 90 * 2**20
"""Bytes reserved for nodes that are read after the start: 5,000 with GPUs, and the state that replaces theirs."""

_FEWEST = 64
"""Connections that are always allowed: one API server keeps 25 open."""

_USUAL = 256
"""Connections that take precedence over the size of the largest review: enough for three API servers."""

_SMALLEST = 4 * 2**20
"""Bytes of a review that are always allowed: the largest object that the API server accepts, 3 MiB, in its review.

A server that cannot review legal objects blocks their creation, which is worse than a crash under a hostile review.
"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a server: bytes of the largest review, and connections."""

    body: int
    connections: int

    @property
    def bodies(self) -> int:
        """Bytes of all large reviews in memory: one is processed while the next one arrives."""
        return 2 * self.body

    @property
    def bytes(self) -> int:
        """The memory that a fully loaded server takes, besides what the process uses at start."""
        processing = min(_FIXED + _PER_BYTE * self.body, _MOST)
        return self.bodies + SMALL_BODIES + processing + self.connections * _CONNECTION


def fitting(wanted: Bounds, room: int) -> Bounds:
    """The wanted bounds, reduced to fit into this many bytes: connections first, then the size of reviews."""
    for_bodies = room - SMALL_BODIES - min(wanted.connections, _USUAL) * _CONNECTION
    # One review is processed while another one arrives.
    largest = max((for_bodies - _FIXED) // (_PER_BYTE + 2), (for_bodies - _MOST) // 2)
    body = min(wanted.body, max(_SMALLEST, largest))
    left = room - Bounds(body, 0).bytes
    return Bounds(body, min(wanted.connections, max(_FEWEST, left // _CONNECTION)))


def memory_limit() -> int | None:
    """The container's memory limit in bytes, from the first of `LIMIT_FILES` that exists; None if there is none."""
    for file in LIMIT_FILES:
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdecimal() and int(text) < _UNLIMITED else None
    return None


def room(allowed: int, *, reads_nodes: bool) -> int:
    """Bytes of the container's memory limit that are left for requests once the process holds its facts."""
    return allowed - resident() - (_NODES if reads_nodes else 0)


def resident() -> int:
    """The resident memory of this process in bytes."""
    return _pages()[0] * os.sysconf("SC_PAGE_SIZE")


def unreclaimable() -> int:
    """The resident memory without pages of files, in bytes: what the kernel cannot reclaim when the limit is near."""
    all_pages, of_files = _pages()
    return (all_pages - of_files) * os.sysconf("SC_PAGE_SIZE")


def _pages() -> tuple[int, int]:
    """The resident pages, and those among them that belong to files (Linux, proc_pid_statm(5))."""
    _, resident_pages, shared, *_ = Path("/proc/self/statm").read_text().split()
    return int(resident_pages), int(shared)


_KEPT = 576
"""Descriptors for everything else: 384 clients that wait, the health port, files to reload, calls to the API server."""


def raised_open_files() -> int:
    """Raise the soft limit of this process to its hard limit, and return it. Without that, 1024 is usual."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # a sandbox may forbid it; then the limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft


def affordable_connections(allowed: int) -> int:
    """How many connections a limit allows: a quarter of a small one."""
    return max(allowed - _KEPT, allowed // 4)


_SWITCH = 0.001
"""Seconds after which a thread hands the interpreter to another thread that waits for it.

The event loop has to wait for it whenever it returns from waiting for sockets. With Python's 5 ms a small review takes
three to five times as long while a large one is processed; 1 ms costs the large review nothing measurable.
"""

_YOUNG = 10_000
"""Objects after which the garbage collector looks for cycles.

Decoding creates hundreds of thousands of objects and no cycle. With Python's 700 the collector takes two thirds of the
time in which no other thread can run.
"""

_M_MMAP_THRESHOLD = -3
_MAPPED = 128 * 1024
"""Bytes from which an allocation is a separate mapping, which returns to the system when it is freed.

glibc starts with 128 KiB and raises that to the largest freed so far, up to 32 MiB (mallopt(3)). Large bodies and texts
then come from the heap, and one small allocation behind them keeps the heap that large: a review of 28 MiB kept 80 MiB.
128 KiB is more than a read from a socket takes, and less than uvloop's buffer for each TLS connection.
"""


def prepare() -> None:
    """Prepare the interpreter and the allocator to serve. Call it once, when everything is imported.

    Large reviews are processed on a separate thread, which competes with the event loop for the interpreter.
    """
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()  # what is imported stays, so the collector can ignore it
    gc.enable()  # a command starts without it
    gc.set_threshold(_YOUNG)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # glibc has it, other C libraries do not keep large allocations
        mallopt(_M_MMAP_THRESHOLD, _MAPPED)
