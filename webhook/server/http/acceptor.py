"""A listening socket: accepts connections, so many at once, and gives them to a listener."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from contextlib import suppress

from webhook.server.http.handshake import TlsHandshaker
from webhook.server.http.listener import Listener
from webhook.server.observe.log import EventLog

_BURST = 16
"""Connections accepted in one turn of the loop: a handshake takes about a millisecond of it."""

_QUEUE = 1024
"""Clients that wait in the system's queue."""

_LOOK = 0.1
"""Seconds until the next try when there is no room: all connections are busy, or the system gives no other."""

_TOLD = 60.0
"""Seconds between two lines that say why nobody can be accepted."""


class Acceptor:
    """Accepts connections for a listener, which is given them when their handshake is over.

    At the limit the idle connections make room, as in nginx; while none is idle, nobody is accepted.
    """

    def __init__(self, listener: Listener, limit: int, log: EventLog) -> None:
        self.listener = listener
        self.welcome = TlsHandshaker(listener, log)
        self._limit = limit
        self._log = log
        self._socket: socket.socket | None = None
        self._accepting = False
        self._told = -math.inf
        self.port = 0
        listener.changed = self.welcome.changed = self._resume

    def open(self, host: str, port: int) -> None:
        """Listen; `port` becomes the port that it got. Raises OSError."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        both = host == "::" and socket.has_dualstack_ipv6()
        self._socket = socket.create_server((host, port), family=family, backlog=_QUEUE, dualstack_ipv6=both)
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._resume()
        self.port = self._socket.getsockname()[1]

    def use_tls(self, context: ssl.SSLContext) -> None:
        """Serve handshakes with this context from now on."""
        self.welcome.context = context

    @property
    def connections(self) -> int:
        """The connections that stand or are being made."""
        return len(self.listener.open) + len(self.welcome)

    def shut(self) -> None:
        """Accept no more, but whoever has come already."""
        if self._socket is None:
            return
        listening, self._socket = self._socket, None
        if self._accepting:
            self._loop.remove_reader(listening)
        with suppress(OSError):
            for _ in range(_QUEUE):
                self.welcome.take(listening.accept()[0])
        listening.close()

    async def close(self, seconds: float) -> None:
        """End all connections; for so long those go on that are being answered."""
        self.shut()
        await self.welcome.end()
        await self.listener.close(seconds)

    def _accept(self) -> None:
        for _ in range(_BURST):
            if self._socket is None or not self._has_room():
                return
            try:
                accepted, _address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # too many open files, as a rule
                self._tell(error)
                self._make_room()
                return
            self.welcome.take(accepted)

    def _has_room(self) -> bool:
        """Whether another connection may come. Without room nobody is accepted until one has ended."""
        if self.welcome.full:
            self._stop()
            return False
        if self.connections >= self._limit:
            self._make_room()
            return False
        return True

    def _make_room(self) -> None:
        """Have idle connections go, and accept nobody for a moment."""
        self.listener.evict(_BURST - self.welcome.evict(_BURST))
        self._stop()
        # Somebody who ends his connection opens the door at once, somebody who merely becomes idle does not.
        self._loop.call_later(_LOOK, self._resume)

    def _tell(self, error: OSError) -> None:
        """Say why nobody can be accepted, now and then."""
        now = self._loop.time()
        if now - self._told >= _TOLD:
            self._told = now
            self._log.event("error", "no connection accepted", error=error.strerror)

    def _resume(self) -> None:
        if self._socket is not None and not self._accepting and not self.welcome.full:
            self._loop.add_reader(self._socket, self._accept)
            self._accepting = True

    def _stop(self) -> None:
        if self._socket is not None and self._accepting:
            self._loop.remove_reader(self._socket)
            self._accepting = False
