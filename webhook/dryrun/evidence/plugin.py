"""Configurations of the device plugin among the objects of a run: in ConfigMaps, and in values of charts.

The charts are that of the plugin (NVIDIA/k8s-device-plugin deployments/helm/nvidia-device-plugin/values.yaml) and that
of the GPU operator (NVIDIA/gpu-operator deployments/gpu-operator/values.yaml), whose section `devicePlugin` a
ClusterPolicy has as well. Each stands alone, or below its name in the values of a chart of charts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from webhook.cluster.device_plugin import MOST_CONFIGS, DefaultRule, Texts, device_plugin, parse_config_map
from webhook.cluster.plugin_config import PluginConfigError, parse
from webhook.dryrun.evidence.objects import at, decoded
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import DevicePlugin
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import Settings
from webhook.report.evidence import MOST_PLACES, Place, Read, Refused

_PART = "devicePlugin"
_CHARTS = ("nvidia-device-plugin", "gpu-operator")
_WORDS = {"mps": "MPS", "time-slicing": "time-slicing", "none": "whole cards"}

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


class PluginEvidence:
    """Collects configurations, the ConfigMaps that others name, and the defaults for nodes without a label."""

    def __init__(self, settings: Settings) -> None:
        source = settings.facts.device_plugin
        self._wanted = () if source is None else source.config_maps
        self._version = None if source is None else source.version
        self._sources: list[_Source] = []
        self._named: set[str] = set()
        self._defaults: set[DefaultRule] = set()
        self._refused: Refused | None = None

    def add_config_map(self, value: dict[str, Any], place: Callable[[], Place]) -> None:
        """Add a ConfigMap if it holds a configuration that shares GPUs."""
        found = decoded(value, parse_config_map)
        if found is not None and _shares(found[1]):
            namespace = at(value, "metadata", "namespace")
            self._add(_Source(namespace if isinstance(namespace, str) else "", *found, place()))

    def add_policy(self, value: dict[str, Any]) -> None:
        """Add a ClusterPolicy of the GPU operator, which names the ConfigMap and the default."""
        self._add_operator(at(value, "spec", "devicePlugin", "config"))

    def add_values(self, values: dict[str, Any], place: Callable[[], Place]) -> None:
        """Add the values of a chart if they hold a configuration that shares GPUs, or name its ConfigMap."""
        for held in (values, *(at(values, chart) for chart in _CHARTS)):
            self._add_chart(at(held, "config"), place)
            section = at(held, "devicePlugin", "config")
            self._add_operator(section)
            self._add_texts(at(section, "data"), at(section, "name"), place)

    def _add_chart(self, section: object, place: Callable[[], Place]) -> None:
        """Add the section `config` of the plugin's own chart."""
        if not self._add_texts(at(section, "map"), "", place):
            return
        default, fallbacks = at(section, "default"), at(section, "fallbackStrategies")
        if isinstance(fallbacks, list) and all(isinstance(one, str) for one in fallbacks):
            rule = DefaultRule(fallbacks=tuple(fallbacks))
        else:
            rule = DefaultRule()
        self._defaults.add(replace(rule, name=default) if isinstance(default, str) else rule)

    def _add_operator(self, section: object) -> None:
        """Add the section `devicePlugin.config` of the operator, whose config-manager has no fallbacks."""
        name, default = at(section, "name"), at(section, "default")
        if isinstance(name, str) and name:
            self._named.add(name)
            self._defaults.add(DefaultRule(default if isinstance(default, str) else "", ()))

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

    def read(self) -> tuple[DevicePlugin | None, Read | Refused | None]:
        """Return the device plugin as its configurations describe it, None unless they agree, and what to report."""
        chosen = self._chosen()
        if self._refused is None and self._sources and not chosen:
            self._refused = Refused(
                _PART, "settings, values or a ClusterPolicy name another ConfigMap", (self._sources[0].place,)
            )
        plugin = self._agreed(chosen) if chosen and self._refused is None else None
        if plugin is None or self._refused is not None:
            return None, self._refused
        words = ", ".join(sorted({_WORDS[config.strategy] for config in plugin.configs or ()}))
        places = tuple(source.place for source in chosen[:MOST_PLACES])
        return plugin, Read(_PART, f"device plugin: {words}", places, len(chosen))

    def _chosen(self) -> list[_Source]:
        """The sources that the settings name, or else a ClusterPolicy or values name; all of them without a name."""
        if self._wanted:
            return [one for one in self._sources if any(_is_named(one, wanted) for wanted in self._wanted)]
        return [one for one in self._sources if one.name in self._named] if self._named else self._sources

    def _agreed(self, chosen: Sequence[_Source]) -> DevicePlugin | None:
        first, *others = chosen
        plugin = self._parsed(first)
        for other in others:
            if other.texts != first.texts and self._parsed(other) != plugin:
                self._refused = self._refused or Refused(_PART, "two configurations differ", (first.place, other.place))
        return plugin

    def _parsed(self, source: _Source) -> DevicePlugin | None:
        """The facts of one source; None for one that the plugin would reject in part."""
        where = source.where
        named = DevicePluginSource((where,), None, self._version)
        plugin, problems = device_plugin(named, {where: {source.name: source.texts}}, None)
        if problems:
            self._refused = Refused(_PART, printable(problems[0]), (source.place,))
            return None
        if not self._defaults:
            return plugin
        only, *others = self._defaults
        names = [config.name for config in plugin.configs or ()]
        return replace(plugin, default_config=None if others else only.choose(names))


def _is_named(source: _Source, wanted: str) -> bool:
    namespace, _, name = wanted.partition("/")
    return bool(source.name) and source.name == name and source.namespace in ("", namespace)


def _shares(texts: Texts) -> bool:
    """Whether one of the first texts is a configuration of the plugin that shares GPUs."""
    for key in sorted(texts)[:MOST_CONFIGS]:
        if b"sharing" in texts[key]:
            try:
                if parse(key, texts[key]).strategy != "none":
                    return True
            except PluginConfigError:
                continue
    return False
