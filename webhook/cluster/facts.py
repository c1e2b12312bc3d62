"""The facts that are read from a cluster: one part for each source, each with readers of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from msgspec import Raw

from webhook.cluster import classes, device_plugin, nodes, stack
from webhook.cluster.api_server import ApiServer
from webhook.cluster.objects import CONFIG_MAP, DAEMON_SET, NAMESPACE, NODE, RUNTIME_CLASS, Kind, ReadError
from webhook.cluster.watch import Collection, Named, Reader
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import ALWAYS, Decisive
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import FactsSettings
from webhook.runtime.failure_log import LogEvent

Read: TypeAlias = Mapping[str, Any] | None
"""The objects of a reader by name; None while they are unknown."""

MOST_PROBLEMS: Final = 100
"""Problems of one source that are logged."""


class FactsError(Exception):
    """A source of facts cannot be read. The message names the source, and the missing rule if it is forbidden."""


@dataclass(frozen=True, slots=True)
class Built:
    """The value of a field of the facts; None while it is unknown.

    `names` are those of its objects, in order, and `problems` are in words for a log line.
    """

    value: Any
    names: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


Build: TypeAlias = Callable[[Sequence[Read]], Built]
"""Makes the value of a field of what its readers have read. Any thread may call it."""


@dataclass(frozen=True, slots=True)
class FactsPart:
    """One field of the facts. `readers` are named in the plural, as log lines name them.

    `expires` tells whether the field becomes unknown when the API server has not confirmed it for some time.
    """

    field: str
    readers: Mapping[str, Reader[Any]]
    build: Build
    expires: bool = True

    @property
    def source(self) -> str:
        """The name in metrics, such as `runtime-classes`."""
        return self.field.replace("_", "-")

    @property
    def subject(self) -> str:
        """The name in the log and in `/readyz`, such as `runtime classes`."""
        return self.field.replace("_", " ")


def parts(
    api: ApiServer, wanted: FactsSettings, decisive: Decisive = ALWAYS, *, of_command: bool = False
) -> Iterator[FactsPart]:
    """Yield the parts of the facts that the settings want. `decisive`: what of nodes is kept first.

    `of_command`: nodes without GPUs count as well, and pages are large.

    RuntimeClasses do not expire: without them the webhook would inject a class that may not exist, and the API server
    rejects every pod that names a missing class.
    """
    if wanted.nodes:
        parse, page = nodes.parser(decisive, others=of_command), nodes.LARGE_PAGE if of_command else nodes.PAGE
        of_nodes = Collection(api, (NODE,), parse, page, nodes.metadata_parser(decisive))
        yield FactsPart("nodes", {"nodes": of_nodes}, _nodes)
    if wanted.namespaces:
        of_namespaces = Collection(api, (NAMESPACE,), classes.namespace, parse_metadata=classes.namespace)
        yield FactsPart("namespaces", {"namespaces": of_namespaces}, _sorted)
    if wanted.runtime_classes:
        of_classes = Collection(api, (RUNTIME_CLASS,), classes.runtime_class)
        yield FactsPart("runtime_classes", {"runtime classes": of_classes}, _sorted, expires=False)
    if wanted.device_classes:
        of_devices = Collection(api, classes.DEVICE_CLASSES, classes.device_class)
        yield FactsPart("device_classes", {"device classes": of_devices}, _sorted)
    if wanted.device_plugin is not None:
        yield _device_plugin(api, wanted.device_plugin)


async def read_facts(
    api: ApiServer, wanted: FactsSettings, decisive: Decisive = ALWAYS, log: LogEvent | None = None
) -> Facts:
    """Read every wanted source once. `decisive`: what of nodes is kept first. Raises FactsError.

    `log` gets the problems of what was read, such as a configuration that the device plugin rejects.
    """
    found: dict[str, Any] = {}
    for part in parts(api, wanted, decisive, of_command=True):
        reads = await asyncio.gather(*(_read(name, reader) for name, reader in part.readers.items()))
        built = await asyncio.to_thread(part.build, reads)
        found[part.field] = built.value
        for problem in built.problems[:MOST_PROBLEMS]:
            if log is not None:
                log("warning", "facts incomplete", source=part.source, problem=problem)
    return Facts(**found)


async def _read(name: str, reader: Reader[Any]) -> Mapping[str, Any]:
    try:
        return (await reader.start()).objects
    except ReadError as error:
        raise FactsError(f"{name} cannot be read: {error}") from None


def _sorted(found: Sequence[Read]) -> Built:
    """The objects of the only reader, in the order of their names."""
    (objects,) = found
    if objects is None:
        return Built(None)
    names = tuple(sorted(objects))
    return Built(tuple(objects[name] for name in names), names)


def _nodes(found: Sequence[Read]) -> Built:
    built = _sorted(found)
    problems = (nodes.problem(node, part) for node in built.value or () for part in node.incomplete)
    return replace(built, problems=tuple(dict.fromkeys(problems)))


def _device_plugin(api: ApiServer, source: DevicePluginSource) -> FactsPart:
    maps = dict.fromkeys(source.config_maps)
    readers: dict[str, Reader[Any]] = {
        f"device plugin ConfigMaps ({where})": _named(api, CONFIG_MAP, where, device_plugin.parse_config_map)
        for where in maps
    }
    if source.daemon_set is not None:
        name = f"device plugin DaemonSets ({source.daemon_set})"
        readers[name] = _named(api, DAEMON_SET, source.daemon_set, stack.parse_daemon_set)

    def build(found: Sequence[Read]) -> Built:
        if found and all(objects is None for objects in found):
            return Built(None)
        texts = dict(zip(maps, found, strict=False))
        daemon = found[len(maps)] if source.daemon_set is not None else None
        value, problems = device_plugin.device_plugin(source, texts, daemon)
        return Built(value, tuple(config.name for config in value.configs or ()), problems)

    return FactsPart("device_plugin", readers, build)


def _named(api: ApiServer, kind: Kind, where: str, parse: Callable[[Raw], tuple[str, Any]]) -> Reader[Any]:
    """Reads the object `where` (`namespace/name`)."""
    namespace, _, name = where.partition("/")
    return Named(api, kind, namespace, name, parse)
