"""The device plugin as facts: its configurations, the default one, and its version, without the client that reads them.

The charts that deploy it are deployments/helm of NVIDIA/k8s-device-plugin, with the containers
`nvidia-device-plugin-ctr` and `nvidia-device-plugin-init`, and the GPU operator (NVIDIA/gpu-operator
assets/state-device-plugin/0500_daemonset.yaml), with `nvidia-device-plugin` and `config-manager-init`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from msgspec import Raw

from webhook.cluster.api_server import CONFIG_MAPS
from webhook.cluster.reading import Object, part
from webhook.diagnostics import Diagnostic, dotted
from webhook.manifests import documents
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import DevicePlugin, PluginConfig
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.sharing import config
from webhook.policy.sharing.objects import NO_CONFIG, DefaultRule

LARGEST: Final = 64 * 1024
"""Bytes of the largest configuration that is read: a hundred times a usual one."""

MOST_CONFIGS: Final = 1024
"""Configurations in one ConfigMap, which may have one for each node. A ConfigMap of 1 MiB has room for 100,000."""

Texts: TypeAlias = Mapping[str, bytes]
"""The configurations of one ConfigMap by key. A text that is too large is cut to one that is still too large."""


def parse_config_map(found: Raw) -> tuple[str, Texts]:
    """Read the texts of a ConfigMap. Raises msgspec.MsgspecError."""
    one = CONFIG_MAPS.decode(found)
    return one.metadata.name, _texts(one.data)


def _texts(data: Mapping[str, object] | None) -> Texts:
    texts = ((key, text) for key, text in (data or {}).items() if isinstance(text, str))  # else of a file
    return {key: text[: LARGEST + 1].encode(errors="replace") for key, text in texts}


class Text(NamedTuple):
    """A configuration of the plugin: the value of its document, and its meaning; None if the plugin refuses it.

    `problem` says why it has no meaning. `is_unread`: it has no value, or its value alone does not show the problem.
    """

    value: object
    config: PluginConfig | None
    problem: str = ""
    is_unread: bool = False


def read_text(key: str, data: bytes, mig_strategy: str | None = None) -> Text:
    """Read the configuration under one key of the plugin's ConfigMap, which is the first document of its text.

    `mig_strategy` is the plugin's environment variable MIG_STRATEGY, which overrides the file.
    """
    if len(data) > LARGEST:
        return Text(None, None, f"larger than {LARGEST} bytes", is_unread=True)
    found = next(documents("", data), None)
    if isinstance(found, Diagnostic):
        return Text(None, None, f"line {found.line}: {found.message}", is_unread=True)
    value = None if found is None else found.value
    try:
        return Text(value, config.parse(key, value, mig_strategy))
    except config.RefusedError as error:
        problem = f"{dotted(error.path) or 'the configuration'}: {error}"
        return Text(value, None, problem, is_unread=mig_strategy is not None)


class Configurations(NamedTuple):
    """A ConfigMap with configurations of the plugin, by `namespace/name`. `texts` is None if it does not exist."""

    where: str
    texts: Mapping[str, Text] | None

    @property
    def shares(self) -> bool:
        """Whether one of them shares cards."""
        return any(one.config is not None and one.config.strategy != "none" for one in (self.texts or {}).values())


def configurations(where: str, found: Object | None, mig_strategy: str | None) -> Configurations:
    """Read a ConfigMap of the plugin; None for one that does not exist."""
    if found is None:
        return Configurations(where, None)
    data = _texts(part(found, "data"))
    return Configurations(where, {key: read_text(key, data[key], mig_strategy) for key in sorted(data)[:MOST_CONFIGS]})


class PluginDaemonSet(NamedTuple):
    """The DaemonSet. `default` is None if no config-manager is known; `mig_strategy` overrides that of a file.

    `unconfigured`: nothing gives the plugin a configuration, so that no node shares its cards. `runtime_class`: the
    class of its pods; empty if they need none, and None if it is unknown.
    """

    version: str | None
    default: DefaultRule | None
    mig_strategy: str | None = None
    unconfigured: bool = False
    runtime_class: str | None = ""


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
    plugin = _daemon_set(source, daemon, problems)
    known = DevicePlugin(version=source.version or plugin.version, runtime_class=plugin.runtime_class)
    if not maps and plugin.unconfigured:
        known = replace(known, configs=(), default_config=NO_CONFIG)
    elif maps and None not in maps.values():
        found = _pooled(maps, plugin.mig_strategy, problems)
        if found is not None:
            configs = tuple(config for _, config in sorted(found.items()) if config is not None)
            known = replace(known, configs=configs, default_config=plugin.default and plugin.default.choose(found))
    return known, tuple(problems)


def _daemon_set(
    source: DevicePluginSource, daemon: Mapping[str, PluginDaemonSet] | None, problems: list[str]
) -> PluginDaemonSet:
    """The DaemonSet. Where none is set, the default order of NVIDIA's chart applies."""
    if source.daemon_set is None:
        return PluginDaemonSet(None, DefaultRule(), runtime_class=None)
    where = f"DaemonSet {source.daemon_set}"
    if not daemon:
        problems += [] if daemon is None else [f"{where} does not exist"]
        return PluginDaemonSet(None, None, runtime_class=None)
    (found,) = daemon.values()
    if source.version is None and found.version is None:
        problems.append(f"{where}: its image shows no version; set facts.devicePlugin.version")
    if found.default is None and source.config_maps:
        problems.append(f"{where}: it has no config-manager that shows the default configuration")
    return found


def _pooled(
    maps: Mapping[str, Mapping[str, Texts] | None], mig_strategy: str | None, problems: list[str]
) -> dict[str, PluginConfig | None] | None:
    """The configurations of several ConfigMaps by key, None for one that is unknown; None for too many of them."""
    found: dict[str, PluginConfig | None] = {}
    origin: dict[str, str] = {}
    for where, objects in maps.items():
        if not objects:
            problems.append(f"ConfigMap {where} does not exist")
        for texts in (objects or {}).values():
            if len(texts) > MOST_CONFIGS:
                problems.append(f"ConfigMap {where}: has more than {MOST_CONFIGS} configurations; all are unknown")
                return None
            for key in sorted(texts):
                read, place = read_text(key, texts[key], mig_strategy), f"ConfigMap {where}, key {printable(key)}"
                if read.config is None:
                    problems.append(f"{place}: {read.problem}")
                first = origin.setdefault(key, where)
                if first != where and found[key] != read.config:
                    problems.append(f"{place}: differs from the key in ConfigMap {first}")
                    found[key] = None
                else:
                    found[key] = read.config
    return found
