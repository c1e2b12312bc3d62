"""The device plugin's configurations: which one a node uses, and whether it accepts more than one replica."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Literal

from webhook.policy.placement.certain_labels import may_have

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig, Strategy

CONFIG_LABEL = "nvidia.com/device-plugin.config"
"""The label that names a node's configuration (NVIDIA/k8s-device-plugin cmd/config-manager)."""

SharingStrategy = Literal["mps", "time-slicing"]


class Acceptance(Enum):
    """Whether the plugin accepts a request for more than one replica."""

    ONE = "one"
    MORE = "more"
    UNKNOWN = "unknown"


class PluginConfigs:
    """The known configurations. Without any, every node's configuration is unknown."""

    __slots__ = ("_by_name", "_plugin")

    def __init__(self, plugin: DevicePlugin | None) -> None:
        self._plugin = plugin
        configs = () if plugin is None else plugin.configs or ()
        self._by_name = {config.name: config for config in reversed(configs)}

    @property
    def are_known(self) -> bool:
        """Whether anything is known about the plugin."""
        return self._plugin is not None

    @property
    def have_names(self) -> bool:
        """Whether the configurations are known one by one, so that a node's may differ from another's."""
        return self._plugin is not None and self._plugin.configs is not None

    @property
    def default(self) -> str | None:
        """The configuration of nodes without the label; None if it is unknown."""
        return None if self._plugin is None else self._plugin.default_config

    @property
    def sharing(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the configurations that share cards, and of those that do not, in order."""
        names = sorted(self._by_name)
        shared = tuple(name for name in names if self._by_name[name].strategy != "none")
        return shared, tuple(name for name in names if name not in shared)

    def without(self, strategy: SharingStrategy) -> frozenset[str]:
        """The names of the configurations that do not have a strategy."""
        return frozenset(name for name, config in self._by_name.items() if config.strategy != strategy)

    def of(self, node: Node) -> PluginConfig | None:
        """The configuration of a node; None if it is unknown.

        The plugin ignores a label that names no configuration, and keeps the one that it had. An empty label counts as
        none (`updateConfigName` in cmd/config-manager/main.go).
        """
        if self._plugin is None or may_have(node, CONFIG_LABEL):
            return None
        name = node.labels.get(CONFIG_LABEL) or self._plugin.default_config
        if name == "":
            from webhook.policy.placement.cluster_objects import NO_CONFIG  # most command lines know no plugin

            return NO_CONFIG
        return None if name is None else self._by_name.get(name)

    def accepts(self, config: PluginConfig) -> Acceptance:
        """Whether the plugin with this configuration accepts more than one replica.

        For MPS the option defaults to true and counts from v0.20.0; for time-slicing it defaults to false
        (NVIDIA/k8s-device-plugin api/config/v1/sharing.go, NVIDIA/k8s-device-plugin#1762).
        """
        return self._accepts(config.strategy, config.fail_requests_greater_than_one)

    def _accepts(self, strategy: Strategy, refuses: bool | None) -> Acceptance:
        if strategy == "mps":
            heeded = self._plugin is not None and self._plugin.honours_option_for_mps
            return Acceptance.MORE if refuses is False and heeded else Acceptance.ONE
        return Acceptance.ONE if refuses else Acceptance.MORE

    def accepts_everywhere(self, strategy: SharingStrategy) -> Acceptance:
        """Whether the plugin accepts more on every node with this strategy, where the nodes are unknown."""
        if self._plugin is None:
            return Acceptance.UNKNOWN
        if self._plugin.configs is None:
            if strategy != "mps":
                return Acceptance.UNKNOWN
            refuses = self._plugin.fail_requests_greater_than_one
            if refuses is None and self._plugin.honours_option_for_mps:
                return Acceptance.UNKNOWN
            return self._accepts(strategy, refuses)
        found = {self.accepts(config) for config in self._by_name.values() if config.strategy == strategy}
        if not found:
            return Acceptance.UNKNOWN
        return Acceptance.ONE if Acceptance.ONE in found else Acceptance.MORE
