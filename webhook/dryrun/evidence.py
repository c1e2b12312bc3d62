"""Objects of a run that describe a cluster, as facts.

An object shows what exists, never that something else does not: a folder of manifests need not hold all nodes and
classes. Objects that contradict each other show nothing, since they may belong to several clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from webhook.cluster.classes import device_class, runtime_class, selecting
from webhook.cluster.device_plugin import MOST_CONFIGS, Texts, device_plugin, parse_config_map, read_text
from webhook.cluster.nodes import parser
from webhook.cluster.stack import program
from webhook.dryrun.check import MOST_BYTES, FirstPass
from webhook.dryrun.configurations import Values, at, claim, values_of
from webhook.dryrun.evaluation import DEFAULT_NAMESPACE
from webhook.dryrun.inputs import Input
from webhook.manifests import Builds, Document, Manifest, Source, documents, is_pipe
from webhook.manifests.objects import MOST_ERRORS, items_of
from webhook.policy.checks import LIMITING
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import (
    DevicePlugin,
    LimitScope,
    NamespaceLimit,
)
from webhook.policy.placement.facts import NOTHING_SHOWN, UNKNOWN, Facts, Shown
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.pods.quantity import NANO, QuantityError
from webhook.policy.pods.quantity import parse as parse_quantity
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.config import is_configuration, may_be_configuration
from webhook.policy.sharing.objects import CHARTS, PLUGIN_CHART, VALUES, ConfigSection, DefaultRule, sections
from webhook.policy.workloads.kinds import group_of
from webhook.report.model import MOST_PLACES, NO_EVIDENCE, Evidence, Place, Proposal, Read, Refused

_PART = "devicePlugin"
_WORDS = {"mps": "MPS", "time-slicing": "time-slicing", "none": "whole cards"}

_FILE = "config"
"""The name of a configuration that has a file of its own."""

MOST_SOURCES = 100
"""ConfigMaps and values with a configuration that are compared. Each may hold a mebibyte."""


class _Source(NamedTuple):
    """A ConfigMap with configurations, or values of a chart that make one. The names may be empty."""

    namespace: str
    name: str
    texts: Texts
    place: Place

    @property
    def where(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name or "of the values"

    def is_named(self, wanted: str) -> bool:
        """Return whether settings that name a ConfigMap may mean this one."""
        namespace, _, name = wanted.partition("/")
        return self.name == name and self.namespace in ("", namespace)


class _Choice(NamedTuple):
    """Which ConfigMap applies, empty for one that the chart makes, and how a node without a label is configured."""

    name: str
    default: DefaultRule


class PluginEvidence:
    """Collects configurations, and what chooses among them: the ConfigMap, and the default of nodes without a label."""

    def __init__(self, settings: Settings) -> None:
        source = settings.facts.device_plugin
        self._wanted = () if source is None else source.config_maps
        self._version = None if source is None else source.version
        self._sources: list[_Source] = []
        self._choices: dict[_Choice, Place] = {}
        self._unread: dict[tuple[str, str], str] = {}
        self._refused: Refused | None = None
        self.refused: frozenset[str] = frozenset()
        """The names of the configurations that the plugin refuses, beside others that show how nodes share cards."""

    def add_config_map(self, value: dict[str, Any], manifest: Manifest) -> bool:
        """Add a ConfigMap if it holds a configuration that shares GPUs. Return whether it does."""
        found = decoded(value, parse_config_map)
        if found is None or not _shares(found[1]):
            return False
        namespace = at(value, "metadata", "namespace")
        self._add(_Source(namespace if isinstance(namespace, str) else "", *found, _place(manifest)))
        return True

    def add_daemon_set(self, value: dict[str, Any]) -> None:
        """Add a DaemonSet, in case it is the device plugin that gets a ConfigMap and does not read it."""
        found = program(value)
        if found is not None:
            self._unread |= {(found.namespace, name): str(found) for name in found.unread}

    def add_file(self, text: bytes, manifest: Manifest) -> None:
        """Add a file with a configuration if it shares GPUs."""
        texts = {_FILE: text}
        if _shares(texts):
            self._add(_Source("", "", texts, _place(manifest)))

    def add_sections(self, found: Values, manifest: Manifest, of: tuple[str, str] = VALUES) -> None:
        """Add the values of a chart, or a ClusterPolicy of the GPU operator, which name ConfigMaps and defaults."""
        for section in sections(found.values, *of):
            holders = (at(found.values, *section.path[:end]) for end in range(1, len(section.path)))
            if not any(at(holder, "enabled") is False for holder in holders):
                chart = section.path[0] if section.path[0] in CHARTS else found.chart
                self._add_section(section, chart, manifest)

    def _add_section(self, section: ConfigSection, chart: object, manifest: Manifest) -> None:
        """Add the configurations of a section, and what it chooses; the operator knows no fallbacks.

        Charts other than the plugin's have a `config` with a `name`, too. Two choices that differ suffice for the
        report.
        """
        value, rule, shares = section.value, DefaultRule("", ()), False
        name, default, fallbacks = (value.get(key) for key in ("name", "default", "fallbackStrategies"))
        name = name if isinstance(name, str) else ""
        texts, is_of_plugin = value.get(section.shape.texts), section.shape.chart == PLUGIN_CHART
        if isinstance(texts, dict) and (is_of_plugin or value.get("create") is True):  # templates/plugin_config.yaml
            shares = self.add_config_map({"metadata": {"name": name}, "data": texts}, manifest)
        if is_of_plugin:
            rule = DefaultRule()
            if isinstance(fallbacks, list) and all(isinstance(one, str) for one in fallbacks):
                rule = rule._replace(fallbacks=tuple(fallbacks))
            is_known = chart == PLUGIN_CHART or isinstance(default, str) or isinstance(fallbacks, list)
            chooses = shares or bool(name and is_known)
        else:
            chooses = bool(name)
        choice = _Choice(name, rule._replace(name=default) if isinstance(default, str) else rule)
        is_wanted = not self._wanted or any(name == wanted.partition("/")[2] for wanted in self._wanted)
        if chooses and is_wanted and len(self._choices) <= 1 and choice not in self._choices:
            self._choices[choice] = _place(manifest)

    def _add(self, source: _Source) -> None:
        if any(one[:-1] == source[:-1] for one in self._sources):
            return  # of a file that is named twice
        if len(self._sources) < MOST_SOURCES:
            self._sources.append(source)
        else:
            self._refused = Refused(_PART, f"more than {MOST_SOURCES} configurations")

    def read(self) -> tuple[DevicePlugin | None, list[Read | Refused | None]]:
        """Return the device plugin as its configurations describe it, None unless they agree, and what to report."""
        known = [one for one in self._sources if (one.namespace, one.name) not in self._unread]
        if self._sources and not known:
            first = self._sources[0]
            names = printable(self._unread[first.namespace, first.name])
            why = f"DaemonSet {names} gets the ConfigMap, and reads no file of it; set CONFIG_FILE"
            self._refused = Refused(_PART, why, (first.place,))
        self._sources = known
        chosen = self._chosen()
        if self._refused is None and self._sources:
            if len(self._choices) > 1:
                self._refused = Refused(_PART, "two ClusterPolicies or values differ", tuple(self._choices.values()))
            elif not chosen:
                why = "settings, values or a ClusterPolicy name a ConfigMap that no input holds"
                self._refused = Refused(_PART, why, (self._sources[0].place,))
        plugin = self._agreed(chosen) if chosen and self._refused is None else None
        if plugin is None:
            return None, [self._refused]
        words = ", ".join(sorted({_WORDS[config.strategy] for config in plugin.configs or ()}))
        places = tuple(source.place for source in chosen[:MOST_PLACES])
        return plugin, [Read(_PART, f"device plugin: {words}", places, len(chosen)), self._refused]

    def _chosen(self) -> list[_Source]:
        """The sources that the settings name, or else a ClusterPolicy or values name; all of them without a name."""
        if self._wanted:
            return [one for one in self._sources if any(map(one.is_named, self._wanted))]
        names = {choice.name for choice in self._choices if choice.name}
        return [one for one in self._sources if one.name in names] if names else self._sources

    def _agreed(self, chosen: Sequence[_Source]) -> DevicePlugin | None:
        first, *others = chosen
        plugin = self._parsed(first)
        for other in others:
            if other.texts != first.texts and self._parsed(other) != plugin:
                self._refused = self._refused or Refused(_PART, "two configurations differ", (first.place, other.place))
                return None
        return plugin

    def _parsed(self, source: _Source) -> DevicePlugin | None:
        """The facts of one source; None if the plugin refuses all its configurations."""
        where = source.where
        named = DevicePluginSource((where,), None, self._version)
        plugin, problems = device_plugin(named, {where: {source.name: source.texts}}, None)
        if problems:
            self._refused = Refused(_PART, printable(problems[0]), (source.place,))
            known = {config.name for config in plugin.configs or ()}
            if not known:
                return None
            self.refused |= source.texts.keys() - known
            plugin = replace(plugin, version=None)  # lifts no limit, which a corrected configuration may set
        for choice in self._choices:
            plugin = replace(plugin, default_config=choice.default.choose(source.texts.keys()))
        return plugin


def _shares(texts: Texts) -> bool:
    """Whether one of the first texts is a configuration of the plugin that shares GPUs."""
    likely = (key for key in sorted(texts)[:MOST_CONFIGS] if may_be_configuration(texts[key]))
    found = (read_text(key, texts[key]).config for key in likely)
    return any(config is not None and config.strategy != "none" for config in found)


MOST = 10_000
"""Objects of a kind that are read as facts: a cluster has 5,000 nodes, and an index of them takes memory."""


class InputFacts(NamedTuple):
    """What is known of a cluster: facts, and what objects show that need not describe it in full.

    `evidence` is what the report says about it.
    """

    facts: Facts = UNKNOWN
    shown: Shown = NOTHING_SHOWN
    evidence: Evidence = NO_EVIDENCE


class ObjectsByName:
    """Objects of one kind by name. None of them counts if two of one name differ, or if there are too many."""

    def __init__(self, part: str, one: str, more: str) -> None:
        self._part = part
        self._words = one, more
        self._found: dict[str, tuple[Any, Place]] = {}
        self.refused: Refused | None = None
        """Why no further object can make these count."""

    def add(self, name: str, one: object, place: Place) -> None:
        """Add an object."""
        first, where = self._found.setdefault(name, (one, place))
        if first != one:
            self.refuse("two of one name differ", where, place)
        elif len(self._found) > MOST:
            self.refuse(f"more than {MOST:,}")

    def refuse(self, why: str, *places: Place) -> None:
        """Use none of the objects."""
        self.refused = self.refused or Refused(self._part, why, places)
        self._found.clear()

    def values(self) -> tuple[Any, ...]:
        """The objects in the order of their names, whatever the order of the inputs."""
        return tuple(self._found[name][0] for name in sorted(self._found))

    def read(self) -> Read | Refused | None:
        """Return what the report says; None without an object."""
        if not self._found:
            return self.refused
        count = len(self._found)
        places = tuple(place for _, place in islice(self._found.values(), MOST_PLACES))
        return Read(self._part, f"{count} {self._words[count > 1]}", places, count)


_PARTS = (
    ("nodes", "node", "nodes"),
    ("runtimeClasses", "RuntimeClass", "RuntimeClasses"),
    ("deviceClasses", "DeviceClass", "DeviceClasses"),
    ("defaultQueues", "default queue", "default queues"),
    ("namespaces", "namespace with a node selector", "namespaces with node selectors"),
    ("namespaceLimits", "object that limits a namespace", "objects that limit namespaces"),
)
"""The parts of the facts that objects with names show, and the words for one object and for more."""


class ClusterEvidence:
    """What the objects of a run say about their cluster. `says_sharing`: also how nodes share GPUs."""

    def __init__(self, settings: Settings, namespace: str, *, says_sharing: bool) -> None:
        self._says_sharing = says_sharing
        self._namespace = namespace
        self._parts = {part: ObjectsByName(part, *words) for part, *words in _PARTS}
        self._plugin = PluginEvidence(settings)
        self._proposals: dict[str, Proposal] = {}
        self._decoders: dict[tuple[str, str], tuple[str, Decoder]] = {
            ("node.k8s.io", "RuntimeClass"): ("runtimeClasses", runtime_class),
            ("", "Namespace"): ("namespaces", selecting),
        }
        if says_sharing:
            self._decoders["", "Node"] = "nodes", parser(Decisive.of(settings))
            self._decoders["resource.k8s.io", "DeviceClass"] = "deviceClasses", device_class

    def read(self, source: Input) -> None:
        """Read the objects of an input. What cannot be read is reported when it is checked."""
        errors = 0
        if isinstance(source, Builds):
            for one in source.objects:
                self._add(one)
            return
        for document in documents(source.file, source.data, source.first_line, source.number):
            if isinstance(document, Document):
                self._read_document(source, document)
            elif (errors := errors + 1) == MOST_ERRORS:
                return

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
            self._plugin.add_file(document.raw, manifest)
        elif not source.named or claim(file, document):  # other values that are named are an error
            self._plugin.add_sections(Values("", manifest), manifest)

    def _add(self, manifest: Manifest) -> None:
        value = manifest.value
        key = group_of(value["apiVersion"]), value["kind"]
        if key in self._decoders:
            part, decoder = self._decoders[key]
            self._add_named(manifest, decoder, self._parts[part])
        elif key == ("kueue.x-k8s.io", "LocalQueue"):
            if at(value, "metadata", "name") == "default" and (namespace := self._namespace_of(manifest)):
                self._parts["defaultQueues"].add(namespace, namespace, _place(manifest))
        elif key in LIMITING:
            if (namespace := self._namespace_of(manifest)) and (limits := namespace_limits(value, namespace)):
                self._parts["namespaceLimits"].add(f"{namespace}/{limits[0].owner}", limits, _place(manifest))
        elif key == ("nvidia.com", "GPUCluster"):
            self._proposals.setdefault("dra", Proposal("dra", "is a GPUCluster", _place(manifest)))
        elif key == ("apps", "DaemonSet"):
            self._plugin.add_daemon_set(value)
        elif key == ("", "ConfigMap"):
            self._plugin.add_config_map(value, manifest)
        elif key == ("nvidia.com", "ClusterPolicy"):
            self._plugin.add_sections(Values("", manifest), manifest, key)
        else:
            for values in values_of(manifest):
                self._plugin.add_sections(values, manifest)

    def _add_named(self, manifest: Manifest, decoder: Decoder, named: ObjectsByName) -> None:
        if named.refused is not None:
            return
        found = decoded(manifest.value, decoder)
        if found is None:
            named.refuse("one cannot be read", _place(manifest))
        elif found[1] is not None:
            named.add(*found, _place(manifest))

    def _namespace_of(self, manifest: Manifest) -> str:
        """The namespace of an object. In files, kustomize or a tool may set the namespace that is not there."""
        namespace = at(manifest.value, "metadata", "namespace") or self._namespace
        if not namespace and is_pipe(manifest.file):
            return DEFAULT_NAMESPACE
        return namespace if isinstance(namespace, str) else ""

    def known(self, proposals: Sequence[Proposal]) -> InputFacts:
        """What all objects together show."""
        plugin, about_plugin = self._plugin.read()
        shown_by = {part: named.values() for part, named in self._parts.items()}
        facts = Facts(
            namespaces=shown_by["namespaces"] or None,
            device_classes=shown_by["deviceClasses"] or None,
            device_plugin=plugin,
            default_queues=shown_by["defaultQueues"] or None,
            namespace_limits=tuple(chain.from_iterable(shown_by["namespaceLimits"])) or None,
        )
        strategies, refused = None, frozenset() if plugin is None else self._plugin.refused
        if plugin is not None and plugin.configs and self._says_sharing and not refused:
            strategies = frozenset(config.strategy for config in plugin.configs)
        shown = Shown(shown_by["nodes"], shown_by["runtimeClasses"], strategies, refused)
        said = [*about_plugin, *(named.read() for named in self._parts.values())]
        return InputFacts(facts, shown, _evidence(said, (*proposals, *self._proposals.values())))


def namespace_limits(value: dict[str, Any], namespace: str) -> tuple[NamespaceLimit, ...]:
    """What a LimitRange or a ResourceQuota allows; empty for a quota with scopes, which applies to some pods alone."""
    spec, owner = at(value, "spec"), f"{value['kind']} {at(value, 'metadata', 'name') or 'without name'}"
    found: list[tuple[LimitScope, object]] = []
    if value["kind"] == "LimitRange":
        items = at(spec, "limits")
        for item in items if isinstance(items, list) else ():
            found += [(scope, at(item, "max")) for scope in ("container", "pod") if at(item, "type") == scope.title()]
    elif not (at(spec, "scopes") or at(spec, "scopeSelector")):
        hard = at(spec, "hard")
        counted = hard.items() if isinstance(hard, dict) else ()
        found.append(("pod", {key.removeprefix(_COUNTED): most for key, most in counted if key.startswith(_COUNTED)}))
    limits = []
    for scope, amounts in found:
        for resource, most in amounts.items() if isinstance(amounts, dict) else ():
            with suppress(QuantityError):
                units, rest = divmod(parse_quantity(most), NANO)
                if "/" in resource and not rest and units >= 0:
                    limits.append(NamespaceLimit(namespace, owner, resource, units, scope))
    return tuple(limits)


_COUNTED = "requests."


def known_from(first: FirstPass, settings: Settings, namespace: str, *, says_sharing: bool) -> InputFacts:
    """Return what the inputs of a first pass show; with `says_sharing` also how nodes share GPUs.

    `namespace` is that of objects that name none.
    """
    gke = () if first.gke is None else (Proposal("gke", "has marks of GKE", first.gke),)
    if not first.is_whole and first.has_words and says_sharing:
        why = f"the inputs have more than {MOST_BYTES // 1024**2} MiB; describe the cluster with --facts"
        return InputFacts(evidence=_evidence([Refused("", why)], gke))
    if not first.sources:
        return InputFacts(evidence=_evidence([], gke))
    cluster = ClusterEvidence(settings, namespace, says_sharing=says_sharing)
    for source in first.sources:
        cluster.read(source)
    return cluster.known(gke)


def _evidence(said: Iterable[Read | Refused | None], proposals: Sequence[Proposal]) -> Evidence:
    said = list(said)
    read = tuple(one for one in said if isinstance(one, Read))
    refused = tuple(one for one in said if isinstance(one, Refused))
    return Evidence(read, refused, tuple(proposals))


def _is_object(value: dict[str, Any]) -> bool:
    return isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)


def _place(manifest: Manifest) -> Place:
    return Place(manifest.file, manifest.line)


Decoder: TypeAlias = Callable[[Raw], tuple[str, Any]]
"""Reads an object as the API server writes it: its name, and the facts about it. Raises msgspec.MsgspecError."""


def decoded(value: object, decoder: Decoder) -> tuple[str, Any] | None:
    """Return what a decoder reads in an object of a manifest; None for one that the API server would reject."""
    for as_written in (True, False):
        try:
            return decoder(Raw(msgspec.json.encode(value if as_written else _accepted(value))))
        except (msgspec.MsgspecError, OverflowError, RecursionError, TypeError, ValueError):
            continue
    return None


_QUANTITIES = ("capacity", "allocatable")
_TEXTS = ("labels", "nodeSelector", "data", "binaryData")
_DEEPEST = 4
"""Levels of mappings and lists that are read. The item `spec.taints[0]` is at the fourth."""


def _accepted(value: object, key: str = "", depth: int = _DEEPEST) -> object:
    """Return an object as the API server writes it: null becomes the zero value, and a number in a quantity text."""
    if isinstance(value, list) and depth:
        return [_accepted(one, "", depth - 1) for one in value]
    if not isinstance(value, dict) or not depth:
        return value
    if key in _QUANTITIES:
        texts = {name: str(one) for name, one in value.items() if type(one) in (int, float)}
        return {name: "0" if one is None else texts.get(name, one) for name, one in value.items()}
    if key in _TEXTS:
        return {name: "" if one is None else one for name, one in value.items()}
    return {name: _accepted(one, name, depth - 1) for name, one in value.items() if one is not None}
