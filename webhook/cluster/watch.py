"""Watches of the API server that never end: they reconnect, resume where they were, and start over after an error.

A watch begins with a list, and resumes at the resource version of the last event when the server ends it, as the server
does every few minutes. After an error, of which 410 Gone is the usual one, the watch starts over with what the server
has now (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from random import Random
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import UNDECODABLE, ApiServer, Rule, StatusError
from webhook.cluster.pages import FAILURES, ReadError, ResourceVersion
from webhook.policy.messages import printable
from webhook.runtime.failure_log import FailureLog, LogEvent
from webhook.runtime.retry import Backoff, is_stable, monotonic, next_turn

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Start(Generic[T]):
    """The objects that the server has by name, and the path of a watch for changes; empty: there is nothing to watch.

    The watch of a list begins at its version. Without one, the watch begins with what the server has now, and does not
    resume: it reports nothing about an object that is missing.
    """

    objects: Mapping[str, T]
    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    version: str = ""


class Reader(Protocol[T]):
    """Reads objects: the first time and after each error with `start`, then with the events of a watch."""

    @property
    def rule(self) -> Rule:
        """The rule of the rights that it needs, which a message names."""

    async def start(self) -> Start[T]:
        """Read the objects. Raises ReadError."""

    def parse(self, found: Raw, /) -> tuple[str, T | None]:
        """Return the name and the value of an object; None if it is not kept. Raises one of UNDECODABLE."""


class _Version(Struct, rename="camel"):
    resource_version: ResourceVersion


class _Versioned(Struct):
    metadata: _Version


_VERSIONS = msgspec.json.Decoder(_Versioned)


class _WatchError(Exception):
    """The watch cannot continue from where it was. The message says why."""


_BATCH: Final = 500
"""Objects that are compared in one go, in well below a millisecond where they differ, and in one where they do not."""


class Feed(Generic[T]):
    """Reads and watches. Run `run` in a task; it awaits `changed` after each change of `objects`, which are by name.

    They are None until they are read. When the API server is lost, the last known ones stay. Failures are logged at
    `level`, and the waits between retries grow to a minute. `subject` is in the plural.
    """

    def __init__(
        self,
        api: ApiServer,
        subject: str,
        reader: Reader[T],
        changed: Callable[[], Awaitable[None]],
        log: LogEvent,
        level: str = "warning",
        chance: Random | None = None,
    ) -> None:
        self._api = api
        self._reader = reader
        self._changed = changed
        self._backoff = Backoff(1.0, chance)
        self._version = ""
        self._confirmed: float | None = None
        self.objects: dict[str, T] | None = None
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
            async with aclosing(self._api.events(start.path, query)) as events:
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
        changed = self.objects is None or len(known) != len(objects)
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
            await self._changed()

    async def _put(self, name: str, value: T | None) -> None:
        """Take the new state of one object. Most events, such as heartbeats, change nothing that is kept."""
        if self.objects is None or self.objects.get(name) == value:
            return
        if value is None:
            del self.objects[name]
        else:
            self.objects[name] = value
        await self._changed()
