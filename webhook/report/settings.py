"""The settings as YAML with the origins of values, and the limits that come from the device plugin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.diagnostics import LINE
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import PluginConfigs
from webhook.policy.rules import ContainerLimits
from webhook.policy.settings.settings import Limits
from webhook.policy.verdict import Path
from webhook.report.data import yaml_text
from webhook.report.lines import counted


@dataclass(frozen=True, slots=True)
class YamlComments:
    """Comments on values by path, which leads through mappings to a value that is not a mapping with keys.

    `beside` stand on the line of the key, `below` on lines of their own after the value.
    """

    beside: Mapping[Path, str]
    below: Mapping[Path, Sequence[str]]


def commented_yaml(value: Mapping[str, Any], comments: YamlComments) -> str:
    """Return the value as `yaml_text` does, with comments."""
    return "".join(f"{line}\n" for line in _lines(value, comments, ()))


def _lines(value: Mapping[str, Any], comments: YamlComments, above: Path) -> Iterator[str]:
    for key, one in value.items():
        path = (*above, key)
        if isinstance(one, Mapping) and one:
            yield yaml_text({key: None}).removesuffix(" null\n")
            yield from (f"  {line}" for line in _lines(one, comments, path))
            continue
        lines = yaml_text({key: one}).splitlines()
        if path in comments.beside:
            # A comment within a text of several lines would be a part of it.
            lines[-1 if isinstance(one, str) else 0] += f"  {_comment(comments.beside[path])}"
        yield from lines
        yield from map(_comment, comments.below.get(path, ()))


def _comment(text: str) -> str:
    return f"# {printable(text, LINE)}"


_STRATEGIES = {"none": "whole cards", "mps": "MPS", "time-slicing": "time-slicing"}


def plugin_limits(limits: Limits, facts: Facts) -> Iterator[str]:
    """Yield the limits per container by configuration, with the number of its nodes where nodes are known."""
    plugin = facts.device_plugin
    if not limits.from_device_plugin:
        return
    if plugin is None:
        yield "the device plugin is unknown: the limits above apply"
        return
    configs = PluginConfigs(plugin)
    container = ContainerLimits(limits, configs)
    if plugin.configs is None:
        yield f"any configuration: MPS, {_limit(container.limit('mps', configs.accept_several_everywhere('mps')))}"
        return
    used = [configs.of(node) for node in facts.nodes or ()]
    nodes = Counter(None if config is None else config.name for config in used)
    for config in plugin.configs:
        used_by = "" if facts.nodes is None else f", {counted(nodes[config.name], 'node')}"
        yield f"{config.name}: {_STRATEGIES[config.strategy]}, {_limit(container.of_config(config))}{used_by}"
    if nodes[None]:
        yield f"unknown configuration: the limits above apply, {counted(nodes[None], 'node')}"


def _limit(limit: int | None) -> str:
    return "no limit" if limit is None else f"limit {limit}"
