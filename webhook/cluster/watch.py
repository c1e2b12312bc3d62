"""Watches of the API server that never end: they reconnect, resume where they were, and start over after an error.

A watch begins with a list, and resumes at the resource version of the last event when the server ends it, as the server
does every few minutes. After an error, of which 410 Gone is the usual one, the watch starts over with what the server
has now (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from random import Random
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import UNDECODABLE, ApiServer, StatusError
from webhook.cluster.objects import (
    FAILURES,
    ExpiredError,
    Kind,
    ListMeta,
    NotFoundError,
    ReadError,
    Rule,
    answer,
    pages,
)
from webhook.policy.messages import printable
from webhook.runtime.retry import Backoff, FailureLog, LogEvent, is_stable, monotonic, next_turn

T = TypeVar("T")


class Start(NamedTuple, Generic[T]):
    """The objects that the server has by name, and the path of a watch for changes; empty: there is nothing to watch.

    The watch of a list begins at its version. Without one, the watch begins with what the server has now, and does not
    resume: it reports nothing about an object that is missing.
    """

    objects: Mapping[str, T]
    path: str = ""
    query: Mapping[str, str] = {}
    version: str = ""


_DECODED: Final = 20
"""Objects that are decoded in one go: less than a millisecond for nodes of 15 KB."""

_EXPIRED: Final = 3
"""Times that a list may expire between two pages before it counts as failed."""


class Collection(NamedTuple, Generic[T]):
    """Reads all objects of one kind in pages. Needs the rights to list and to watch.

    `kinds` are the versions of its API, the best first. The first one that the server has is read. If it has
    none, there are no objects. `page` is the number of objects to ask for at once. `parse_metadata` reads the
    metadata of an object that cannot be read; without it, such an object fails the list.
    """

    api: ApiServer
    kinds: Sequence[Kind]
    parse: Callable[[Raw], tuple[str, T | None]]
    page: int = 250
    parse_metadata: Callable[[Raw], tuple[str, T | None]] | None = None

    @property
    def rule(self) -> Rule:
        return Rule(self.kinds[0], ("list", "watch"))

    async def start(self) -> Start[T]:
        """List the objects of the first version that the server has. Raises ReadError."""
        for kind in self.kinds:
            with suppress(NotFoundError):
                return await self._listed(kind.path())
        return Start({})

    async def _listed(self, path: str) -> Start[T]:
        for _ in range(_EXPIRED - 1):
            with suppress(ExpiredError):
                return await self._pages(path)
        return await self._pages(path)

    async def _pages(self, path: str) -> Start[T]:
        objects: dict[str, T] = {}
        async with aclosing(pages(self.api, path, self.rule, self.page)) as listed:
            async for page in listed:
                parse = self.parse_metadata if page.unread else self.parse
                if parse is None:
                    raise ReadError(page.unread)
                try:
                    for at in range(0, len(page.items), _DECODED):
                        parsed = map(parse, page.items[at : at + _DECODED])
                        objects.update((name, value) for name, value in parsed if value is not None)
                        await next_turn()
                except UNDECODABLE as error:
                    raise ReadError(f"list of {path}: not a list of the API server: {error}") from None
        return Start(objects, path, version=page.version)


class Named(NamedTuple, Generic[T]):
    """Reads one object by its name. Needs the rights to get and to watch it, and none to list.

    Its watch reports nothing about an object that is missing. So the object is read before each watch, every few
    minutes, and a deletion between the two is noticed then.
    """

    api: ApiServer
    kind: Kind
    namespace: str | None
    name: str
    parse: Callable[[Raw], tuple[str, T | None]]

    @property
    def rule(self) -> Rule:
        return Rule(self.kind, ("get", "watch"), self.namespace, self.name)

    async def start(self) -> Start[T]:
        path, query = self.kind.path(self.namespace), {"fieldSelector": f"metadata.name={self.name}"}
        try:
            body = await answer(self.api, self.kind.path(self.namespace, self.name), self.rule, "get")
            name, value = self.parse(Raw(body))
        except (NotFoundError, ExpiredError):
            return Start({}, path, query)
        except UNDECODABLE as error:
            raise ReadError(f"GET {path}/{self.name}: not an object of the API server: {error}") from None
        return Start({} if value is None else {name: value}, path, query)


Reader: TypeAlias = Collection[T] | Named[T]
"""Reads objects: the first time and after each error with `start`, then with the events of a watch."""


class _Versioned(Struct):
    metadata: ListMeta  # that of a bookmark has a version alone


_VERSIONS = msgspec.json.Decoder(_Versioned)


class _WatchError(Exception):
    """The watch cannot continue from where it was. The message says why."""


_BATCH: Final = 500
"""Objects that are compared in one go, in well below a millisecond where they differ, and in one where they do not."""


class Feed(Generic[T]):
    """Reads and watches. Run `run` in a task; it awaits `changed` after each change of `objects`, which are by name.

    The objects are None until the first list. When the API server is lost, the last known objects stay. Failures are
    logged at `level`, and the waits between retries grow to a minute. `subject` is in the plural.
    """

    def __init__(
        self,
        subject: str,
        reader: Reader[T],
        changed: Callable[[], Awaitable[None]],
        log: LogEvent,
        level: str = "warning",
        chance: Random | None = None,
    ) -> None:
        self._reader = reader
        self._changed = changed
        self._backoff = Backoff(1.0, chance)
        self._version = ""
        self._confirmed: float | None = None
        self.objects: dict[str, T] | None = None
        self._untaken = False
        self.listing = FailureLog(log, f"{subject} cannot be read", f"{subject} read again", level)
        self.watching = FailureLog(log, f"{subject} cannot be watched", f"{subject} watched again", level)

    @property
    def age(self) -> float | None:
        """Seconds since the API server last confirmed the objects; None while they are unknown."""
        return None if self._confirmed is None else monotonic() - self._confirmed

    @property
    def failing(self) -> bool:
        return bool(self.listing) or bool(self.watching)

    async def run(self) -> None:
        start: Start[T] | None = None
        while True:
            began = monotonic()
            try:
                if start is None:
                    start = await self._reader.start()
                    self._version = start.version
                    self.listing.recover()
                    await self._replace(start.objects)
                    self._confirm(began)
                if start.path:
                    await self._watch(start, began)
                    self._confirm(began)
                if not start.version:
                    start = None
            except ReadError as error:
                self.listing.report(error)
            except _WatchError as error:
                start = None
                if not is_stable(began):
                    self.watching.report(error)
            await self._backoff.wait_after(began)

    def _confirm(self, began: float) -> None:
        """Record that the server has confirmed that nothing else has changed."""
        self._confirmed = monotonic()
        if is_stable(began):
            self.watching.recover()

    async def _watch(self, start: Start[T], began: float) -> None:
        """Take what each event shows, until the server ends the watch. Raises _WatchError."""
        query = {**start.query, "allowWatchBookmarks": "true"}
        if self._version:
            query["resourceVersion"] = self._version
        try:
            async with aclosing(self._reader.api.events(start.path, query)) as events:
                async for event in events:
                    if event.type == "ERROR":
                        # Usually 410: the server no longer has this version.
                        raise _WatchError(f"watch of {start.path}: {printable(FAILURES.decode(event.object).message)}")
                    if event.type not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
                        continue
                    self._version = _VERSIONS.decode(event.object).metadata.resource_version
                    if event.type != "BOOKMARK":
                        name, value = self._reader.parse(event.object)
                        await self._put(name, None if event.type == "DELETED" else value)
                    self._confirm(began)
        except StatusError as error:
            raise _WatchError(self._reader.rule.missing("watch") if error.status == 403 else error) from None
        except OSError as error:
            raise _WatchError(error) from None
        except UNDECODABLE as error:
            raise _WatchError(f"watch of {start.path}: not an event of the API server: {error}") from None

    async def _replace(self, objects: Mapping[str, T]) -> None:
        """Take a new list. Objects that are equal stay the same, so that comparing facts remains cheap."""
        known = self.objects or {}
        changed = self._untaken or self.objects is None or len(known) != len(objects)
        taken = dict(objects)
        for index, (name, value) in enumerate(objects.items()):
            old = known.get(name)
            if old is not None and old == value:
                taken[name] = old
            else:
                changed = True
            if index % _BATCH == _BATCH - 1:
                await next_turn()
        self.objects = taken
        if changed:
            await self._take()

    async def _put(self, name: str, value: T | None) -> None:
        """Take the new state of one object. Most events, such as heartbeats, change nothing that is kept."""
        if self.objects is None or self.objects.get(name) == value:
            return
        if value is None:
            del self.objects[name]
        else:
            self.objects[name] = value
        await self._take()

    async def _take(self) -> None:
        """Let the owner take a change. If that fails, the next list is taken again, even an equal one."""
        self._untaken = True
        await self._changed()
        self._untaken = False
