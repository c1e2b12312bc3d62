"""Watches of the API server that never end: they reconnect, resume where they were, and start over after an error.

A watch begins with a list, and resumes at the resource version of the last event when the server ends it, as the server
does every few minutes. After an error, of which 410 Gone is the usual one, the watch starts over with what the server
has now (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).

A watch keeps no objects. It yields what it observes, so that an event costs the same however many objects there are.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from random import Random
from typing import Annotated, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from webhook.cluster.api_server import UNDECODABLE, ApiServer, Metadata, Rule, StatusError
from webhook.policy.messages import printable
from webhook.runtime.failure_log import FailureLog, LogEvent
from webhook.runtime.retry import Backoff, is_stable, monotonic

T = TypeVar("T")

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

    resumes: ClassVar[bool]
    """Whether a watch that the server has ended resumes, rather than starting over."""

    @property
    def rule(self) -> Rule | None:
        """The rule of the rights that it needs, if a message is to name it."""

    async def start(self) -> Start[T]:
        """Read the objects. Raises ReadError."""

    def parse(self, found: Raw) -> tuple[str, T | None]:
        """Return the name and the value of an object; None if it is not kept. Raises one of UNDECODABLE."""


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
FAILURES = msgspec.json.Decoder(_Failure)
"""Decodes what the API server says about a failure."""


class WatchLog:
    """What a watch of `subject`, which is plural, logs: failures at `level`, and event types that it does not know."""

    def __init__(self, event: LogEvent, subject: str, level: str = "warning") -> None:
        self._event = event
        self._unknown_types: set[str] = set()
        self.listing = FailureLog(event, f"{subject} cannot be read", f"{subject} read again", level)
        self.watching = FailureLog(event, f"{subject} cannot be watched", f"{subject} watched again", level)

    def unknown(self, path: str, kind: str) -> None:
        """Log an event type the first time that it is seen."""
        if kind not in self._unknown_types and len(self._unknown_types) < _UNKNOWN_TYPES:
            self._unknown_types.add(kind)
            self._event("warning", "unknown watch event skipped", path=path, type=printable(kind))


async def follow(
    api: ApiServer, reader: Reader[T], log: WatchLog, chance: Random | None = None
) -> AsyncGenerator[Observation[T], None]:
    """Yield the objects of a reader: all of them at first and after each error, then each change and confirmation.

    Never ends: failures are logged, and the waits between retries grow to a minute.
    """
    backoff = Backoff(1.0, chance)
    bookmark: Bookmark | None = None
    while True:
        began = monotonic()
        try:
            if bookmark is None:
                start = await reader.start()
                bookmark = start.bookmark
                log.listing.recover()
                yield Listed(start.objects)
            if bookmark is not None:
                async with aclosing(_observations(api, reader, log, bookmark)) as observations:
                    async for observed, version in observations:
                        bookmark = replace(bookmark, version=version)
                        yield observed
                        if is_stable(began):
                            log.watching.recover()
                yield Confirmed()
                if is_stable(began):
                    log.watching.recover()
                if not reader.resumes:
                    bookmark = None
        except ReadError as error:
            log.listing.report(error)
        except _WatchError as error:
            bookmark = None
            if not is_stable(began):
                log.watching.report(error)
        await backoff.wait_after(began)


async def _observations(
    api: ApiServer, reader: Reader[T], log: WatchLog, bookmark: Bookmark
) -> AsyncGenerator[tuple[Observation[T], str], None]:
    """Yield what each event shows, and the version to resume at after it, until the server ends the watch."""
    path = bookmark.path
    query = {**bookmark.query, "allowWatchBookmarks": "true"}
    if bookmark.version is not None:
        query["resourceVersion"] = bookmark.version
    try:
        async with aclosing(api.events(path, query)) as events:
            async for event in events:
                if event.type == "ERROR":
                    # Usually 410: the server no longer has this version.
                    raise _WatchError(f"watch of {path}: {printable(FAILURES.decode(event.object).message)}")
                if event.type not in _TYPES:
                    log.unknown(path, event.type)
                    continue
                version = _VERSIONS.decode(event.object).metadata.resource_version
                if event.type == "BOOKMARK":
                    yield Confirmed(), version
                else:
                    name, value = reader.parse(event.object)
                    yield Changed(name, None if event.type == "DELETED" else value), version
    except StatusError as error:
        rule = reader.rule if error.status == 403 else None
        raise _WatchError(str(error) if rule is None else rule.missing("watch")) from None
    except OSError as error:
        raise _WatchError(str(error)) from None
    except UNDECODABLE as error:
        raise _WatchError(f"watch of {path}: not an event of the API server: {error}") from None


class _Named(Struct):
    metadata: Metadata


_NAMES = msgspec.json.Decoder(_Named)


@dataclass(frozen=True, slots=True)
class _Unlisted:
    """Reads one object by its name. Needs no right to list, and parses nothing, so that no Secret stays in memory."""

    resumes: ClassVar[bool] = True

    path: str
    name: str
    rule: None = None

    async def start(self) -> Start[bool]:
        return Start({}, Bookmark(self.path, {"fieldSelector": f"metadata.name={self.name}"}, None))

    def parse(self, found: Raw) -> tuple[str, bool]:
        return _NAMES.decode(found).metadata.name, True


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
