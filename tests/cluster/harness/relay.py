"""A relay between the API server and a webhook that forwards bytes and records their sender and time."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from socket import SHUT_RDWR, SHUT_WR, socket
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.place import Place

Side = Literal["caller", "webhook"]


@dataclass(frozen=True, slots=True)
class Passed:
    """A number of bytes from one side, 0 for its end, and the time in `monotonic` seconds."""

    side: Side
    count: int
    at: float


class Relayed:
    """One connection: everything that passed, in order. `closed` is set when either side has ended."""

    def __init__(self, caller: socket, webhook: socket) -> None:
        self.passed: list[Passed] = []
        self.closed = Event()
        self._sockets = (caller, webhook)
        self._threads = [
            Thread(target=self._pass_on, args=(caller, webhook, "caller")),
            Thread(target=self._pass_on, args=(webhook, caller, "webhook")),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def sent(self) -> int:
        """The bytes that the caller has sent."""
        return sum(one.count for one in self.passed if one.side == "caller")

    def first_since(self, at: float) -> Passed:
        """What passed first after a time. TLS sends `close_notify` before the end, so this shows which side closed."""
        return next(one for one in self.passed if one.at > at)

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
        with suppress(OSError):  # a reset counts as an end
            while data := source.recv(2**16):
                # Noted before it is passed on, and so before what it brings about.
                self.passed.append(Passed(side, len(data), monotonic()))
                target.sendall(data)
        self.passed.append(Passed(side, 0, monotonic()))
        self.closed.set()
        with suppress(OSError):
            target.shutdown(SHUT_WR)


class Relay:
    """A running relay: `connections` has every connection, in order."""

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
                return  # it no longer listens
            try:
                webhook = self._place.connect(self._place.address, self._target, 5)
            except OSError:
                caller.close()  # the webhook does not listen yet
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
