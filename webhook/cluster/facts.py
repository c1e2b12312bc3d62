"""The facts of a cluster, one part for each source: commands read it once, and a running server follows it.

A server reads and watches every source on its own, and publishes changes together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Raw

from webhook.cluster import classes, device_plugin, nodes, stack
from webhook.cluster.api_server import ApiServer
from webhook.cluster.objects import CONFIG_MAP, DAEMON_SET, NAMESPACE, NODE, RUNTIME_CLASS, Kind, ReadError
from webhook.cluster.watch import Collection, Feed, Named, Reader
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import ALWAYS, Decisive
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import FactsSettings
from webhook.runtime.retry import LogEvent, Recently, delay, monotonic, wait_for_event

Read: TypeAlias = Mapping[str, Any] | None
"""The objects of a reader by name; None while they are unknown."""

MOST_PROBLEMS: Final = 100
"""Problems of one source that are logged."""


class Built(NamedTuple):
    """The value of a field of the facts; None while it is unknown.

    `names` are those of its objects, in order, and `problems` are in words for a log line.
    """

    value: Any
    names: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


Build: TypeAlias = Callable[[Sequence[Read]], Built]
"""Makes the value of a field of what its readers have read. Any thread may call it."""


class FactsPart(NamedTuple):
    """One field of the facts. `readers` are named in the plural, as log lines name them.

    `expires` tells whether the field becomes unknown when the API server has not confirmed it for some time.
    """

    field: str
    readers: Mapping[str, Reader[Any]]
    build: Build
    expires: bool = True

    @property
    def name(self) -> str:
        """The name in metrics, such as `runtime-classes`."""
        return self.field.replace("_", "-")

    @property
    def subject(self) -> str:
        """The name in the log and in `/readyz`, such as `runtime classes`."""
        return self.field.replace("_", " ")


def parts(
    api: ApiServer, wanted: FactsSettings, decisive: Decisive, *, of_command: bool = False
) -> Iterator[FactsPart]:
    """Yield the parts of the facts that the settings want. `decisive`: what of nodes is kept first.

    `of_command`: nodes without GPUs count as well, and pages are large.

    RuntimeClasses do not expire: without them the webhook would inject a class that may not exist, and the API server
    rejects every pod that names a missing class.
    """
    page = 250 if of_command else nodes.PAGE
    of_nodes = nodes.parser(decisive, others=of_command)
    collections: dict[str, Reader[Any]] = {
        "nodes": Collection(api, (NODE,), of_nodes, page, nodes.metadata_parser(decisive)),
        "namespaces": Collection(api, (NAMESPACE,), classes.namespace, parse_metadata=classes.namespace),
        "runtime_classes": Collection(api, (RUNTIME_CLASS,), classes.runtime_class),
        "device_classes": Collection(api, classes.DEVICE_CLASSES, classes.device_class),
    }
    for field, reader in collections.items():
        if getattr(wanted, field):
            yield FactsPart(field, {field.replace("_", " "): reader}, _sorted, expires=field != "runtime_classes")
    if wanted.device_plugin is not None:
        yield _device_plugin(api, wanted.device_plugin)


async def read_facts(
    api: ApiServer, wanted: FactsSettings, decisive: Decisive = ALWAYS, log: LogEvent | None = None
) -> Facts:
    """Read every wanted source once. `decisive`: what of nodes is kept first. Raises ReadError.

    `log` gets the problems of what was read, such as a configuration that the device plugin rejects.
    """
    found: dict[str, Any] = {}
    for part in parts(api, wanted, decisive, of_command=True):
        reads = await asyncio.gather(*(_read(name, reader) for name, reader in part.readers.items()))
        built = await asyncio.to_thread(part.build, reads)
        found[part.field] = built.value
        for problem in built.problems[:MOST_PROBLEMS]:
            if log is not None:
                log("warning", "facts incomplete", source=part.name, problem=problem)
    return Facts(**found)


async def _read(name: str, reader: Reader[Any]) -> Mapping[str, Any]:
    try:
        return (await reader.start()).objects
    except ReadError as error:
        raise ReadError(f"{name} cannot be read: {error}") from None


def _sorted(found: Sequence[Read]) -> Built:
    """The objects of the only reader, in the order of their names."""
    (objects,) = found
    if objects is None:
        return Built(None)
    names = tuple(sorted(objects))
    value = tuple(objects[name] for name in names)
    incomplete = (one for one in value if isinstance(one, Node) and one.incomplete)
    problems = (nodes.problem(one, part) for one in incomplete for part in one.incomplete)
    return Built(value, names, tuple(dict.fromkeys(problems)))


def _device_plugin(api: ApiServer, source: DevicePluginSource) -> FactsPart:
    maps = dict.fromkeys(source.config_maps)
    readers: dict[str, Reader[Any]] = {}

    def add(kind: Kind, where: str, parse: Callable[[Raw], tuple[str, Any]]) -> None:
        namespace, _, name = where.partition("/")
        readers[f"device plugin {kind.kind}s ({where})"] = Named(api, kind, namespace, name, parse)

    for where in maps:
        add(CONFIG_MAP, where, device_plugin.parse_config_map)
    if source.daemon_set is not None:
        add(DAEMON_SET, source.daemon_set, stack.parse_daemon_set)

    def build(found: Sequence[Read]) -> Built:
        if found and all(objects is None for objects in found):
            return Built(None)
        texts = dict(zip(maps, found, strict=False))
        daemon = None if source.daemon_set is None else found[-1]
        value, problems = device_plugin.device_plugin(source, texts, daemon)
        return Built(value, tuple(config.name for config in value.configs or ()), problems)

    return FactsPart("device_plugin", readers, build)


# The facts of a running server.

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
        self.sources = tuple(
            LiveSource(part, wanted.max_age, self._changed.set, log) for part in parts(api, wanted, decisive)
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
            await self._publish({source.part.field: source.built.value for source in ready})
        for source in ready:
            source.report()
        return bool(ready)


class LiveSource:
    """One field of the facts, and the feeds that it is made of. `built` is what is in force, or about to be."""

    def __init__(self, part: FactsPart, max_age: float, changed: Callable[[], None], log: LogEvent) -> None:
        self.part = part
        self._max_age = max(max_age, _CONFIRMED)
        self._changed = changed
        self._log = log
        self._began = monotonic()
        self._unknown = frozenset(part.readers)
        self._reported = Built(None)
        self._recently = Recently()
        self.built = Built(None)
        self.published = False
        self.outdated = True
        self.feeds = {name: Feed(name, reader, self._outdate, log) for name, reader in part.readers.items()}

    @property
    def age(self) -> float | None:
        """Seconds since the API server last confirmed all objects; None while some are unknown."""
        ages = [feed.age for feed in self.feeds.values()]
        return None if None in ages else max(filter(None, ages), default=0.0)

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
        is_old = self.part.expires and (feed.age or 0.0) >= self._max_age
        return None if is_old else feed.objects

    async def build(self) -> None:
        """Make the value of the field. The work is done on another thread."""
        self.outdated = False
        known = map(self._known, self.feeds.values())
        found = [None if objects is None else dict(objects) for objects in known]
        self.built = await asyncio.to_thread(self.part.build, found)

    def report(self) -> None:
        """Record that the value is in force. Log other names than before, and new problems."""
        before, self._reported, self.published = self._reported, self.built, True
        if self.built.value is None:
            if before.value is not None:
                self._log("warning", f"{self.part.subject} too old", maxAge=self._max_age)
        elif before.value is None or before.names != self.built.names:
            names = [printable(name) for name in self.built.names[:_NAMED]]
            self._log("info", f"{self.part.subject} read", names=names, count=self.count)
        problems = set(self.built.problems[:MOST_PROBLEMS]) - set(before.problems[:MOST_PROBLEMS])
        for problem in self._recently.new(problems):
            self._log("warning", "facts incomplete", source=self.part.name, problem=problem)

    async def _outdate(self) -> None:
        self.outdated = True
        self._changed()
