"""A listening socket: accepts connections, so many at once, and gives them to a listener."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import Any

from webhook.server.journal import Journal
from webhook.server.listener import Listener

_BURST = 16
"""Connections accepted in one turn of the loop: a handshake takes more than a millisecond of it."""

_HANDSHAKES = 64
"""Handshakes at once. Who comes next waits in the system's queue, and loses nothing by it."""

_FAREWELL_SECONDS = 2.0
"""How long the end of TLS may take: a client that has what it wanted may not care to close."""

_LAST_DATA_RECEIVED = 52
"""Where `tcpi_last_data_recv` lies in Linux's `struct tcp_info`, in milliseconds."""

_LOOK = 0.1
"""Seconds until the next look for idle connections when all are busy."""

_PAUSE = 1.0
"""Seconds until the next try when the system has no room for a connection (`too many open files`)."""


_SILENCE = 1.0
"""Seconds after which a client that has said nothing yet gives way to others; an honest one speaks at once."""


class Door:
    """Accepts connections for a listener.

    `context` serves the handshakes from now on and can be exchanged at any time: connections that stand keep theirs.
    At the limit the idle connections make room, as in nginx; while none is idle, nobody is accepted.
    """

    def __init__(self, listener: Listener, limit: int, journal: Journal, context: ssl.SSLContext | None = None) -> None:
        self.context = context
        self.listener = listener
        self._limit = limit
        self._journal = journal
        self._welcomed: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.Task[None], float] = {}
        self._handshakes = asyncio.Semaphore(_HANDSHAKES)
        self._socket: socket.socket | None = None
        self._accepting = False
        self.port = 0
        listener.changed = self._resume

    def open(self, host: str, port: int) -> None:
        """Listen; `port` becomes the port that it got. Raises OSError."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        both = host == "::" and socket.has_dualstack_ipv6()
        self._socket = socket.create_server((host, port), family=family, backlog=1024, dualstack_ipv6=both)
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._resume()
        self.port = self._socket.getsockname()[1]

    @property
    def connections(self) -> int:
        """The connections that stand or are being made."""
        return len(self.listener.open) + len(self._welcomed)

    async def shut(self) -> None:
        """Accept no more, but whoever has come already."""
        if self._socket is None:
            return
        listening, self._socket = self._socket, None
        if self._accepting:
            self._loop.remove_reader(listening)
        with suppress(OSError):
            for _ in range(_HANDSHAKES):
                self._welcome(listening.accept()[0])
        listening.close()
        if self._welcomed:
            await asyncio.wait(self._welcomed, timeout=1)

    async def close(self) -> None:
        """End all connections."""
        await self.shut()
        for handshake in self._welcomed:
            handshake.cancel()
        await self.listener.shutdown(timeout=1)

    def _accept(self) -> None:
        for _ in range(_BURST):
            if self._socket is None or not self._has_room():
                return
            try:
                accepted, _address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._journal.say("error", "no connection accepted", error=error.strerror)
                self._stop()
                self._loop.call_later(_PAUSE, self._resume)
                return
            self._welcome(accepted)

    def _has_room(self) -> bool:
        """Whether another connection may come. Without room nobody is accepted until one has ended."""
        if self._handshakes.locked():
            self._stop()
            return False
        if self.connections >= self._limit:
            self._evict()
            self._stop()
            # Somebody who ends his connection opens the door at once, somebody who merely becomes idle does not.
            self._loop.call_later(_LOOK, self._resume)
            return False
        return True

    def _evict(self) -> None:
        """Make room: first those go who should have said something by now, the oldest before the others."""
        latest = self._loop.time() - _SILENCE
        silent = [one for one, since in islice(self._silent.items(), _BURST) if since < latest]
        for one in silent:
            one.cancel()
        self.listener.evict(_BURST - len(silent))

    def _welcome(self, accepted: socket.socket) -> None:
        welcomed = self._loop.create_task(self._admit(accepted))
        self._welcomed.add(welcomed)
        self._silent[welcomed] = self._loop.time()
        welcomed.add_done_callback(self._gone)

    async def _admit(self, accepted: socket.socket) -> None:
        """Make a connection of a socket, once its client has said something; TLS and HTTP both begin with the client.

        Who is silent takes no place from those who shake hands, and who stops in the middle keeps it only for a moment
        while many are at it.
        """
        accepted.setblocking(False)
        try:
            await self._hear(accepted)
            async with self._handshakes:
                await self._shake(accepted)
        except OSError:
            # What a client got wrong is no event of ours: it is counted, not logged.
            self.listener.closed("handshake")
            accepted.close()
        except asyncio.CancelledError:
            self.listener.closed("evicted")
            accepted.close()
            raise

    async def _hear(self, accepted: socket.socket) -> None:
        """Wait for a client's first bytes. Raises TimeoutError."""
        heard = asyncio.Event()
        self._loop.add_reader(accepted, heard.set)
        try:
            async with asyncio.timeout(self.listener.header_timeout):
                await heard.wait()
        finally:
            self._loop.remove_reader(accepted)
            self._silent.pop(asyncio.current_task(), None)  # type: ignore[arg-type]  # there is one

    async def _shake(self, accepted: socket.socket) -> None:
        secure: dict[str, Any] = {}
        if self.context is not None:
            secure = {
                "ssl": self.context,
                "ssl_handshake_timeout": self.listener.header_timeout,
                "ssl_shutdown_timeout": _FAREWELL_SECONDS,
            }
            if len(self._welcomed) - len(self._silent) > _HANDSHAKES // 2:
                secure["ssl_handshake_timeout"] = min(_SILENCE * 2, self.listener.header_timeout)
        begun = monotonic() - _waited(accepted)
        await self._loop.connect_accepted_socket(lambda: self.listener.connection(begun), accepted, **secure)

    def _gone(self, welcomed: asyncio.Task[None]) -> None:
        self._welcomed.discard(welcomed)
        self._silent.pop(welcomed, None)
        if not welcomed.cancelled() and (error := welcomed.exception()) is not None:
            self._journal.say("error", "handshake failed", error=type(error).__name__)
        self._resume()

    def _resume(self) -> None:
        if self._socket is not None and not self._accepting and not self._handshakes.locked():
            self._loop.add_reader(self._socket, self._accept)
            self._accepting = True

    def _stop(self) -> None:
        if self._socket is not None and self._accepting:
            self._loop.remove_reader(self._socket)
            self._accepting = False


def _waited(accepted: socket.socket) -> float:
    """How many seconds a caller has waited at the door: since its first bytes came, as the system knows."""
    told = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_RECEIVED + 4)
    (milliseconds,) = struct.unpack_from("=I", told, _LAST_DATA_RECEIVED)
    return float(milliseconds) / 1000
