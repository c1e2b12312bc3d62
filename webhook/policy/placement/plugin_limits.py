"""The limits on the replicas of a container: those of the settings, or those of the device plugin where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.policy.placement.node_index import NodeIndex
from webhook.policy.placement.node_sets import Nodes
from webhook.policy.placement.plugin_configs import Acceptance, PluginConfigs, SharingStrategy
from webhook.policy.settings.settings import Limits

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import PluginConfig


class ContainerLimits:
    """The limits by strategy and nodes. None stands for no limit.

    `static`: those of the settings. `depend_on_nodes`: the plugin's configuration decides, which nodes may differ in.
    """

    __slots__ = ("_configs", "_everywhere", "depend_on_nodes", "static")

    def __init__(self, limits: Limits, configs: PluginConfigs) -> None:
        self.static: dict[SharingStrategy, int | None] = {
            "mps": limits.per_container,
            "time-slicing": limits.time_slicing.per_container,
        }
        self._configs = configs
        self.depend_on_nodes = limits.from_device_plugin and configs.are_known
        self._everywhere = {strategy: configs.accepts_everywhere(strategy) for strategy in self.static}

    @property
    def least(self) -> int | None:
        """The smallest limit that any request could meet."""
        if self.depend_on_nodes:
            return 1
        in_force = [limit for limit in self.static.values() if limit is not None]
        return min(in_force) if in_force else None

    def of_config(self, config: PluginConfig) -> int | None:
        """The limit of nodes with a configuration that shares cards."""
        if config.strategy == "none":
            return None
        if not self.depend_on_nodes:
            return self.static[config.strategy]
        return self.limit(config.strategy, self._configs.accepts(config))

    def acceptance(self, strategy: SharingStrategy, resource: str, nodes: Nodes, index: NodeIndex) -> Acceptance:
        """What the plugin accepts on all of these nodes, which share the resource; without nodes, on all there are.

        UNKNOWN: the settings decide.
        """
        if not nodes:
            return self._everywhere[strategy]
        if nodes & index.accepting(strategy, resource, Acceptance.ONE):
            return Acceptance.ONE
        if not nodes & ~index.accepting(strategy, resource, Acceptance.MORE):
            return Acceptance.MORE
        return Acceptance.UNKNOWN if self._configs.have_names else self._everywhere[strategy]

    def limit(self, strategy: SharingStrategy, acceptance: Acceptance) -> int | None:
        """The limit where the plugin accepts this."""
        if acceptance is Acceptance.UNKNOWN:
            return self.static[strategy]
        return 1 if acceptance is Acceptance.ONE else None
