"""Names of configurations in objects: the default of charts and of the GPU operator, and the labels of nodes.

The values are those of NVIDIA/k8s-device-plugin deployments/helm/nvidia-device-plugin/values.yaml (`config`) and of
NVIDIA/gpu-operator deployments/gpu-operator/values.yaml (`devicePlugin.config`), whose section a ClusterPolicy has too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from webhook.policy.placement.node_classes import CONFIG_LABEL
from webhook.policy.sharing.context import KIND
from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import at

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


class Section(NamedTuple):
    """What the values of a chart, or a ClusterPolicy, say about configurations."""

    path: Path
    held: Mapping[str, Any]
    shape: Shape

    @property
    def names(self) -> Collection[str] | None:
        """The names of the configurations that the section itself holds, under either key; None if it holds none."""
        if not self.shape.texts or self.held.get("create", True) is not True:
            return None
        found = (self.held.get(key) for key in (self.shape.texts, *TEXTS))
        return next((held.keys() for held in found if isinstance(held, dict) and held), None)

    def texts(self) -> Iterator[Path]:
        """The paths to the texts that may be configurations, also under the key of the other chart."""
        for key in TEXTS:
            held = self.held.get(key)
            for name in held if isinstance(held, dict) else ():
                yield (*self.path, key, name)

    def is_of(self, chart: str, has_configurations: bool) -> bool:
        """Whether a section of values is that of a chart which deploys the plugin. Other charts have keys of its names.

        `chart` is the name of the chart where it is known, and otherwise empty. Then the content of the section tells:
        whether it has configurations of the plugin, or the keys of its chart and no other ones.
        """
        above = self.path[0] if self.path[0] in CHARTS else chart
        if above:
            return above == self.shape.chart
        return has_configurations or self.shape.marks <= self.held.keys() <= _PLUGIN.keys | _OPERATOR.keys


class ConfigNames(NamedTuple):
    """An object that names configurations. `known`: the names of those that are known; None if they are unknown."""

    value: Mapping[str, Any]
    group: str
    kind: str
    known: Collection[str] | None


class NamedConfig(NamedTuple):
    """A name of a configuration, and the names that exist; None if they are unknown."""

    path: Path
    name: str
    names: Collection[str] | None


def sections(value: Mapping[str, Any], group: str, kind: str) -> Iterator[Section]:
    """The sections of a ClusterPolicy, or those of values that may be sections of the plugin."""
    if kind == "Node":
        return
    shapes = (_POLICY,) if group == "nvidia.com" else (_PLUGIN, _OPERATOR)
    for chart in ((),) if group == "nvidia.com" else ((), *((name,) for name in CHARTS)):
        for shape in shapes:
            path = (*chart, *shape.path)
            held = at(value, path)
            if isinstance(held, dict):
                yield Section(path, held, shape)


def values_with(found: Iterable[Section]) -> dict[str, Any]:
    """Values that hold these sections alone."""
    values: dict[str, Any] = {}
    for section in found:
        holder = values
        for step in section.path[:-1]:
            holder = holder.setdefault(str(step), {})
        holder[str(section.path[-1])] = section.held
    return values


def named_configs(value: Mapping[str, Any], group: str, kind: str) -> Iterator[NamedConfig]:
    """The names of configurations in an object of a kind that names some. An empty name stands for none."""
    if kind == "Node":
        path: Path = ("metadata", "labels", CONFIG_LABEL)
        yield from _named(path, at(value, path), None)
    for section in sections(value, group, kind):
        yield from _named((*section.path, "default"), section.held.get("default"), section.names)


def _named(path: Path, name: object, names: Collection[str] | None) -> Iterator[NamedConfig]:
    if isinstance(name, str) and name:
        yield NamedConfig(path, name, names)
