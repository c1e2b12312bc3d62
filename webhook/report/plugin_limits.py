"""The limits that come from the device plugin, one line for each of its configurations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webhook.policy.placement.facts import Facts
from webhook.policy.placement.plugin_configs import PluginConfigs
from webhook.policy.placement.plugin_limits import ContainerLimits
from webhook.policy.settings.settings import Limits

_STRATEGIES = {"none": "whole cards", "mps": "MPS", "time-slicing": "time-slicing"}


def plugin_limits(limits: Limits, facts: Facts) -> Iterator[str]:
    """Yield the limits per container by configuration, with the number of its nodes where nodes are known.

    Nothing where the settings do not take limits from the device plugin (`limits.fromDevicePlugin`).
    """
    plugin = facts.device_plugin
    if not limits.from_device_plugin:
        return
    if plugin is None:
        yield "the device plugin is unknown: the limits above apply"
        return
    configs = PluginConfigs(plugin)
    container = ContainerLimits(limits, configs)
    if plugin.configs is None:
        yield f"any configuration: MPS, {_limit(container.limit('mps', configs.accepts_everywhere('mps')))}"
        return
    used = [configs.of(node) for node in facts.nodes or ()]
    nodes = Counter(None if config is None else config.name for config in used)
    for config in plugin.configs:
        counted = "" if facts.nodes is None else f", {_nodes(nodes[config.name])}"
        yield f"{config.name}: {_STRATEGIES[config.strategy]}, {_limit(container.of_config(config))}{counted}"
    if nodes[None]:
        yield f"unknown configuration: the limits above apply, {_nodes(nodes[None])}"


def _limit(limit: int | None) -> str:
    return "no limit" if limit is None else f"limit {limit}"


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number} nodes"
