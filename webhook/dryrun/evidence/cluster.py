"""Objects of a run that describe a cluster, as facts.

An object shows what exists, never that something else does not: a folder of manifests need not hold all nodes and
classes. Objects that contradict each other show nothing, since they may belong to several clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from posixpath import join, normpath
from typing import Any, Generic, NamedTuple, TypeVar

from webhook.cluster.classes import device_class, runtime_class
from webhook.cluster.nodes import parser
from webhook.dryrun.charts import Values, values_of
from webhook.dryrun.configurations import claim
from webhook.dryrun.evaluation import DEFAULT_NAMESPACE
from webhook.dryrun.evidence.first_pass import MOST_BYTES, FirstPass, kinds, may_configure_plugin
from webhook.dryrun.evidence.objects import Decoder, decoded
from webhook.dryrun.evidence.plugin import PluginEvidence
from webhook.manifests import Document, Manifest, Source, documents, is_pipe
from webhook.manifests.objects import MOST_ERRORS, items_of
from webhook.policy.placement.cluster_objects import DeviceClass, Node, RuntimeClass
from webhook.policy.placement.facts import NOTHING_SHOWN, UNKNOWN, Facts, Shown
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.fields import is_configuration
from webhook.policy.workloads.kinds import group_of
from webhook.report.evidence import MOST_PLACES, Evidence, Place, Proposal, Read, Refused

MOST = 10_000
"""Objects of a kind that are read as facts: a cluster has 5,000 nodes, and an index of them takes memory."""

T = TypeVar("T")


class Knowledge(NamedTuple):
    """What is known of a cluster: facts, and what objects show that need not describe it in full.

    `evidence` is what the report says about it.
    """

    facts: Facts = UNKNOWN
    shown: Shown = NOTHING_SHOWN
    evidence: Evidence | None = None


class Named(Generic[T]):
    """Objects of one kind by name. None of them counts if two of one name differ, or if there are too many."""

    def __init__(self, part: str, one: str, more: str) -> None:
        self._part = part
        self._words = one, more
        self._found: dict[str, tuple[T, Place]] = {}
        self._refused: Refused | None = None

    @property
    def is_refused(self) -> bool:
        """Whether no further object can make these count."""
        return self._refused is not None

    def add(self, name: str, one: T, place: Place) -> None:
        """Add an object."""
        first, where = self._found.setdefault(name, (one, place))
        if first != one:
            self.refuse("two of one name differ", where, place)
        elif len(self._found) > MOST:
            self.refuse(f"more than {MOST:,}")

    def refuse(self, why: str, *places: Place) -> None:
        """Use none of the objects."""
        self._refused = self._refused or Refused(self._part, why, places)
        self._found.clear()

    def values(self) -> tuple[T, ...]:
        """The objects in the order of their names, whatever the order of the inputs."""
        return tuple(self._found[name][0] for name in sorted(self._found))

    def read(self) -> Read | Refused | None:
        """Return what the report says; None without an object."""
        if not self._found:
            return self._refused
        count = len(self._found)
        places = tuple(place for _, place in islice(self._found.values(), MOST_PLACES))
        return Read(self._part, f"{count} {self._words[count > 1]}", places, count)


class Cluster:
    """What the objects of a run say about their cluster. `says_sharing`: also how nodes share GPUs."""

    def __init__(self, settings: Settings, namespace: str, *, says_sharing: bool) -> None:
        self._says_sharing = says_sharing
        self._namespace = namespace
        self._nodes = Named[Node]("nodes", "node", "nodes")
        self._runtime_classes = Named[RuntimeClass]("runtimeClasses", "RuntimeClass", "RuntimeClasses")
        self._device_classes = Named[DeviceClass]("deviceClasses", "DeviceClass", "DeviceClasses")
        self._queues = Named[str]("defaultQueues", "default queue", "default queues")
        self._plugin = PluginEvidence(settings)
        self._proposals: dict[str, Proposal] = {}
        self._named: dict[tuple[str, str], tuple[Decoder, Named[Any]]] = {
            ("node.k8s.io", "RuntimeClass"): (runtime_class, self._runtime_classes)
        }
        if says_sharing:
            self._named["", "Node"] = parser(Decisive.of(settings)), self._nodes
            self._named["resource.k8s.io", "DeviceClass"] = device_class, self._device_classes

    def read(self, source: Source) -> None:
        """Read the objects of an input. What cannot be read is reported when it is checked."""
        errors = 0
        open_parts = self._open_parts(source.data)
        found = documents(source.file, source.data, source.first_line, source.number)
        while any(is_open() for is_open in open_parts) and (document := next(found, None)) is not None:
            if isinstance(document, Document):
                self._read_document(source, document)
            elif (errors := errors + 1) == MOST_ERRORS:
                return

    def _open_parts(self, data: bytes) -> list[Callable[[], bool]]:
        """Return, for each part that a source may add to, what tells whether it still counts.

        To parse 100,000 nodes of which none counts would take as long as to check them.
        """
        named = {kind: objects for (_, kind), (_, objects) in self._named.items()} | {"LocalQueue": self._queues}
        found = kinds(data)
        open_parts: list[Callable[[], bool]] = [partial(_is_open, named[kind]) for kind in found if kind in named]
        if may_configure_plugin(data):
            open_parts.append(partial(_is_open, self._plugin))
        if "GPUCluster" in found:
            open_parts.append(lambda: not self._proposals)
        return open_parts

    def _read_document(self, source: Source, document: Document) -> None:
        value, file = document.value, source.file
        if not isinstance(value, dict):
            return
        if "items" in value:
            for item in items_of(file, document):
                if isinstance(item, Manifest) and _is_object(item.value):
                    self._add(item)
            return
        manifest = Manifest(file, document, (), value)
        if _is_object(value):
            self._add(manifest)
        elif is_configuration(value):
            self._plugin.add_file(document.raw, lambda: _place(manifest))
        elif not source.named or claim(document):  # other values that are named are an error
            self._plugin.add_values(Values("", manifest), lambda: _place(manifest))

    def _add(self, manifest: Manifest) -> None:
        value = manifest.value
        key = group_of(value["apiVersion"]), value["kind"]
        if key in self._named:
            self._add_named(manifest, *self._named[key])
        elif key == ("kueue.x-k8s.io", "LocalQueue"):
            self._add_queue(manifest)
        elif key == ("nvidia.com", "GPUCluster"):
            self._proposals.setdefault("dra", Proposal("dra", "is a GPUCluster", _place(manifest)))
        elif key == ("", "ConfigMap"):
            self._plugin.add_config_map(value, lambda: _place(manifest))
        elif key == ("nvidia.com", "ClusterPolicy"):
            self._plugin.add_policy(value, lambda: _place(manifest))
        else:
            for values in values_of(manifest):
                self._plugin.add_values(values, lambda: _place(manifest))

    def _add_named(self, manifest: Manifest, decoder: Decoder, named: Named[Any]) -> None:
        if named.is_refused:
            return
        found = decoded(manifest.value, decoder)
        if found is None:
            named.refuse("one cannot be read", _place(manifest))
        elif found[1] is not None:
            named.add(*found, _place(manifest))

    def _add_queue(self, manifest: Manifest) -> None:
        """Add a queue named `default`. In files, kustomize or a tool may set the namespace that is not there."""
        metadata = manifest.value.get("metadata")
        if not isinstance(metadata, dict) or metadata.get("name") != "default" or self._queues.is_refused:
            return
        namespace = metadata.get("namespace") or self._namespace
        if not namespace and is_pipe(manifest.file):
            namespace = DEFAULT_NAMESPACE
        if namespace and isinstance(namespace, str):
            self._queues.add(namespace, namespace, _place(manifest))

    def known(self, proposals: Sequence[Proposal]) -> Knowledge:
        """What all objects together show."""
        plugin, about_plugin = self._plugin.read()
        facts = Facts(
            device_classes=self._device_classes.values() or None,
            device_plugin=plugin,
            default_queues=self._queues.values() or None,
        )
        strategies, refused = None, frozenset() if plugin is None else self._plugin.refused
        if plugin is not None and plugin.configs and self._says_sharing and not refused:
            strategies = frozenset(config.strategy for config in plugin.configs)
        shown = Shown(self._nodes.values(), self._runtime_classes.values(), strategies, refused)
        all_named = (self._nodes, self._runtime_classes, self._device_classes, self._queues)
        said = [*about_plugin, *(named.read() for named in all_named)]
        return Knowledge(facts, shown, _evidence(said, (*proposals, *self._proposals.values())))


def known_from(first: FirstPass, settings: Settings, namespace: str, *, says_sharing: bool) -> Knowledge:
    """Return what the inputs of a first pass show; with `says_sharing` also how nodes share GPUs.

    `namespace` is that of objects that name none.
    """
    gke = () if first.gke is None else (Proposal("gke", "has labels of GKE", first.gke),)
    if not first.is_whole and first.has_words and says_sharing:
        why = f"the inputs have more than {MOST_BYTES // 1024**2} MiB; describe the cluster with --facts"
        return Knowledge(evidence=_evidence([Refused("", why)], gke))
    if not first.sources:
        return Knowledge(evidence=_evidence([], gke))
    cluster = Cluster(settings, namespace, says_sharing=says_sharing)
    for source in _once(first.sources):
        cluster.read(source)
    return cluster.known(gke)


def _once(sources: Sequence[Source]) -> Iterator[Source]:
    """Yield sources, each once. A file that is named counts as named, also where a folder that is named has it."""
    here = str(Path.cwd())
    named = {normpath(join(here, source.file)) for source in sources if source.named}
    seen = set()
    for source in sources:
        file = normpath(join(here, source.file))
        key = file, source.first_line, source.number
        if key not in seen and (source.named or file not in named):
            seen.add(key)
            yield source


def _evidence(said: Iterable[Read | Refused | None], proposals: Sequence[Proposal]) -> Evidence | None:
    said = list(said)
    read = tuple(one for one in said if isinstance(one, Read))
    refused = tuple(one for one in said if isinstance(one, Refused))
    return Evidence(read, refused, tuple(proposals)) if read or refused or proposals else None


def _is_open(part: Named[Any] | PluginEvidence) -> bool:
    return not part.is_refused


def _is_object(value: dict[str, Any]) -> bool:
    return isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)


def _place(manifest: Manifest) -> Place:
    return Place(manifest.file, manifest.line)
