"""TLS handshakes of accepted sockets, from the first byte of the client to a connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable
from itertools import islice
from time import monotonic
from typing import Any

from webhook.runtime.exceptions import reason, stack
from webhook.server.http.protocol import GuardedConnection
from webhook.server.http.server import HttpServer
from webhook.server.observe.log import EventLog

_HANDSHAKES = 64
"""Handshakes at once. Other connections stay in the kernel backlog."""

_SILENT = 1.0
"""Seconds without a first byte after which a client gives way to others; an honest client sends it at once."""

_STALLED = 3.0
"""Seconds without a byte after which a handshake gives way, while no other can begin."""

_SCAN_INTERVAL = 0.1
"""Seconds between two scans for stalled handshakes, while no other can begin."""

_SHUTDOWN = 2.0
"""Seconds that the end of TLS may take: a client that has its answer may not care to close."""

_LAST_DATA_RECEIVED = 52
"""The offset of `tcpi_last_data_recv`, in milliseconds, in Linux's `struct tcp_info`."""


class TlsHandshaker:
    """Makes connections from accepted sockets. `on_end` is called at the end of each handshake.

    `tls` is what new handshakes use; without it the connections are plain HTTP.
    """

    def __init__(self, http: HttpServer, log: EventLog, on_end: Callable[[], None]) -> None:
        self.tls: ssl.SSLContext | None = None
        self._http = http
        self._log = log
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._handshaking: dict[GuardedConnection, asyncio.Task[None]] = {}
        self._silent_since: dict[asyncio.Task[None], float] = {}
        self._in_handshake: dict[socket.socket, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(_HANDSHAKES)
        self._is_scanning = False
        http.on_opened = self._opened

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def is_full(self) -> bool:
        return self._slots.locked()

    def start(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        task = self._loop.create_task(self._connect(accepted))
        self._tasks.add(task)
        self._silent_since[task] = self._loop.time()
        task.add_done_callback(self._ended)

    def evict(self, count: int) -> int:
        """End at most this many clients that should have sent their first byte, the oldest first; returns how many."""
        latest = self._loop.time() - _SILENT
        silent = [task for task, since in islice(self._silent_since.items(), count) if since < latest]
        for task in silent:
            task.cancel()
        return len(silent)

    async def done(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self.done()

    async def _connect(self, accepted: socket.socket) -> None:
        """Make a connection once the client has sent a byte; in TLS and in HTTP the client is the first to send.

        A silent client takes no slot from those in their handshake.
        """
        task: asyncio.Task[None] = asyncio.current_task()  # type: ignore[assignment]  # there is one
        try:
            await self._first_bytes(accepted)
            self._silent_since.pop(task, None)
            async with self._slots:
                self._in_handshake[accepted] = task
                self._evict_stalled()
                await self._shake_hands(accepted, task)
        except BaseException as error:
            self._http.terms.count("evicted" if isinstance(error, asyncio.CancelledError) else "handshake")
            accepted.close()
            if not isinstance(error, OSError):  # a client's mistake is counted; `_ended` logs an internal error
                raise
        finally:
            self._in_handshake.pop(accepted, None)

    async def _first_bytes(self, accepted: socket.socket) -> None:
        """Wait for a client's first bytes. Raises TimeoutError."""
        readable = asyncio.Event()
        self._loop.add_reader(accepted, readable.set)
        try:
            async with asyncio.timeout(self._http.terms.header_timeout):
                await readable.wait()
        finally:
            self._loop.remove_reader(accepted)

    async def _shake_hands(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        tls: dict[str, Any] = {}
        if self.tls is not None:
            tls = {
                "ssl": self.tls,
                "ssl_handshake_timeout": self._http.terms.header_timeout,
                "ssl_shutdown_timeout": _SHUTDOWN,
            }
        connection = self._http.connection(monotonic() - _silence(accepted))
        self._handshaking[connection] = task
        try:
            await self._loop.connect_accepted_socket(lambda: connection, accepted, **tls)
        finally:
            self._handshaking.pop(connection, None)

    def _opened(self, connection: GuardedConnection) -> None:
        """Forget a handshake as soon as its connection is open, so that none counts twice against the limit."""
        if (task := self._handshaking.pop(connection, None)) is not None:
            self._tasks.discard(task)

    def _evict_stalled(self) -> None:
        """While no other handshake can begin, end those whose clients have stopped."""
        if not self.is_full or self._is_scanning:
            return
        self._is_scanning = True
        self._loop.call_later(_SCAN_INTERVAL, self._scan_again)
        for accepted, task in list(self._in_handshake.items()):
            if _silence(accepted) > _STALLED and _is_read(accepted):
                task.cancel()

    def _scan_again(self) -> None:
        self._is_scanning = False
        self._evict_stalled()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._silent_since.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.event("error", "handshake failed", error=reason(error), stack=stack(error))
        self._on_end()


def _silence(accepted: socket.socket) -> float:
    """Seconds since the client sent its last bytes: before the handshake, how long it has waited in the backlog."""
    info = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_RECEIVED + 4)
    (milliseconds,) = struct.unpack_from("=I", info, _LAST_DATA_RECEIVED)
    return float(milliseconds) / 1000


def _is_read(accepted: socket.socket) -> bool:
    """Whether all that a client has sent has been read: then it is the client that is silent, not the server."""
    try:
        accepted.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
