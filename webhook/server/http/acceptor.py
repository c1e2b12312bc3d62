"""A listening socket, and its clients until their TLS handshake is over.

docs/explanation/connections.md says which client gives way at a limit.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from webhook.runtime import exceptions
from webhook.server.http.server import GuardedConnection, HttpServer
from webhook.server.http.slots import Shares, source

_ACCEPTED = 32
"""Connections accepted in one turn of the loop, which takes two milliseconds."""

_BACKLOG = 1024
"""Clients that wait in the kernel's backlog."""

_RECEIVED = 32 * 1024
"""Bytes of a connection's receive buffer, which the kernel doubles.

TLS keeps memory for the largest read of a connection until it ends, and the kernel would let the buffer grow to
megabytes, which count against the container's limit. With 32 KiB a round trip of 2 ms, 28 MiB arrive in 1.8 s.
"""

_FREED = 16
"""Connections that are evicted at a time when the system has no more files."""

_NO_FILES = 0.1
"""Seconds until the next attempt when the system has no more files."""

_LOG_INTERVAL = 60.0
"""Seconds between two log lines about a system that has no more files."""

_WAITING = 256
"""Sockets that wait for a slot: an API server has 200 changes in flight at once by default, each with a call."""

_BEGUN = 4
"""Handshakes that begin in one turn of the loop: each takes a millisecond, and a review needs a few turns."""

_NO_SLOT = 0.05
"""Seconds until the next attempt to find a slot."""

_INCOMPLETE = 0.5
"""Seconds until the next look at a client that has closed within its ClientHello."""

_RECORD = 5
"""Bytes of the header of a TLS record: its type, its version, and the length of its content (RFC 8446, 5.1)."""

_HANDSHAKE = 22
"""The type of the record with a ClientHello."""

_LONGEST = _RECORD + 2**14
"""Bytes of a record without encryption. They fit into a socket's receive buffer."""

_SHUTDOWN = 2.0
"""Seconds that the end of TLS may take: a client that has its answer may not care to close."""

_LAST_DATA_RECEIVED = 52
"""The offset of `tcpi_last_data_recv`, in milliseconds, in Linux's `struct tcp_info`."""


@dataclass(eq=False, slots=True)
class Arrival:
    """An accepted socket without a slot, the source of its client, and the timer that ends it."""

    socket: socket.socket
    source: str
    timer: asyncio.TimerHandle = field(init=False)


class Acceptor:
    """Accepts connections for an HTTP server, which gets them after their TLS handshake.

    It accepts all clients, since it learns only then from where they come. Without
    a TLS context the connections are plain HTTP.
    """

    def __init__(self, http: HttpServer) -> None:
        self.http = http
        self.port = 0
        """The port, once the acceptor has listened; it stays when the acceptor stops."""
        self._tls: ssl.SSLContext | None = None
        self._logged = -math.inf
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._limit = min(_WAITING, http.slots.limit)
        self._waiting = Shares[Arrival](self._limit)
        self._ready: dict[Arrival, None] = {}
        self._handshakes: set[asyncio.Task[None]] = set()
        self._next: asyncio.Handle | None = None
        http.slots.on_free = self._begin_soon

    def use_tls(self, context: ssl.SSLContext) -> None:
        self._tls = context

    @property
    def connections(self) -> int:
        """The connections that are open, in their handshake, or wait for it."""
        return len(self.http.slots) + len(self._waiting)

    def listen(self, host: str, port: int) -> None:
        """Accept connections; 0 takes any free port. Raises OSError."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        both = host == "::" and socket.has_dualstack_ipv6()
        self._socket = socket.create_server((host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)  # accepted sockets inherit it
        self.port = self._socket.getsockname()[1]
        self._loop.add_reader(self._socket, self._accept)

    def stop(self) -> None:
        """Accept the clients that wait in the backlog, and no others."""
        if self._socket is None:
            return
        listening, self._socket = self._socket, None
        self._loop.remove_reader(listening)
        with suppress(OSError):
            for _ in range(_BACKLOG):
                self._wait_for_hello(*listening.accept())
        listening.close()

    async def handshakes_done(self) -> None:
        """Wait until no client waits for a slot or is in its handshake."""
        await self.http.until(lambda: not self._waiting and not self._handshakes)

    async def close(self, seconds: float) -> None:
        """Close all connections. Clients have this long to be answered."""
        self.stop()
        for arrival in list(self._waiting):
            self._drop(arrival, "evicted")
        for task in self._handshakes:
            task.cancel()
        await self.handshakes_done()
        await self.http.close(seconds)

    # Clients of the backlog.

    def _accept(self) -> None:
        for _ in range(_ACCEPTED):
            if self._socket is None:
                return
            try:
                accepted, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # usually too many open files
                if (now := self._loop.time()) - self._logged >= _LOG_INTERVAL:
                    self._logged = now
                    self.http.log.event("error", "no connection accepted", error=error.strerror)
                self._loop.remove_reader(self._socket)
                self._loop.call_soon(self._make_room)  # once the bytes that have arrived are read
                return
            self._wait_for_hello(accepted, address)

    def _make_room(self) -> None:
        """Free files: accept() fails without them even if no client waits, and other sockets need some, too."""
        for _ in range(_FREED):
            if not self.http.slots.evict():
                break
        self._loop.call_later(_NO_FILES, self._resume)

    def _resume(self) -> None:
        if self._socket is not None:
            self._loop.add_reader(self._socket, self._accept)

    # Clients without a slot.

    def _wait_for_hello(self, accepted: socket.socket, address: tuple[str, ...]) -> None:
        """Wait for the ClientHello, or for the first byte of plain HTTP, which stay in the socket's buffer.

        Until then the client takes no slot, and no memory for TLS.
        """
        if len(self._waiting) >= self._limit:
            longest = self._waiting.heaviest
            self._drop(next((one for one in longest if one not in self._ready), next(iter(longest))), "evicted")
        accepted.setblocking(False)
        arrival = Arrival(accepted, source(address[0]))
        arrival.timer = self._loop.call_later(self.http.header_timeout, self._drop, arrival, "handshake")
        self._waiting.add(arrival)
        self._await(arrival, 1 if self._tls is None else _RECORD)

    def _await(self, arrival: Arrival, count: int) -> None:
        """Wait until this many bytes have arrived. The kernel counts them, so that a trickle wakes nothing."""
        if arrival in self._waiting:
            arrival.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._loop.add_reader(arrival.socket, self._arrived, arrival, count)

    def _arrived(self, arrival: Arrival, count: int) -> None:
        try:
            data = arrival.socket.recv(_LONGEST, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        wanted = count
        if self._tls is not None and len(data) >= _RECORD and data[0] == _HANDSHAKE:
            wanted = min(_LONGEST, _RECORD + int.from_bytes(data[3:_RECORD]))
        if not data:
            self._drop(arrival, "handshake")
        elif len(data) >= wanted or data[0] != _HANDSHAKE:  # what is no TLS fails in its handshake
            self._loop.remove_reader(arrival.socket)
            arrival.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
            self._ready[arrival] = None
            self._begin_soon()
        elif wanted > count:
            self._await(arrival, wanted)
        else:  # the client has closed, or the kernel is short of memory
            self._loop.remove_reader(arrival.socket)
            self._loop.call_later(_INCOMPLETE, self._await, arrival, count)

    def _drop(self, arrival: Arrival, why: str) -> None:
        self.http.ended.labels(why).inc()
        self._forget(arrival)
        arrival.socket.close()
        self.http.changed.set()

    def _forget(self, arrival: Arrival) -> None:
        self._loop.remove_reader(arrival.socket)
        arrival.timer.cancel()
        self._waiting.discard(arrival)
        self._ready.pop(arrival, None)

    # Handshakes.

    def _begin_soon(self, seconds: float = 0.0) -> None:
        """Plan a call of `_begin`, in place of the one that is planned: an eviction plans another."""
        if self._next is not None:
            self._next.cancel()
        self._next = self._loop.call_later(seconds, self._begin)

    def _begin(self) -> None:
        """Give slots to the clients whose sources have fewest, unless all have few, and among these to the newest."""
        slots = self.http.slots
        for _ in range(min(_BEGUN, len(self._ready))):
            arrival = min(reversed(self._ready), key=lambda waiting: slots.weight(waiting.source))
            if not slots.make_room(arrival.source):
                self._begin_soon(_NO_SLOT)
                return
            self._forget(arrival)
            # Before the handshake, the time since its last bytes is how long a client has waited in the backlog.
            info = arrival.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_RECEIVED + 4)
            waited = int.from_bytes(info[_LAST_DATA_RECEIVED:], sys.byteorder) / 1000
            connection = GuardedConnection(self.http, arrival.source, monotonic() - waited)
            slots.take(connection)
            task = self._loop.create_task(self._shake_hands(connection, arrival.socket))
            connection.abandon = task.cancel
            self._handshakes.add(task)
            task.add_done_callback(partial(self._finished, connection, arrival.socket))
        if self._ready:
            self._begin_soon()

    async def _shake_hands(self, connection: GuardedConnection, accepted: socket.socket) -> None:
        tls: dict[str, Any] = {}
        if self._tls is not None:
            seconds = self.http.header_timeout
            tls = {"ssl": self._tls, "ssl_handshake_timeout": seconds, "ssl_shutdown_timeout": _SHUTDOWN}
        await self._loop.connect_accepted_socket(lambda: connection, accepted, **tls)

    def _finished(self, connection: GuardedConnection, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        connection.abandon = None  # the task keeps its error, and the error's frames keep the connection
        self._handshakes.discard(task)
        self.http.changed.set()
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self.http.slots.leave(connection)
            accepted.close()
        if isinstance(error, OSError):  # the client's
            self.http.ended.labels("handshake").inc()
        elif isinstance(error, Exception):
            self.http.log.event("error", "handshake failed", **exceptions.fields(error))
