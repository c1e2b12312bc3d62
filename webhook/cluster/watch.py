"""Watches of the API server that never end: they reconnect, resume where they were, and start over after an error.

A watch moves from position to position: the known objects, and the resource version that they had. When the server ends
a watch, as it does every few minutes, the next one resumes at the last position. After an error, of which 410 Gone is
the usual one, the watch starts over with what the server has now
(https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from random import Random, SystemRandom
from typing import Final, Generic, TypeVar

from msgspec import Struct, ValidationError, convert

from webhook.cluster.api_server import ApiServer, Object
from webhook.policy.printable import printable
from webhook.runtime.failure_log import FailureLog, LogEvent
from webhook.runtime.retry import Backoff, is_stable, monotonic

T = TypeVar("T")

_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})

_UNKNOWN_TYPES: Final = 8
"""Unknown event types that are logged."""


class _ListError(Exception):
    """The collection cannot be listed now. The message says why."""


class _WatchError(Exception):
    """The watch cannot continue from its position. The message says why."""


class _Version(Struct, rename="camel"):
    resource_version: str


class _Versioned(Struct):
    metadata: _Version


class _Name(Struct):
    name: str


class _Named(Struct):
    metadata: _Name


class _List(_Versioned):
    items: list[Object] | None = None


@dataclass(frozen=True, slots=True)
class _Position(Generic[T]):
    """The objects by name, and the resource version to resume at; None starts with what the server has now."""

    objects: Mapping[str, T]
    version: str | None


@dataclass(frozen=True, slots=True)
class WatchLog:
    """What a watch logs: failures to list and to watch, and event types that it does not know."""

    event: LogEvent
    listing: FailureLog
    watching: FailureLog
    unknown_types: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, event: LogEvent, subject: str, level: str = "warning") -> WatchLog:
        """The log of a watch of `subject`, which is plural. `level` is that of failures."""
        listing = FailureLog(event, f"{subject} cannot be read", f"{subject} read again", level)
        return cls(event, listing, FailureLog(event, f"{subject} cannot be watched", f"{subject} watched again", level))

    def unknown(self, path: str, kind: str) -> None:
        """Log an event type the first time that it is seen."""
        if kind not in self.unknown_types and len(self.unknown_types) < _UNKNOWN_TYPES:
            self.unknown_types.add(kind)
            self.event("warning", "unknown watch event skipped", path=path, type=printable(kind))


@dataclass(frozen=True, slots=True)
class _Watch(Generic[T]):
    """One watch that is kept up. `start` gives its first position, and the one after an error."""

    api: ApiServer
    path: str
    query: Mapping[str, str]
    start: Callable[[], Awaitable[_Position[T]]]
    parse: Callable[[str, Object], T]
    log: WatchLog
    chance: Random

    async def positions(self) -> AsyncGenerator[_Position[T], None]:
        """Yield each position. Never ends: failures are logged, and the waits between retries grow to a minute."""
        backoff = Backoff(1.0, self.chance)
        position: _Position[T] | None = None
        while True:
            began = monotonic()
            try:
                if position is None:
                    position = await self.start()
                    self.log.listing.recover()
                    yield position
                async with aclosing(self._resumed(position)) as positions:
                    async for position in positions:
                        yield position
                        if is_stable(began):
                            self.log.watching.recover()
            except _ListError as error:
                self.log.listing.report(error)
            except _WatchError as error:
                position = None
                if not is_stable(began):
                    self.log.watching.report(error)
            await backoff.wait_after(began)

    async def _resumed(self, position: _Position[T]) -> AsyncGenerator[_Position[T], None]:
        """Yield the positions until the server ends the watch, and the last one again then. Raises _WatchError."""
        query = {**self.query, "allowWatchBookmarks": "true"}
        if position.version is not None:
            query["resourceVersion"] = position.version
        try:
            async with aclosing(self.api.events(self.path, query)) as events:
                async for event in events:
                    if event["type"] == "ERROR":
                        # Usually 410: the server no longer has this version.
                        raise _WatchError(f"watch of {self.path}: {printable(event['object'].get('message', ''))}")
                    if event["type"] not in _TYPES:
                        self.log.unknown(self.path, event["type"])
                        continue
                    position = self._after(position, event)
                    yield position
        except OSError as error:
            raise _WatchError(str(error)) from None
        except ValidationError as error:
            raise _WatchError(f"watch of {self.path}: not an event of the API server: {error}") from None
        yield position

    def _after(self, position: _Position[T], event: Object) -> _Position[T]:
        """The position after an event; a bookmark leaves the objects as they are."""
        found = event["object"]
        version = convert(found, _Versioned).metadata.resource_version
        if event["type"] == "BOOKMARK":
            return _Position(position.objects, version)
        name = convert(found, _Named).metadata.name
        others = {known: value for known, value in position.objects.items() if known != name}
        return _Position(others if event["type"] == "DELETED" else {**others, name: self.parse(name, found)}, version)


async def follow(
    api: ApiServer, path: str, parse: Callable[[str, Object], T], log: WatchLog
) -> AsyncGenerator[Mapping[str, T], None]:
    """Yield the objects of a collection by name: at first, after each change, and whenever the server confirms them.

    Needs the rights to list and to watch. `parse` makes a value of an object and its name; a ValidationError that it
    raises counts as a wrong answer of the server.
    """
    watch = _Watch(api, path, {}, partial(_list, api, path, parse), parse, log, SystemRandom())
    async with aclosing(watch.positions()) as positions:
        async for position in positions:
            yield position.objects


async def changes(api: ApiServer, path: str, name: str, log: WatchLog, chance: Random) -> AsyncGenerator[None, None]:
    """Yield whenever the object with this name may have changed, and at first if it exists.

    Needs no right to list: a watch without a resource version begins with what is there. Keeps no object.
    """
    seen = _NOTHING
    query = {"fieldSelector": f"metadata.name={name}"}
    async with aclosing(_Watch(api, path, query, _unlisted, _forget, log, chance).positions()) as positions:
        async for position in positions:
            if position.objects is not seen:
                seen = position.objects
                yield


async def _list(api: ApiServer, path: str, parse: Callable[[str, Object], T]) -> _Position[T]:
    try:
        status, found = await api.request("GET", path)
    except OSError as error:
        raise _ListError(str(error)) from None
    if status != 200:
        raise _ListError(f"list of {path}: {status} {printable(found.get('message', ''))}".rstrip())
    try:
        listed = convert(found, _List)
        named = [(convert(item, _Named).metadata.name, item) for item in listed.items or ()]
        return _Position({name: parse(name, item) for name, item in named}, listed.metadata.resource_version)
    except ValidationError as error:
        raise _ListError(f"list of {path}: not a list of the API server: {error}") from None


_NOTHING: Mapping[str, None] = {}


async def _unlisted() -> _Position[None]:
    """The position of a watch that begins with what the server has now."""
    return _Position(_NOTHING, None)


def _forget(_name: str, _found: Object) -> None:
    """Parse nothing, so that the watch keeps no Secret in memory."""
