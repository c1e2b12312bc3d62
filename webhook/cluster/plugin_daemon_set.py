"""What the device plugin's DaemonSet shows: the plugin's version, and which configuration nodes without a label use.

The charts that deploy it are deployments/helm of NVIDIA/k8s-device-plugin, with the containers
`nvidia-device-plugin-ctr` and `nvidia-device-plugin-init`, and the GPU operator (NVIDIA/gpu-operator
assets/state-device-plugin/0500_daemonset.yaml), with `nvidia-device-plugin` and `config-manager-init`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import Metadata

NO_CONFIG: Final = ""
"""Stands for the empty configuration: the node shares nothing."""

_PLUGIN: Final = ("nvidia-device-plugin-ctr", "nvidia-device-plugin")
_MANAGER: Final = "config-manager"
_IMAGE: Final = "k8s-device-plugin"
_TAG: Final = re.compile(r"v?0\.[0-9]{1,9}\.[0-9]{1,9}(?:[-+.][-0-9A-Za-z.+]{1,40})?")
"""A version of the plugin, such as v0.17.4-ubi9. Tags such as v25.3.0 are those of other components, and 1.0.0-beta6
is older than 0.5, so that only versions before 1 are understood."""


@dataclass(frozen=True, slots=True)
class DefaultRule:
    """How the plugin's config-manager chooses the configuration of a node without a label."""

    name: str = ""
    fallbacks: tuple[str, ...] = ("named", "single")

    def choose(self, names: Collection[str]) -> str | None:
        """Return the name of the configuration, or NO_CONFIG. None: the config-manager fails.

        The rules are those of `updateConfigName` in NVIDIA/k8s-device-plugin cmd/config-manager/main.go.
        """
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


@dataclass(frozen=True, slots=True)
class PluginDaemonSet:
    """The DaemonSet. `default` is None if no config-manager is known; `mig_strategy` overrides that of a file.

    `unconfigured`: nothing gives the plugin a configuration, so that no node shares its cards.
    """

    version: str | None
    default: DefaultRule | None
    mig_strategy: str | None = None
    unconfigured: bool = False


class _Variable(Struct, rename="camel"):
    name: str
    value: str = ""
    value_from: dict[str, Any] | None = None


class _Container(Struct, rename="camel"):
    name: str = ""
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None
    env_from: list[Any] | None = None


class _PodSpec(Struct, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None


class _Template(Struct):
    spec: _PodSpec


class _DaemonSetSpec(Struct):
    template: _Template


class _DaemonSet(Struct):
    metadata: Metadata
    spec: _DaemonSetSpec


_DAEMON_SETS: Final = msgspec.json.Decoder(_DaemonSet)


def parse(found: Raw) -> tuple[str, PluginDaemonSet]:
    """Read a DaemonSet."""
    one = _DAEMON_SETS.decode(found)
    pod = one.spec.template.spec
    containers = pod.containers or []
    plugin = _plugin(containers)
    version = None if plugin is None else version_of(plugin.image)
    mig = None if plugin is None else _environment(plugin).get("MIG_STRATEGY")
    all_containers = [*(pod.init_containers or []), *containers]
    unconfigured = plugin is not None and not any(map(_is_manager, all_containers)) and not _names_config(plugin)
    return one.metadata.name, PluginDaemonSet(version, _default_rule(all_containers), mig, unconfigured)


def version_of(image: str) -> str | None:
    """Return the version of the plugin that an image's tag shows; None if it shows none, such as a digest alone."""
    name = image.partition("@")[0].rpartition("/")[2]
    tag = name.partition(":")[2]
    return tag if _TAG.fullmatch(tag) else None


def _plugin(containers: Iterable[_Container]) -> _Container | None:
    """The plugin's container, by its name in the charts, or else by its image's."""
    found = [one for one in containers if not _is_manager(one)]
    for one in found:
        if one.name in _PLUGIN:
            return one
    for one in found:
        if re.split("[:@]", one.image.rpartition("/")[2])[0] == _IMAGE:
            return one
    return None


def _is_manager(container: _Container) -> bool:
    return (container.command or [""])[0] == _MANAGER


def _names_config(plugin: _Container) -> bool:
    """Whether an option or a variable may name a configuration file (cmd/nvidia-device-plugin/main.go)."""
    words = [*(plugin.command or ()), *(plugin.args or ())]
    return bool(plugin.env_from) or "CONFIG_FILE" in _environment(plugin) or any("config-file" in one for one in words)


def _default_rule(containers: Iterable[_Container]) -> DefaultRule | None:
    for one in containers:
        if _is_manager(one):
            variables = _environment(one)
            name, fallbacks = variables.get("DEFAULT_CONFIG", ""), variables.get("FALLBACK_STRATEGIES", "")
            if name is None or fallbacks is None:
                return None
            return DefaultRule(name, tuple(one.strip() for one in fallbacks.split(",")) if fallbacks else ())
    return None


def _environment(container: _Container) -> dict[str, str | None]:
    """The environment; None for a value that comes from elsewhere. The API server leaves out an empty value."""
    return {one.name: one.value if one.value_from is None else None for one in container.env or ()}
