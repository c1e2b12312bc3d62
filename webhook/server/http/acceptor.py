"""A listening socket: accepts a bounded number of connections and passes them to the TLS handshaker."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from webhook.server.http.handshake import TlsHandshaker
from webhook.server.http.server import HttpServer
from webhook.server.observe.log import EventLog

_BURST = 16
"""Connections accepted in one turn of the loop: a handshake takes about a millisecond of it."""

_BACKLOG = 1024
"""Clients that wait in the kernel's backlog."""

_RECEIVED = 32 * 1024
"""Bytes of a connection's receive buffer, which the kernel doubles.

TLS keeps memory for the largest read of a connection until it ends, and the kernel would let the buffer grow to
megabytes, which count against the container's limit. With 32 KiB a round trip of 2 ms, 28 MiB arrive in 1.8 s.
"""

_RETRY = 0.1
"""Seconds until the next attempt when all connections are taken, or when the system has no more files."""

_LOG_INTERVAL = 60.0
"""Seconds between two log lines about a system that has no more files."""


class Acceptor:
    """Accepts connections for an HTTP server, which gets them after their TLS handshake.

    At the limit it evicts connections, as nginx does. While there is none to evict, clients wait in the backlog.
    """

    def __init__(self, http: HttpServer, limit: int, log: EventLog) -> None:
        self.http = http
        self.port = 0
        """The port, once the acceptor has listened; it stays when the acceptor stops."""
        self._handshaker = TlsHandshaker(http, log, self._resume)
        self._limit = limit
        self._log = log
        self._socket: socket.socket | None = None
        self._is_accepting = False
        self._logged = -math.inf
        http.on_closed = self._resume

    def listen(self, host: str, port: int) -> None:
        """Accept connections; 0 takes any free port. Raises OSError."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        both = host == "::" and socket.has_dualstack_ipv6()
        self._loop = asyncio.get_running_loop()
        self._socket = socket.create_server((host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)  # accepted sockets inherit it
        self.port = self._socket.getsockname()[1]
        self._resume()

    def use_tls(self, context: ssl.SSLContext) -> None:
        self._handshaker.tls = context

    @property
    def connections(self) -> int:
        """The connections that are open or in their handshake."""
        return len(self.http) + len(self._handshaker)

    def stop(self) -> None:
        """Accept the clients that wait in the backlog, and no others."""
        if self._socket is None:
            return
        self._pause()
        listening, self._socket = self._socket, None
        with suppress(OSError):
            for _ in range(_BACKLOG):
                self._handshaker.start(listening.accept()[0])
        listening.close()

    async def handshakes_done(self) -> None:
        await self._handshaker.done()

    async def close(self, seconds: float) -> None:
        """Close all connections. Clients have this long to be answered."""
        self.stop()
        await self._handshaker.cancel()
        await self.http.close(seconds)

    @property
    def _is_at_limit(self) -> bool:
        return self.connections >= self._limit

    def _accept(self) -> None:
        """Accept the clients that wait; at least one does. Without room for it, pause until a connection has ended."""
        if self._handshaker.is_full:
            self._pause()
        elif self._is_at_limit:
            self._make_room(self._evict_at_limit)
        else:
            self._accept_burst()

    def _accept_burst(self) -> None:
        for _ in range(_BURST):
            if self._socket is None or self._is_at_limit:
                return
            try:
                accepted, _address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # usually too many open files
                self._log_failure(error)
                self._make_room(self._evict)
                return
            self._handshaker.start(accepted)

    def _make_room(self, evict: Callable[[], None]) -> None:
        """Pause, and evict connections once the bytes that have arrived are read."""
        self._pause()
        self._loop.call_soon(evict)
        # A connection that ends resumes accepting at once; one that becomes idle does not.
        self._loop.call_later(_RETRY, self._retry)

    def _retry(self) -> None:
        self._resume()
        if self._is_accepting:
            # Without files accept() fails even if no client waits: evict until there are some for other sockets, too.
            self._accept_burst()

    def _evict_at_limit(self) -> None:
        """Evict, unless connections have ended in the meantime."""
        if self._is_at_limit:
            self._evict()

    def _evict(self) -> None:
        self.http.evict(_BURST - self._handshaker.evict(_BURST))

    def _log_failure(self, error: OSError) -> None:
        now = self._loop.time()
        if now - self._logged >= _LOG_INTERVAL:
            self._logged = now
            self._log.event("error", "no connection accepted", error=error.strerror)

    def _resume(self) -> None:
        if self._socket is not None and not self._is_accepting and not self._handshaker.is_full:
            self._loop.add_reader(self._socket, self._accept)
            self._is_accepting = True

    def _pause(self) -> None:
        if self._socket is not None and self._is_accepting:
            self._loop.remove_reader(self._socket)
            self._is_accepting = False
