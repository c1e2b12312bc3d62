"""Watches of the API server that never end: they reconnect, resume where they were, and start over after an error.

A watch begins with a list, and resumes at the resource version of the last event when the server ends it, as the server
does every few minutes. After an error, of which 410 Gone is the usual one, the watch starts over with what the server
has now (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).

A watch keeps no objects. It yields what it observes, so that an event costs the same however many objects there are.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from random import Random, SystemRandom
from typing import Annotated, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from webhook.cluster.api_server import ApiServer, Metadata, StatusError, WatchEvent
from webhook.policy.messages import printable
from webhook.runtime.failure_log import FailureLog, LogEvent
from webhook.runtime.retry import Backoff, is_stable, monotonic

T = TypeVar("T")

UNDECODABLE: Final = (msgspec.DecodeError, RecursionError, ValueError)
"""What decoding raises for an object that is not of its kind."""

_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})

_UNKNOWN_TYPES: Final = 8
"""Unknown event types that are logged."""


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """All objects that the server has now, by name."""

    objects: Mapping[str, T]


@dataclass(frozen=True, slots=True)
class Changed(Generic[T]):
    """One object was added or changed. None: it was deleted, or its new state is not kept."""

    name: str
    value: T | None


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The server has confirmed that nothing else has changed."""


Observation: TypeAlias = Listed[T] | Changed[T] | Confirmed


class ReadError(Exception):
    """The objects cannot be read now. The message says why."""


class _WatchError(Exception):
    """The watch cannot continue from where it was. The message says why."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Where to watch: a path and a query, and the resource version to resume at.

    Without a version, the watch begins with what the server has now.
    """

    path: str
    query: Mapping[str, str]
    version: str | None


@dataclass(frozen=True, slots=True)
class Start(Generic[T]):
    """The objects that the server has, and where to watch for changes; None: there is nothing to watch."""

    objects: Mapping[str, T]
    bookmark: Bookmark | None


class Reader(Protocol[T]):
    """Reads objects: the first time and after each error with `start`, then with the events of a watch."""

    async def start(self) -> Start[T]:
        """Read the objects. Raises ReadError."""

    def parse(self, found: Raw) -> tuple[str, T | None]:
        """Return the name and the value of an object; None if it is not kept. Raises one of UNDECODABLE."""

    def resumed(self, bookmark: Bookmark) -> Bookmark | None:
        """Return where to watch after the server has ended a watch; None to start over."""

    def refused(self, error: StatusError) -> str:
        """Return what is wrong if the server refuses a watch with a status."""


ResourceVersion: TypeAlias = Annotated[str, Meta(min_length=1)]
"""Where a watch resumes. A watch from an empty version would start over, and miss deletions."""


class _Version(Struct, rename="camel"):
    resource_version: ResourceVersion


class _Versioned(Struct):
    """The resource version of an object or a list."""

    metadata: _Version


class _Failure(Struct):
    message: str = ""


_VERSIONS = msgspec.json.Decoder(_Versioned)
_FAILURES = msgspec.json.Decoder(_Failure)


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
class _Step(Generic[T]):
    """What an event shows, and where to resume after it."""

    observed: Observation[T]
    bookmark: Bookmark


@dataclass(frozen=True, slots=True)
class _Watch(Generic[T]):
    """One watch that is kept up."""

    api: ApiServer
    reader: Reader[T]
    log: WatchLog
    chance: Random

    async def observations(self) -> AsyncGenerator[Observation[T], None]:
        """Yield each observation. Never ends: failures are logged, and the waits between retries grow to a minute."""
        backoff = Backoff(1.0, self.chance)
        bookmark: Bookmark | None = None
        while True:
            began = monotonic()
            try:
                if bookmark is None:
                    start = await self.reader.start()
                    bookmark = start.bookmark
                    self.log.listing.recover()
                    yield Listed(start.objects)
                if bookmark is not None:
                    async with aclosing(self._steps(bookmark)) as steps:
                        async for step in steps:
                            bookmark = step.bookmark
                            yield step.observed
                            if is_stable(began):
                                self.log.watching.recover()
                    yield Confirmed()
                    if is_stable(began):
                        self.log.watching.recover()
                    bookmark = self.reader.resumed(bookmark)
            except ReadError as error:
                self.log.listing.report(error)
            except _WatchError as error:
                bookmark = None
                if not is_stable(began):
                    self.log.watching.report(error)
            await backoff.wait_after(began)

    async def _steps(self, bookmark: Bookmark) -> AsyncGenerator[_Step[T], None]:
        """Yield what each event shows, and where to resume after it, until the server ends the watch."""
        path = bookmark.path
        query = {**bookmark.query, "allowWatchBookmarks": "true"}
        if bookmark.version is not None:
            query["resourceVersion"] = bookmark.version
        try:
            async with aclosing(self.api.events(path, query)) as events:
                async for event in events:
                    if event.type == "ERROR":
                        # Usually 410: the server no longer has this version.
                        message = _FAILURES.decode(event.object).message
                        raise _WatchError(f"watch of {path}: {printable(message)}")
                    if event.type not in _TYPES:
                        self.log.unknown(path, event.type)
                        continue
                    version = _VERSIONS.decode(event.object).metadata.resource_version
                    yield _Step(self._observed(event), replace(bookmark, version=version))
        except StatusError as error:
            raise _WatchError(self.reader.refused(error)) from None
        except OSError as error:
            raise _WatchError(str(error)) from None
        except UNDECODABLE as error:
            raise _WatchError(f"watch of {path}: not an event of the API server: {error}") from None

    def _observed(self, event: WatchEvent) -> Observation[T]:
        if event.type == "BOOKMARK":
            return Confirmed()
        name, value = self.reader.parse(event.object)
        return Changed(name, None if event.type == "DELETED" else value)


async def follow(
    api: ApiServer, reader: Reader[T], log: WatchLog, chance: Random | None = None
) -> AsyncGenerator[Observation[T], None]:
    """Yield the objects of a reader: all of them at first and after each error, then each change and confirmation."""
    async with aclosing(_Watch(api, reader, log, chance or SystemRandom()).observations()) as observations:
        async for observed in observations:
            yield observed


class _Named(Struct):
    metadata: Metadata


_NAMES = msgspec.json.Decoder(_Named)


@dataclass(frozen=True, slots=True)
class _Unlisted:
    """Reads one object by its name. Needs no right to list, and parses nothing, so that no Secret stays in memory."""

    path: str
    name: str

    async def start(self) -> Start[bool]:
        return Start({}, Bookmark(self.path, {"fieldSelector": f"metadata.name={self.name}"}, None))

    def parse(self, found: Raw) -> tuple[str, bool]:
        return _NAMES.decode(found).metadata.name, True

    def resumed(self, bookmark: Bookmark) -> Bookmark:
        return bookmark

    def refused(self, error: StatusError) -> str:
        return str(error)


async def changes(api: ApiServer, path: str, name: str, log: WatchLog, chance: Random) -> AsyncGenerator[None, None]:
    """Yield whenever the object with this name may have changed, and at first if it exists.

    Needs no right to list: a watch without a resource version begins with what is there. Keeps no object.
    """
    seen = False
    async with aclosing(follow(api, _Unlisted(path, name), log, chance)) as observations:
        async for observed in observations:
            # After an error, the object may have been deleted, which a watch that starts over does not report.
            if isinstance(observed, Changed) or (seen and isinstance(observed, Listed)):
                seen = isinstance(observed, Changed)
                yield
