"""Configurations of the device plugin, and names of some, as objects that checks take.

The values are those of NVIDIA/k8s-device-plugin deployments/helm/nvidia-device-plugin/values.yaml (`config`) and of
NVIDIA/gpu-operator deployments/gpu-operator/values.yaml (`devicePlugin.config`), whose section a ClusterPolicy has too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from webhook.policy.placement.node_classes import MOST_CLIENTS
from webhook.policy.verdict import Path, Violation
from webhook.policy.workloads.paths import at

KIND: Final = ("nvidia-device-plugin", "DevicePluginConfig")
"""The API group and the kind, known to this project only, by which a configuration is checked as an object."""

API_VERSION: Final = f"{KIND[0]}/v1"

_HEADER: Final = frozenset(("apiVersion", "kind", "metadata"))


class SharingConfig(NamedTuple):
    """A configuration of the device plugin: the value of its document. `version`: that of the plugin, if known.

    `unread` says why its text is not read; the value is None then. `path` leads to the text in a ConfigMap. `clients`:
    how many clients of MPS some known card serves, whichever nodes read the configuration.
    """

    value: object
    version: str | None = None
    unread: Violation | None = None
    path: Path = ()
    clients: int = MOST_CLIENTS


def as_object(value: Mapping[str, Any], namespace: str = "", name: str = "", kind: str = KIND[1]) -> dict[str, Any]:
    """A configuration, or values that name some, as an object with the name of the one that holds it."""
    metadata = {"namespace": namespace, "name": name}
    return {**value, "apiVersion": API_VERSION, "kind": kind, "metadata": metadata}


def of_object(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration that such an object stands for."""
    return {key: value for key, value in manifest.items() if key not in _HEADER}


VALUES: Final = (KIND[0], "DevicePluginValues")
"""The API group and the kind, known to this project only, by which values of a chart are checked as an object."""

NAMING: Final = frozenset((("", "Node"), ("nvidia.com", "ClusterPolicy")))
"""The kinds of objects that name a configuration."""

PLUGIN_CHART: Final = "nvidia-device-plugin"
CHARTS: Final = (PLUGIN_CHART, "gpu-operator")
"""The charts that deploy the device plugin. In the values of a chart of charts, each has a section of its name."""


class Shape(NamedTuple):
    """Where the values of a chart, or a ClusterPolicy, say which configurations the plugin has.

    `texts` is the key of the configurations that the section itself holds; empty where it holds none. `keys` are those
    that the chart reads, and `marks` those that show, together, the section in values of an unknown chart.
    """

    chart: str
    path: Path
    texts: str
    keys: frozenset[str]
    marks: frozenset[str] = frozenset()


_PLUGIN: Final = Shape(
    CHARTS[0],
    ("config",),
    "map",
    frozenset(("name", "map", "default", "fallbackStrategies")),
    frozenset(("fallbackStrategies",)),
)
_OPERATOR: Final = Shape(
    CHARTS[1],
    ("devicePlugin", "config"),
    "data",
    frozenset(("create", "name", "default", "data")),
    frozenset(("name", "default")),
)
_POLICY: Final = Shape("", ("spec", "devicePlugin", "config"), "", frozenset(("name", "default")))

TEXTS: Final = (_PLUGIN.texts, _OPERATOR.texts)
"""The keys of configurations. Users of one chart write that of the other."""


class ConfigSection(NamedTuple):
    """What the values of a chart, or a ClusterPolicy, say about configurations."""

    path: Path
    value: Mapping[str, Any]
    shape: Shape

    @property
    def names(self) -> Collection[str] | None:
        """The names of the configurations that the section itself holds, under either key; None if it holds none."""
        if not self.shape.texts or self.value.get("create", True) is not True:
            return None
        texts = (self.value.get(key) for key in (self.shape.texts, *TEXTS))
        return next((by_name.keys() for by_name in texts if isinstance(by_name, dict) and by_name), None)

    def texts(self) -> Iterator[Path]:
        """The paths to the texts that may be configurations, also under the key of the other chart."""
        for key in TEXTS:
            texts = self.value.get(key)
            for name in texts if isinstance(texts, dict) else ():
                yield (*self.path, key, name)

    def is_of(self, chart: str, has_configurations: bool) -> bool:
        """Whether a section of values is that of a chart which deploys the plugin. Other charts have keys of its names.

        `chart` is the name of the chart where it is known, and otherwise empty. Then the content of the section tells:
        whether it has configurations of the plugin, or the keys of its chart and no other ones.
        """
        above = self.path[0] if self.path[0] in CHARTS else chart
        if above:
            return above == self.shape.chart
        return has_configurations or self.shape.marks <= self.value.keys() <= _PLUGIN.keys | _OPERATOR.keys


class ConfigNames(NamedTuple):
    """An object that names configurations. `known`: the names of those that are known; None if they are unknown."""

    value: Mapping[str, Any]
    group: str
    kind: str
    known: Collection[str] | None


def sections(value: Mapping[str, Any], group: str, kind: str) -> Iterator[ConfigSection]:
    """The sections of a ClusterPolicy, or those of values that may be sections of the plugin."""
    if kind == "Node":
        return
    shapes = (_POLICY,) if group == "nvidia.com" else (_PLUGIN, _OPERATOR)
    for chart in ((),) if group == "nvidia.com" else ((), *((name,) for name in CHARTS)):
        for shape in shapes:
            path = (*chart, *shape.path)
            section = at(value, path)
            if isinstance(section, dict):
                yield ConfigSection(path, section, shape)


DISCOVERY: Final = "gfd"
"""The key of GPU feature discovery beside the section of the plugin's chart."""


def values_with(kept: Iterable[ConfigSection], of: Mapping[str, Any]) -> dict[str, Any]:
    """Values that hold these sections of others alone, and what they say about GPU feature discovery."""
    values: dict[str, Any] = {}
    for section in kept:
        holder = values
        for step in section.path[:-1]:
            holder = holder.setdefault(str(step), {})
        holder[str(section.path[-1])] = section.value
        if (discovery := at(of, (*section.path[:-1], DISCOVERY))) is not None:
            holder[DISCOVERY] = discovery
    return values


NO_CONFIG: Final = ""
"""Stands for the empty configuration: the node shares nothing."""


class DefaultRule(NamedTuple):
    """How the plugin's config-manager chooses the configuration of a node without a label.

    It is the default of a chart, or without one what the fallback strategies say, at first those of the chart
    (NVIDIA/k8s-device-plugin cmd/config-manager/main.go, `updateConfigName`).
    """

    name: str = ""
    fallbacks: tuple[str, ...] = ("named", "single")

    def choose(self, names: Collection[str]) -> str | None:
        """The name of the configuration, or NO_CONFIG. None: the config-manager fails."""
        if not names:
            return None
        if self.name:
            return self.name if self.name in names else None
        for fallback in self.fallbacks:
            match fallback:
                case "named" if "default" in names:
                    return "default"
                case "single" if len(names) == 1:
                    return next(iter(names))
                case "empty":
                    return NO_CONFIG
                case "named" | "single":
                    continue
                case _:
                    return None
        return None
