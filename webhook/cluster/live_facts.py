"""The facts of a running server: every source is read and watched on its own, and changes are published together.

A `Feed` keeps what one reader has read up to date, and knows when the API server last confirmed it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

from webhook.cluster.api_server import ApiServer
from webhook.cluster.facts import MOST_PROBLEMS, Built, FactsPart, parts
from webhook.cluster.watch import Changed, Listed, Reader, WatchLog, follow
from webhook.policy.messages import printable
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.settings import FactsSettings
from webhook.runtime.failure_log import LogEvent, Recently
from webhook.runtime.retry import delay, monotonic, next_turn, wait_for_event

Publish = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Puts fields of the facts in force. None stands for a field that is unknown."""

_INTERVAL: Final = 1.0
"""Seconds between two snapshots: indexing 5,000 nodes takes more than a tenth of that."""

_AWAITED: Final = 10.0
"""Seconds for which a starting server waits for facts: enough for several tries, or for one that times out."""

_CONFIRMED: Final = 120.0
"""Seconds within which the API server confirms a watch: it sends a bookmark once per minute (`allowWatchBookmarks`,
kubernetes apiserver pkg/storage/cacher `defaultBookmarkFrequency`). A shorter `maxAge` would drop facts each minute."""

_NAMED: Final = 20
"""Names in a log line."""


class LiveFacts:
    """Facts that follow the cluster. Run every task of `tasks`; they call `publish` with what has changed.

    At most one snapshot per second is published, and a change after one second at most. A source that the API server
    has not confirmed for `maxAge` becomes unknown, so that the static settings apply, unless it never expires.
    """

    def __init__(
        self, api: ApiServer, wanted: FactsSettings, decisive: Decisive, publish: Publish, log: LogEvent
    ) -> None:
        self._changed = asyncio.Event()
        self._publish = publish
        self._log = log
        self.sources = tuple(
            LiveSource(api, part, wanted.max_age, self._changed.set, log) for part in parts(api, wanted, decisive)
        )

    def tasks(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
        for source in self.sources:
            for name, feed in source.feeds.items():
                yield f"watch of {name}", feed.run
        yield "cluster facts", self._run

    async def _run(self) -> None:
        for source in self.sources:
            source.outdated = True  # a run before this one may have failed while it published
        while True:
            self._changed.clear()
            for source in self.sources:
                source.expire()
            if outdated := [source for source in self.sources if source.outdated]:
                began = monotonic()
                if await self._publish_changes(outdated):
                    await delay(max(0.0, began + _INTERVAL - monotonic()))
            await wait_for_event(self._changed, min(source.until_expiry() for source in self.sources))

    async def _publish_changes(self, outdated: list[LiveSource]) -> bool:
        """Publish what has changed; return False if there is nothing, because nothing is known yet."""
        for source in outdated:
            await source.build()
        ready = [source for source in outdated if source.published or source.built.value is not None]
        if ready:
            await self._publish({source.field: source.built.value for source in ready})
        for source in ready:
            source.report(self._log)
        return bool(ready)


class LiveSource:
    """One field of the facts, and the feeds that it is made of. `built` is what is in force, or about to be."""

    def __init__(
        self, api: ApiServer, part: FactsPart, max_age: float, changed: Callable[[], None], log: LogEvent
    ) -> None:
        self._part = part
        self._max_age = max(max_age, _CONFIRMED)
        self._changed = changed
        self._began = monotonic()
        self._unknown = frozenset(part.readers)
        self._reported = Built(None)
        self._recently = Recently()
        self.name = part.source
        self.subject = part.subject
        self.field = part.field
        self.built = Built(None)
        self.published = False
        self.outdated = True
        self.feeds = {name: Feed(api, name, reader, self._outdate, log) for name, reader in part.readers.items()}

    @property
    def age(self) -> float | None:
        """Seconds since the API server last confirmed all objects; None while some are unknown."""
        ages = [feed.age for feed in self.feeds.values()]
        known = [age for age in ages if age is not None]
        return max(known, default=0.0) if len(known) == len(ages) else None

    @property
    def count(self) -> int:
        return len(self.built.names)

    @property
    def failing(self) -> bool:
        return any(feed.failing for feed in self.feeds.values())

    @property
    def pending(self) -> bool:
        """Whether the facts are unknown but may be known in a moment. Once false, it stays false."""
        return not self.published and monotonic() - self._began < _AWAITED

    def expire(self) -> None:
        """Find the feeds that have become too old, or are fresh again."""
        unknown = frozenset(
            name
            for name, feed in self.feeds.items()
            if feed.age is None or (self._part.expires and feed.age >= self._max_age)
        )
        if unknown != self._unknown:
            self._unknown = unknown
            self.outdated = True

    def until_expiry(self) -> float:
        """Seconds until the next feed becomes too old, one at least: this often, an old one may be fresh again."""
        ages = [feed.age for feed in self.feeds.values() if feed.age is not None]
        return max(_INTERVAL, min((self._max_age - age for age in ages), default=self._max_age))

    async def build(self) -> None:
        """Make the value of the field. The work is done on another thread."""
        self.outdated = False
        found = [None if name in self._unknown else feed.copy() for name, feed in self.feeds.items()]
        self.built = await asyncio.to_thread(self._part.build, found)

    def report(self, log: LogEvent) -> None:
        """Record that the value is in force. Log other names than before, and new problems."""
        before, self._reported, self.published = self._reported, self.built, True
        if self.built.value is None:
            if before.value is not None:
                log("warning", f"{self.subject} too old", maxAge=self._max_age)
        elif before.value is None or before.names != self.built.names:
            names = [printable(name) for name in self.built.names[:_NAMED]]
            log("info", f"{self.subject} read", names=names, count=self.count)
        problems = set(self.built.problems[:MOST_PROBLEMS]) - set(before.problems[:MOST_PROBLEMS])
        for problem in self._recently.new(problems):
            log("warning", "facts incomplete", source=self.name, problem=problem)

    def _outdate(self) -> None:
        self.outdated = True
        self._changed()


_BATCH: Final = 500
"""Objects that are compared in one go, in well below a millisecond where they differ, and in one where they do not."""


class Feed:
    """Reads and watches. Run `run` in a task; it calls `changed` after each change of the objects that it keeps.

    The objects are unknown until they are read. When the API server is lost, the last known ones stay.
    """

    def __init__(
        self, api: ApiServer, name: str, reader: Reader[Any], changed: Callable[[], None], log: LogEvent
    ) -> None:
        self._api = api
        self._reader = reader
        self._changed = changed
        self._objects: dict[str, Any] | None = None
        self._confirmed: float | None = None
        self.log = WatchLog(log, name)

    @property
    def age(self) -> float | None:
        """Seconds since the API server last confirmed the objects; None while they are unknown."""
        return None if self._confirmed is None else monotonic() - self._confirmed

    @property
    def failing(self) -> bool:
        return bool(self.log.listing) or bool(self.log.watching)

    def copy(self) -> Mapping[str, Any] | None:
        """The objects by name, which later changes leave alone; None while they are unknown."""
        return None if self._objects is None else dict(self._objects)

    async def run(self) -> None:
        async with aclosing(follow(self._api, self._reader, self.log)) as observations:
            async for observed in observations:
                match observed:
                    case Listed(objects):
                        await self._replace(objects)
                    case Changed(name, value):
                        self._put(name, value)
                self._confirmed = monotonic()

    async def _replace(self, objects: Mapping[str, Any]) -> None:
        """Take a new list. Objects that are equal stay the same, so that comparing facts remains cheap."""
        known = {} if self._objects is None else self._objects
        changed = self._objects is None or len(known) != len(objects)
        taken: dict[str, Any] = {}
        for index, (name, value) in enumerate(objects.items()):
            old = known.get(name)
            same = old == value
            taken[name] = old if same else value
            changed = changed or not same
            if index % _BATCH == _BATCH - 1:
                await next_turn()
        self._objects = taken
        if changed:
            self._changed()

    def _put(self, name: str, value: Any | None) -> None:
        """Take the new state of one object. Most events, such as heartbeats, change nothing that is kept."""
        if self._objects is None or self._objects.get(name) == value:
            return
        if value is None:
            del self._objects[name]
        else:
            self._objects[name] = value
        self._changed()
