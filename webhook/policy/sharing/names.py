"""Names of configurations in objects: the default of charts and of the GPU operator, and the labels of nodes.

The values are those of NVIDIA/k8s-device-plugin deployments/helm/nvidia-device-plugin/values.yaml (`config`) and of
NVIDIA/gpu-operator deployments/gpu-operator/values.yaml (`devicePlugin.config`), whose section a ClusterPolicy has too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from webhook.policy.sharing.context import KIND
from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import at

VALUES: Final = (KIND[0], "DevicePluginValues")
"""The API group and the kind, known to this project only, by which values of a chart are checked as an object."""

NAMING: Final = frozenset((("", "Node"), ("nvidia.com", "ClusterPolicy")))
"""The kinds of objects that name a configuration."""

LABEL: Final = "nvidia.com/device-plugin.config"
"""The label by which a node chooses its configuration (cmd/config-manager/main.go)."""

CHARTS: Final = ("nvidia-device-plugin", "gpu-operator")


class Section(NamedTuple):
    """What the values of a chart, or a ClusterPolicy, say about configurations.

    `texts` is the key of the configurations that the section itself holds; empty where it holds none. `keys` are those
    that the chart reads.
    """

    path: Path
    held: Mapping[str, Any]
    texts: str
    keys: Collection[str]

    @property
    def names(self) -> Collection[str] | None:
        """The names of the configurations that the section itself holds; None where it holds none."""
        held = self.held.get(self.texts)
        return held.keys() if isinstance(held, dict) and held and self.held.get("create", True) is True else None


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


_PLUGIN: Final = ("config",), "map", frozenset(("name", "map", "default", "fallbackStrategies"))
_OPERATOR: Final = ("devicePlugin", "config"), "data", frozenset(("create", "name", "default", "data"))


def sections(value: Mapping[str, Any], group: str, kind: str) -> Iterator[Section]:
    """The sections of a ClusterPolicy, or of values."""
    if kind == "Node":
        return
    if group == "nvidia.com":
        path: Path = ("spec", "devicePlugin", "config")
        held = at(value, path)
        if isinstance(held, dict):
            yield Section(path, held, "", frozenset(("name", "default")))
        return
    for chart in ((), *((name,) for name in CHARTS)):
        for below, texts, keys in (_PLUGIN, _OPERATOR):
            held = at(value, (*chart, *below))
            if isinstance(held, dict) and (chart or _is_of_plugin(below, held)):
                yield Section((*chart, *below), held, texts, keys)


def _is_of_plugin(path: Path, held: Mapping[str, Any]) -> bool:
    """Whether a section is one of the two charts, and not of another chart with a key of this name."""
    if path != ("config",):
        return not _OPERATOR[2].isdisjoint(held)
    texts = held.get("map")
    found = [text for text in texts.values() if isinstance(text, str)] if isinstance(texts, dict) else []
    return any(word in text for text in found for word in ("sharing", "version: v1"))


def named_configs(value: Mapping[str, Any], group: str, kind: str) -> Iterator[NamedConfig]:
    """The names of configurations in an object of a kind that names some. An empty name stands for none."""
    if kind == "Node":
        path: Path = ("metadata", "labels", LABEL)
        yield from _named(path, at(value, path), None)
    for section in sections(value, group, kind):
        yield from _named((*section.path, "default"), section.held.get("default"), section.names)


def _named(path: Path, name: object, names: Collection[str] | None) -> Iterator[NamedConfig]:
    if isinstance(name, str) and name:
        yield NamedConfig(path, name, names)
