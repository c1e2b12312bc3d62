"""The slots of a listener: which connection gives way to another, by the addresses of their clients.

docs/explanation/connections.md has the rules."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from enum import IntEnum, auto
from time import monotonic
from typing import Generic, Protocol, TypeVar

_UNFAIR = 0.1
"""Seconds that a connection keeps its slot, although its source has many and that of a newcomer has fewer."""

_FAIR = 1.0
"""Seconds that a connection keeps its slot otherwise: an API server may open hundreds at once."""

_MODEST = 16
"""One in this many slots are not many for a source."""

_IDLE = 1.0
"""Seconds without a request after which a proven connection gives way to another proven one.

The API server does not repeat a request that it sent into a connection which was just being closed
(kubernetes/kubernetes#139105). So a connection in steady use stays.
"""

_RESERVED = 8
"""One in this many slots is never proven, so that newcomers find slots that they can take."""


class State(IntEnum):
    """What a connection waits for."""

    IDLE = auto()
    """The first byte of a request. aiohttp closes the connection after `keepAlive`."""

    HEADER = auto()
    """The rest of a header, for `headerTimeout`."""

    BODY = auto()
    """The rest of a body. The handler refuses the request after `bodyTimeout` or half of its own timeout."""

    ANSWERING = auto()
    """The answer."""

    UNREAD = auto()
    """The client, which has to read its answers, for `headerTimeout`."""

    CLOSING = auto()
    """The client, which has to read its last answer and to close TLS in turn."""

    CLOSED = auto()
    """Nothing."""


class Client(Protocol):
    """A client at the other end of a socket or a connection, and the source that its address counts for."""

    source: str


class Connection(Client, Protocol):
    """A connection that has a slot: since when, when it was last active, and its state. `end` closes it at once."""

    began: float
    active: float
    state: State

    def end(self, reason: str) -> None: ...


Member = TypeVar("Member", bound=Client)


def source(address: str) -> str:
    """The source that an address counts for: itself, or the /64 of IPv6, which one host may have to itself."""
    if ":" not in address:
        return address
    full = ipaddress.IPv6Address(address.partition("%")[0])
    return str(full.ipv4_mapped or int(full) >> 64)


class Shares(Generic[Member]):
    """At most `limit` members by the source of their client, all of them in the order in which they were added."""

    def __init__(self, limit: int) -> None:
        self._modest = limit // _MODEST
        self._all: dict[Member, None] = {}
        self._sources = defaultdict[str, dict[Member, None]](dict)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._all)

    def __contains__(self, member: Member) -> bool:
        return member in self._all

    def add(self, member: Member) -> None:
        """Add a member, behind all others."""
        self._all[member] = self._sources[member.source][member] = None

    def discard(self, member: Member) -> bool:
        """Remove a member; returns whether it was one."""
        if member not in self._all:
            return False
        del self._all[member], self._sources[member.source][member]
        if not self._sources[member.source]:
            del self._sources[member.source]
        return True

    def renew(self, member: Member) -> bool:
        """Move a member behind all others; returns whether it was one."""
        if member not in self._all:
            return False
        own = self._sources[member.source]
        del self._all[member], own[member]
        self._all[member] = own[member] = None
        return True

    def weight(self, source: str) -> int:
        """How many members a source has; few count as none."""
        count = len(self._sources.get(source, ()))
        return count if count > self._modest else 0

    def others_have_more(self, source: str) -> bool:
        """Whether the source that has most has more than this one with a further member."""
        return max(map(self.weight, self._sources), default=0) > self.weight(source) + 1

    @property
    def heaviest(self) -> Collection[Member]:
        """The members of the source that has most, or all members if none has many; the longest first."""
        return max(
            (members for source, members in self._sources.items() if self.weight(source)), key=len, default=self._all
        )


class Slots:
    """The connections of a listener from their handshake on, at most `limit`.

    A connection is proven once it has delivered a valid review or has a verified client certificate. Only proven
    connections may replace proven ones. With `keeps` False none is proven, and each closes after its answer; it gives
    way to a newcomer at once.
    """

    def __init__(self, limit: int, *, keeps: bool) -> None:
        self.limit = limit
        self.keeps = keeps
        self._most_proven = limit - max(1, limit // _RESERVED)
        self._unfinished = Shares[Connection](limit)
        self.weight = self._unfinished.weight
        self.take = self._unfinished.add
        """Take a slot, for which `make_room` has returned True."""
        self._proven = Shares[Connection](limit)
        self.on_free: Callable[[], None] = lambda: None
        """Called whenever a connection has left its slot."""

    def __len__(self) -> int:
        return len(self._unfinished) + len(self._proven)

    def make_room(self, source: str) -> bool:
        """Whether there is a slot for a client of this source, after an eviction if need be."""
        if len(self) < self.limit:
            return True
        seconds = _UNFAIR if self._unfinished.others_have_more(source) else _FAIR
        return self._evict_unfinished(seconds if self.keeps else 0.0)

    def prove(self, connection: Connection) -> bool:
        """Note that a connection has proven itself, or has again; False if it has to close, for want of a slot."""
        if self._proven.renew(connection):
            return True
        if connection not in self._unfinished:
            return False
        if len(self._proven) >= self._most_proven and not self._evict_idle():
            return False
        self._unfinished.discard(connection)
        self._proven.add(connection)
        return True

    def leave(self, connection: Connection) -> None:
        """Free the slot of a connection, if it has one."""
        if self._unfinished.discard(connection) or self._proven.discard(connection):
            self.on_free()

    def evict(self) -> bool:
        """Evict an unfinished connection for want of files, or an idle one if all are proven; whether there was one."""
        return self._evict_unfinished(_UNFAIR) or (not self._unfinished and self._evict_idle())

    def _evict_unfinished(self, seconds: float) -> bool:
        """Evict the longest of the source that has most, if it has had its slot for this long."""
        latest = monotonic() - seconds
        for connection in self._unfinished.heaviest:
            if connection.began > latest:
                return False
            if connection.state is not State.ANSWERING:
                self._evict(connection)
                return True
        return False

    def _evict_idle(self) -> bool:
        for connection in self._proven.heaviest:
            if connection.state is State.IDLE and connection.active < monotonic() - _IDLE:
                self._evict(connection)
                return True
        return False

    def _evict(self, connection: Connection) -> None:
        """Its transport reports the end only in a later turn of the loop, when the slot has its next connection."""
        self.leave(connection)
        connection.end("evicted")
