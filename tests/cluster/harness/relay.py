"""A relay between the API server and a webhook: it passes bytes on, and notes who used and who closed a connection."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from socket import SHUT_RDWR, SHUT_WR, socket
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.place import Place

Side = Literal["caller", "webhook"]


class Relayed:
    """One connection: bytes that the caller has sent, when the webhook answered last, who closed first, and when."""

    def __init__(self, caller: socket, webhook: socket) -> None:
        self.sent = 0
        self.answered = self.closed_at = 0.0
        self.closed_by: Side | None = None
        self.closed = Event()
        self._lock = Lock()
        self._sockets = (caller, webhook)
        self._threads = [
            Thread(target=self._pass_on, args=(caller, webhook, "caller")),
            Thread(target=self._pass_on, args=(webhook, caller, "webhook")),
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Close both sides, if they are open, and wait for the end."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()

    def _pass_on(self, source: socket, target: socket, side: Side) -> None:
        with suppress(OSError):  # a reset counts as closed
            while data := source.recv(2**16):
                self._note(side, len(data))
                target.sendall(data)
        self._note_end(side)
        with suppress(OSError):
            target.shutdown(SHUT_WR)

    def _note(self, side: Side, count: int) -> None:
        with self._lock:
            if side == "caller":
                self.sent += count
            elif not self.closed.is_set():
                self.answered = monotonic()

    def _note_end(self, side: Side) -> None:
        with self._lock:
            if not self.closed.is_set():
                self.closed_by, self.closed_at = side, monotonic()
                self.closed.set()


class Relay:
    """A relay that runs: `connections` has all that were made, in order."""

    def __init__(self, place: Place, port: int) -> None:
        self._place, self._target = place, port
        self._listening = place.listen()
        self.port = int(self._listening.getsockname()[1])
        self.connections: list[Relayed] = []
        self._accepting = Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listening.accept()
            except OSError:
                return  # it listens no more
            try:
                webhook = self._place.connect(self._place.address, self._target, 5)
            except OSError:
                caller.close()  # the webhook is not there yet
                continue
            webhook.settimeout(None)
            self.connections.append(Relayed(caller, webhook))

    def close(self) -> None:
        """End it with all its connections."""
        self._listening.shutdown(SHUT_RDWR)
        self._accepting.join()
        self._listening.close()
        for one in self.connections:
            one.end()


@contextmanager
def relay(place: Place, port: int) -> Iterator[Relay]:
    """Pass on to a port of the place's address."""
    running = Relay(place, port)
    try:
        yield running
    finally:
        running.close()
