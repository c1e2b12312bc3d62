"""Configurations of the device plugin among the objects of a run: in ConfigMaps, and in values of charts.

A ClusterPolicy of the GPU operator has the section `devicePlugin` of its chart as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from webhook.cluster.device_plugin import MOST_CONFIGS, Texts, device_plugin, parse_config_map
from webhook.cluster.plugin_config import PluginConfigError, parse
from webhook.dryrun.charts import Values, at
from webhook.dryrun.evidence.objects import decoded
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import DevicePlugin
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.defaults import DefaultRule
from webhook.policy.sharing.names import CHARTS, PLUGIN_CHART
from webhook.policy.sharing.words import may_be_configuration
from webhook.report.evidence import MOST_PLACES, Place, Read, Refused

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
        self._refused: Refused | None = None
        self.refused: frozenset[str] = frozenset()
        """The names of the configurations that the plugin refuses, beside others that show how nodes share cards."""

    @property
    def is_refused(self) -> bool:
        """Whether no further object can make the configurations count."""
        return self._refused is not None

    def add_config_map(self, value: dict[str, Any], place: Callable[[], Place]) -> None:
        """Add a ConfigMap if it holds a configuration that shares GPUs."""
        found = decoded(value, parse_config_map)
        if found is not None and _shares(found[1]):
            namespace = at(value, "metadata", "namespace")
            self._add(_Source(namespace if isinstance(namespace, str) else "", *found, place()))

    def add_file(self, text: bytes, place: Callable[[], Place]) -> None:
        """Add a file with a configuration if it shares GPUs."""
        texts = {_FILE: text}
        if _shares(texts):
            self._add(_Source("", "", texts, place()))

    def add_policy(self, value: dict[str, Any], place: Callable[[], Place]) -> None:
        """Add a ClusterPolicy of the GPU operator, which names the ConfigMap and the default."""
        self._add_operator(at(value, "spec", "devicePlugin"), place)

    def add_values(self, found: Values, place: Callable[[], Place]) -> None:
        """Add the values of a chart if they hold a configuration that shares GPUs, or name its ConfigMap."""
        self._add_charts(found.chart, found.values, place)
        for chart in CHARTS:
            held = at(found.values, chart)
            if at(held, "enabled") is not False:
                self._add_charts(chart, held, place)

    def _add_charts(self, chart: str, values: object, place: Callable[[], Place]) -> None:
        """Add the values of one chart. Its name is unknown for a file with values."""
        self._add_plugin(chart, at(values, "config"), place)
        section = at(values, "devicePlugin")
        config = self._add_operator(section, place)
        if at(config, "create") is True:  # templates/plugin_config.yaml
            self._add_texts(at(config, "data"), at(config, "name"), place)

    def _add_plugin(self, chart: str, section: object, place: Callable[[], Place]) -> None:
        """Add the section `config` of the plugin's own chart. Other charts have a `config` with a `name`, too."""
        name, default, fallbacks = (at(section, key) for key in ("name", "default", "fallbackStrategies"))
        name = name if isinstance(name, str) else ""
        is_of_plugin = chart == PLUGIN_CHART or isinstance(default, str) or isinstance(fallbacks, list)
        if not self._add_texts(at(section, "map"), name, place) and not (name and is_of_plugin):
            return
        rule = DefaultRule()
        if isinstance(fallbacks, list) and all(isinstance(one, str) for one in fallbacks):
            rule = replace(rule, fallbacks=tuple(fallbacks))
        self._choose(_Choice(name, replace(rule, name=default) if isinstance(default, str) else rule), place)

    def _add_operator(self, section: object, place: Callable[[], Place]) -> object:
        """Add the section `devicePlugin` of the operator, which knows no fallbacks, and return its `config`."""
        config = at(section, "config") if at(section, "enabled") is not False else None
        name, default = at(config, "name"), at(config, "default")
        if isinstance(name, str) and name:
            self._choose(_Choice(name, DefaultRule(default if isinstance(default, str) else "", ())), place)
        return config

    def _choose(self, choice: _Choice, place: Callable[[], Place]) -> None:
        """Add a choice, unless the settings name other ConfigMaps. Two that differ suffice for the report."""
        is_wanted = not self._wanted or any(choice.name == wanted.partition("/")[2] for wanted in self._wanted)
        if is_wanted and len(self._choices) <= 1 and choice not in self._choices:
            self._choices[choice] = place()

    def _add_texts(self, texts: object, name: object, place: Callable[[], Place]) -> bool:
        """Add the configurations of values. Return whether they share GPUs."""
        if not isinstance(texts, dict):
            return False
        held = {"metadata": {"name": name if isinstance(name, str) else ""}, "data": texts}
        found = decoded(held, parse_config_map)
        if found is None or not _shares(found[1]):
            return False
        self._add(_Source("", *found, place()))
        return True

    def _add(self, source: _Source) -> None:
        if len(self._sources) < MOST_SOURCES:
            self._sources.append(source)
        else:
            self._refused = Refused(_PART, f"more than {MOST_SOURCES} configurations")

    def read(self) -> tuple[DevicePlugin | None, list[Read | Refused]]:
        """Return the device plugin as its configurations describe it, None unless they agree, and what to report."""
        chosen = self._chosen()
        if self._refused is None and self._sources:
            if len(self._choices) > 1:
                self._refused = Refused(_PART, "two ClusterPolicies or values differ", tuple(self._choices.values()))
            elif not chosen:
                why = "settings, values or a ClusterPolicy name another ConfigMap"
                self._refused = Refused(_PART, why, (self._sources[0].place,))
        plugin = self._agreed(chosen) if chosen and self._refused is None else None
        said: list[Read | Refused] = [] if self._refused is None else [self._refused]
        if plugin is None:
            return None, said
        words = ", ".join(sorted({_WORDS[config.strategy] for config in plugin.configs or ()}))
        places = tuple(source.place for source in chosen[:MOST_PLACES])
        return plugin, [Read(_PART, f"device plugin: {words}", places, len(chosen)), *said]

    def _chosen(self) -> list[_Source]:
        """The sources that the settings name, or else a ClusterPolicy or values name; all of them without a name."""
        if self._wanted:
            return [one for one in self._sources if any(_is_named(one, wanted) for wanted in self._wanted)]
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


def _is_named(source: _Source, wanted: str) -> bool:
    namespace, _, name = wanted.partition("/")
    return bool(source.name) and source.name == name and source.namespace in ("", namespace)


def _shares(texts: Texts) -> bool:
    """Whether one of the first texts is a configuration of the plugin that shares GPUs."""
    for key in sorted(texts)[:MOST_CONFIGS]:
        if may_be_configuration(texts[key]):
            try:
                if parse(key, texts[key]).strategy != "none":
                    return True
            except PluginConfigError:
                continue
    return False
