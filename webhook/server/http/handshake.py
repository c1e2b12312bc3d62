"""What lies between a socket that was accepted and a connection: the first bytes of its client, and the handshake."""

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
from webhook.server.http.listener import Listener
from webhook.server.observe.log import EventLog

_HANDSHAKES = 64
"""Handshakes at once. Who comes next waits in the system's queue, and loses nothing by it."""

_SILENCE = 1.0
"""Seconds after which a client that says nothing gives way to others; an honest one speaks at once."""

_STALLED = 3.0
"""Seconds after which a handshake that its client does not go on with gives way, while no other can begin."""

_LOOK = 0.1
"""Seconds between two looks at handshakes that do not go on, while no other can begin."""

_FAREWELL_SECONDS = 2.0
"""How long the end of TLS may take: a client that has what it wanted may not care to close."""

_LAST_DATA_RECEIVED = 52
"""Where `tcpi_last_data_recv` lies in Linux's `struct tcp_info`, in milliseconds."""


class TlsHandshaker:
    """Makes connections of sockets. `context` serves the handshakes from now on; `changed` is called after each."""

    def __init__(self, listener: Listener, log: EventLog) -> None:
        self.context: ssl.SSLContext | None = None
        self.changed: Callable[[], None] = lambda: None
        self._listener = listener
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._welcomed: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.Task[None], float] = {}
        self._shaking: dict[socket.socket, asyncio.Task[None]] = {}
        self._handshakes = asyncio.Semaphore(_HANDSHAKES)
        self._looking = False

    def __len__(self) -> int:
        return len(self._welcomed)

    @property
    def full(self) -> bool:
        """Whether no other handshake can begin for now."""
        return self._handshakes.locked()

    def take(self, accepted: socket.socket) -> None:
        """Begin to make a connection of a socket."""
        accepted.setblocking(False)
        welcomed = self._loop.create_task(self._admit(accepted))
        self._welcomed.add(welcomed)
        self._silent[welcomed] = self._loop.time()
        welcomed.add_done_callback(self._gone)

    def evict(self, count: int) -> int:
        """End so many of those who should have said something by now, the oldest before the others: how many."""
        latest = self._loop.time() - _SILENCE
        silent = [one for one, since in islice(self._silent.items(), count) if since < latest]
        for one in silent:
            one.cancel()
        return len(silent)

    async def end(self) -> None:
        """End all of them."""
        for one in self._welcomed:
            one.cancel()
        if self._welcomed:
            await asyncio.wait(self._welcomed)

    async def _admit(self, accepted: socket.socket) -> None:
        """Make a connection once the client has said something; TLS and HTTP both begin with the client.

        Who is silent takes no place from those who shake hands.
        """
        me: asyncio.Task[None] = asyncio.current_task()  # type: ignore[assignment]  # there is one
        try:
            await self._hear(accepted)
            self._silent.pop(me, None)
            async with self._handshakes:
                self._shaking[accepted] = me
                self._look()
                await self._shake(accepted)
        except OSError:
            # What a client got wrong is no event of ours: it is counted, not logged.
            self._listener.closed("handshake")
            accepted.close()
        except asyncio.CancelledError:
            self._listener.closed("evicted")
            accepted.close()
            raise
        except Exception:  # an internal error, which `_gone` logs
            self._listener.closed("handshake")
            accepted.close()
            raise
        finally:
            self._shaking.pop(accepted, None)

    async def _hear(self, accepted: socket.socket) -> None:
        """Wait for a client's first bytes. Raises TimeoutError."""
        heard = asyncio.Event()
        self._loop.add_reader(accepted, heard.set)
        try:
            async with asyncio.timeout(self._listener.header_timeout):
                await heard.wait()
        finally:
            self._loop.remove_reader(accepted)

    async def _shake(self, accepted: socket.socket) -> None:
        secure: dict[str, Any] = {}
        if self.context is not None:
            secure = {
                "ssl": self.context,
                "ssl_handshake_timeout": self._listener.header_timeout,
                "ssl_shutdown_timeout": _FAREWELL_SECONDS,
            }
        begun = monotonic() - _waited(accepted)
        await self._loop.connect_accepted_socket(lambda: self._listener.connection(begun), accepted, **secure)

    def _look(self) -> None:
        """While no handshake can begin, end those whose clients have stopped."""
        if not self.full or self._looking:
            return
        self._looking = True
        self._loop.call_later(_LOOK, self._look_again)
        for accepted, task in list(self._shaking.items()):
            if _waited(accepted) > _STALLED and _has_read_all(accepted):
                task.cancel()

    def _look_again(self) -> None:
        self._looking = False
        self._look()

    def _gone(self, welcomed: asyncio.Task[None]) -> None:
        self._welcomed.discard(welcomed)
        self._silent.pop(welcomed, None)
        if not welcomed.cancelled() and (error := welcomed.exception()) is not None:
            self._log.event("error", "handshake failed", error=reason(error), stack=stack(error))
        self.changed()


def _waited(accepted: socket.socket) -> float:
    """How many seconds ago a client sent its last bytes: at the door, how long it has waited there."""
    told = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_RECEIVED + 4)
    (milliseconds,) = struct.unpack_from("=I", told, _LAST_DATA_RECEIVED)
    return float(milliseconds) / 1000


def _has_read_all(accepted: socket.socket) -> bool:
    """Whether all that a client has sent has been read: then the silence is the client's, and not ours."""
    try:
        accepted.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
