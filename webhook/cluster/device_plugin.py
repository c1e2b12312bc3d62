"""The device plugin as facts: its configurations, the default one, and its version, without the client that reads them.

The charts that deploy it are deployments/helm of NVIDIA/k8s-device-plugin, with the containers
`nvidia-device-plugin-ctr` and `nvidia-device-plugin-init`, and the GPU operator (NVIDIA/gpu-operator
assets/state-device-plugin/0500_daemonset.yaml), with `nvidia-device-plugin` and `config-manager-init`.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct

from webhook.cluster import plugin_config
from webhook.cluster.api_server import Metadata
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import DevicePlugin, PluginConfig
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.sharing.objects import NO_CONFIG, DefaultRule

MOST_CONFIGS: Final = 1024
"""Configurations in one ConfigMap, which may have one for each node. A ConfigMap of 1 MiB has room for 100,000."""

Texts: TypeAlias = Mapping[str, bytes]
"""The configurations of one ConfigMap by key. A text that is too large is cut to one that is still too large."""


class _ConfigMap(Struct, rename="camel"):
    metadata: Metadata
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


_CONFIG_MAPS: Final = msgspec.json.Decoder(_ConfigMap)


def parse_config_map(found: Raw) -> tuple[str, Texts]:
    """Read the texts of a ConfigMap, as files in the plugin's container (config-manager `getConfigFileNameMap`)."""
    one = _CONFIG_MAPS.decode(found)
    longest = plugin_config.LARGEST + 1
    texts = {key: text[:longest].encode(errors="replace") for key, text in (one.data or {}).items()}
    binary = {key: b64decode(text[: 4 * longest])[:longest] for key, text in (one.binary_data or {}).items()}
    return one.metadata.name, {key: text for key, text in (texts | binary).items() if not key.startswith("..")}


@dataclass(slots=True)
class _Pool:
    """Configurations of several ConfigMaps by key, and what is wrong with them."""

    mig_strategy: str | None
    found: dict[str, PluginConfig | None] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, where: str, key: str, text: bytes) -> None:
        """Add one key of the ConfigMap `where`. A key whose configuration is unknown stays without one."""
        config: PluginConfig | None = None
        try:
            config = plugin_config.parse(key, text, self.mig_strategy)
        except plugin_config.PluginConfigError as error:
            self.problems.append(f"ConfigMap {where}, key {printable(key)}: {error}")
        first = self.origin.setdefault(key, where)
        if first == where:
            self.found[key] = config
        elif self.found[key] != config:
            self.found[key] = None
            self.problems.append(f"ConfigMap {where}, key {printable(key)}: differs from the key in ConfigMap {first}")


def device_plugin(
    source: DevicePluginSource,
    maps: Mapping[str, Mapping[str, Texts] | None],
    daemon: Mapping[str, PluginDaemonSet] | None,
) -> tuple[DevicePlugin, tuple[str, ...]]:
    """Return the facts, and the problems of what was read, each in words for a log line.

    `maps` has what was read by `namespace/name`, and `daemon` the DaemonSet. None stands for what is unknown, and an
    empty mapping for an object that does not exist.
    """
    problems: list[str] = []
    plugin, default = _daemon_set_and_default(source, daemon, problems)
    version = source.version
    mig_strategy = None
    if plugin is not None:
        version, mig_strategy = version or plugin.version, plugin.mig_strategy
    unconfigured = DevicePlugin(version=version, runtime_class=None if plugin is None else plugin.runtime_class)
    if not maps and plugin is not None and plugin.unconfigured:
        return replace(unconfigured, configs=(), default_config=NO_CONFIG), tuple(problems)
    if not maps or None in maps.values():
        return unconfigured, tuple(problems)
    pool = _Pool(mig_strategy, problems=problems)
    for where, objects in maps.items():
        if not objects:
            problems.append(f"ConfigMap {where} does not exist")
        for texts in (objects or {}).values():
            if len(texts) > MOST_CONFIGS:
                problems.append(f"ConfigMap {where}: has more than {MOST_CONFIGS} configurations; all are unknown")
                return unconfigured, tuple(problems)
            for key in sorted(texts):
                pool.add(where, key, texts[key])
    configs = tuple(config for _, config in sorted(pool.found.items()) if config is not None)
    chosen = None if default is None else default.choose(pool.found)
    return replace(unconfigured, configs=configs, default_config=chosen), tuple(problems)


def _daemon_set_and_default(
    source: DevicePluginSource, daemon: Mapping[str, PluginDaemonSet] | None, problems: list[str]
) -> tuple[PluginDaemonSet | None, DefaultRule | None]:
    """The DaemonSet, and how a node without a label gets its configuration; None if that is unknown.

    Where no DaemonSet is set, the default order of NVIDIA's chart applies.
    """
    if source.daemon_set is None:
        return None, DefaultRule()
    if daemon is None:
        return None, None
    where = f"DaemonSet {source.daemon_set}"
    if not daemon:
        problems.append(f"{where} does not exist")
        return None, None
    (found,) = daemon.values()
    if source.version is None and found.version is None:
        problems.append(f"{where}: its image shows no version; set facts.devicePlugin.version")
    if found.default is None and source.config_maps:
        problems.append(f"{where}: it has no config-manager that shows the default configuration")
    return found, found.default


# The DaemonSet.

_TAG: Final = re.compile(r"v?0\.[0-9]{1,9}\.[0-9]{1,9}(?:[-+.][-0-9A-Za-z.+]{1,40})?")
"""A version of the plugin, such as v0.17.4-ubi9. Tags such as v25.3.0 are those of other components, and 1.0.0-beta6
is older than 0.5, so that only versions before 1 are understood."""


@dataclass(frozen=True, slots=True)
class PluginDaemonSet:
    """The DaemonSet. `default` is None if no config-manager is known; `mig_strategy` overrides that of a file.

    `unconfigured`: nothing gives the plugin a configuration, so that no node shares its cards. `runtime_class`: the
    class of its pods; empty if they need none.
    """

    version: str | None
    default: DefaultRule | None
    mig_strategy: str | None = None
    unconfigured: bool = False
    runtime_class: str = ""


def version_of(image: str) -> str | None:
    """Return the version of the plugin that an image's tag shows; None if it shows none, such as a digest alone."""
    name = image.partition("@")[0].rpartition("/")[2]
    tag = name.partition(":")[2]
    return tag if _TAG.fullmatch(tag) else None
