"""The interpreter and the allocator, set for a process that is a server.

Large reviews are processed on a separate thread, which competes with the event loop for the interpreter.
"""

from __future__ import annotations

import ctypes
import gc
import sys

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
    """Prepare this process to serve. Call it once, when everything is imported."""
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()  # what is imported stays, so the collector can ignore it
    gc.set_threshold(_YOUNG)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # glibc has it, other C libraries do not keep large allocations
        mallopt(_M_MMAP_THRESHOLD, _MAPPED)
