"""The facts of a running server: every source is read and watched on its own, and changes are published together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

from webhook.cluster.api_server import ApiServer
from webhook.cluster.facts import MOST_PROBLEMS, Built, FactsPart, parts
from webhook.cluster.watch import Feed
from webhook.policy.messages import printable
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.settings import FactsSettings
from webhook.runtime.failure_log import LogEvent, Recently
from webhook.runtime.retry import delay, monotonic, wait_for_event

Publish = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Puts fields of the facts in force. None stands for a field that is unknown."""

_INTERVAL: Final = 1.0
"""Seconds between two snapshots, since indexing 5,000 nodes takes more than a tenth of that.

This often, a source is found to be too old, or fresh again."""

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
            await wait_for_event(self._changed, _INTERVAL)

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
        unknown = frozenset(name for name, feed in self.feeds.items() if self._known(feed) is None)
        self.outdated = self.outdated or unknown != self._unknown
        self._unknown = unknown

    def _known(self, feed: Feed[Any]) -> Mapping[str, Any] | None:
        """The objects of a feed; None while they are unknown, or too old."""
        is_old = self._part.expires and (feed.age or 0.0) >= self._max_age
        return None if is_old else feed.objects

    async def build(self) -> None:
        """Make the value of the field. The work is done on another thread."""
        self.outdated = False
        known = map(self._known, self.feeds.values())
        found = [None if objects is None else dict(objects) for objects in known]
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

    async def _outdate(self) -> None:
        self.outdated = True
        self._changed()
