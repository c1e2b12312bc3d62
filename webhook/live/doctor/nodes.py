"""Findings about the resources of nodes, and about descriptions of nodes that an autoscaler adds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from webhook.cluster.stack import Program, Role, SeenNode
from webhook.cluster.trusted import Chosen, Stack
from webhook.live.doctor.finding import Check, Finding, in_namespace, listed, several
from webhook.live.doctor.seen import Seen, Template
from webhook.live.remedy import Advice, Remedy
from webhook.live.words import reference
from webhook.policy.placement.cluster_objects import PluginConfig
from webhook.policy.placement.node_classes import CARD_COUNT, CONFIG_LABEL, PRODUCT
from webhook.policy.placement.selector import integer
from webhook.policy.pods.gpu_resources import CARD, MIG


def expected(node: SeenNode, config: PluginConfig) -> dict[str, int] | None:
    """What a node offers with a configuration; None where the number of its cards or of its MIG devices decides.

    Without the label of the number, a multiple of the replicas is right.
    """
    if any(name.startswith(MIG) for name in (*node.capacity, *node.offered)) or "MIG" in node.labels.get(PRODUCT, ""):
        return None
    cards = integer(node.labels.get(CARD_COUNT, ""))
    if config.strategy == "none":
        return None if not cards else {CARD: cards}
    wanted = {}
    for one in config.resources:
        if one.name.startswith(MIG):
            continue
        offered = node.offered.get(one.name, 0)
        guess = max(1, -(-offered // one.replicas)) if one.replicas else 1
        wanted[one.name] = one.replicas * (cards or guess)
    return wanted or None


def _differs(seen: Stack) -> Iterator[Finding]:
    groups: dict[tuple[str, str, str], tuple[SeenNode, Chosen, Mapping[str, int], list[str]]] = {}
    for node in seen.nodes:
        chosen = seen.chosen(node)
        if chosen is None or chosen.config is None:
            continue
        wanted = expected(node, chosen.config)
        if wanted is None or all(node.offered.get(name, 0) == units for name, units in wanted.items()):
            continue
        if not any(node.offered.values()) and _is_explained(seen, node):
            continue
        key = chosen.key, str(sorted(wanted.items())), str(sorted(node.offered.items()))
        groups.setdefault(key, (node, chosen, wanted, []))[3].append(node.name)
    for first, its, units, names in groups.values():
        yield _difference(seen, first, its, units, names)


def _is_explained(seen: Stack, node: SeenNode) -> bool:
    """Whether another finding says why the node offers nothing: its plugin or its daemon is not ready, or missing."""
    plugin = seen.plugin_of(node)
    if plugin is None or plugin.ready < plugin.desired or not plugin.covers(node):
        return True
    daemons = seen.of(Role.DAEMON)
    if not seen.is_mps(node):
        return False
    return (
        not daemons or any(one.ready < one.desired for one in daemons) or not any(one.covers(node) for one in daemons)
    )


def _difference(seen: Stack, node: SeenNode, chosen: Chosen, wanted: Mapping[str, int], names: list[str]) -> Finding:
    shared = ", ".join(f"{units} {name}" for name, units in wanted.items())
    offered = {name: units for name, units in node.offered.items() if units or name in wanted}
    amounts = ", ".join(f"{units} {name}" for name, units in offered.items()) or "no GPU"
    label = f"config {chosen.key}" if chosen.key else "no config"
    total = sum(node.offered.get(name, 0) for name in wanted) or sum(offered.values())
    plugin = seen.plugin_of(node)
    restart = "restart the device plugin" if plugin is None else _restart(seen, plugin)
    remedy: Advice
    evidence = (
        f"ConfigMap {chosen.where}, key {chosen.key}: {shared}" if chosen.key else f"without sharing: {shared}",
        f"allocatable: {amounts}",
        *((f"nodes: {listed(names)}",) if len(names) > 1 else ()),
    )
    if all(node.capacity.get(name, 0) == units for name, units in wanted.items()):
        cause = f"{label}, allocatable {total}: the device plugin reports GPUs as unhealthy"
        remedy = Remedy("look for Xid errors in the kernel log of the node; then ", restart)
    elif not any(node.offered.values()):
        cause = f"{label}, allocatable 0: the plugin and the daemon run, and the plugin registered nothing"
        logs = None if plugin is None else in_namespace(plugin.namespace, "logs", reference("DaemonSet", plugin.name))
        remedy = logs or "start the plugin"
    else:
        cause = f"{label}, allocatable {total}: the plugin was not restarted since the edit"
        remedy = restart
    namespaces = () if plugin is None else (plugin.namespace,)
    return Finding("allocatable-differs", "error", several(names), cause, evidence, remedy, namespaces)


def _restart(seen: Stack, plugin: Program) -> Remedy:
    """The command that restarts all programs which read the configuration."""
    same = [one for one in seen.programs if one.maps == plugin.maps or one is plugin]
    ordered = sorted(same, key=lambda one: one is not plugin)[:_MOST]
    names = [reference("DaemonSet", one.name) for one in ordered]
    ends = any(one.role is Role.DAEMON for one in ordered)
    lost = ", which ends each program that uses MPS on its nodes" if ends else ""
    return Remedy(in_namespace(plugin.namespace, "rollout", "restart", *names), lost)


_MOST = 8
"""Programs that a command restarts: a release of the chart has three."""


# Autoscaler templates.


def _templates(seen: Seen) -> Iterator[Finding]:
    found: dict[str, tuple[Template, str, int, SeenNode]] = {}
    for template in (*seen.templates, *_of_settings(seen)):
        for resource, units in template.resources.items():
            node = _example(seen, template, resource, units)
            if node is not None:
                found[template.where] = (template, resource, units, node)
    for template, resource, units, node in found.values():
        offered = ", ".join(f"{amount} {name}" for name, amount in node.offered.items() if amount)
        cause = f"it says {units} {resource} for each node: the number of cards, and not of replicas"
        evidence = (f"node {node.name}, which is of the same kind, offers {offered}", f"field: {template.edit}")
        remedy, namespaces = "set the field to what a node offers", (template.namespace,)
        yield Finding("template-counts-cards", "warning", template.where, cause, evidence, remedy, namespaces)


def _of_settings(seen: Seen) -> Iterator[Template]:
    for one in seen.installed.installations:
        for group in () if one.settings is None else one.settings.placement.node_groups:
            where = f"node group {group.name} in the settings of {one}"
            edit = f"placement.nodeGroups, {group.name}, resources"
            yield Template(one.namespace, where, group.resources, group.labels, edit)


def _example(seen: Seen, template: Template, resource: str, units: int) -> SeenNode | None:
    """A node that offers more of the resource than it has cards, of which the template gives the cards.

    None if some node of its kind offers what the template says.
    """
    by_config: dict[bool, list[SeenNode]] = defaultdict(list)
    for node in seen.nodes:
        if CONFIG_LABEL not in template.labels or node.labels.get(CONFIG_LABEL) == template.labels[CONFIG_LABEL]:
            by_config[node.offered.get(resource, 0) == units].append(node)
    if by_config[True] or not units:
        return None
    return next((node for node in by_config[False] if _cards(seen, node) == units and any(node.offered.values())), None)


def _cards(seen: Stack, node: SeenNode) -> int | None:
    """The cards of a node that shares them, by its label, or by its configuration; None for another node."""
    chosen = seen.chosen(node)
    shares = chosen is not None and chosen.config is not None and chosen.config.strategy != "none"
    if not (shares or node.is_labelled_mps or (integer(node.labels.get("nvidia.com/gpu.replicas", "")) or 0) > 1):
        return None
    counted = integer(node.labels.get(CARD_COUNT, ""))
    if counted is not None or chosen is None or chosen.config is None:
        return counted
    shared = next((one for one in chosen.config.resources if node.offered.get(one.name)), None)
    return None if shared is None else node.offered[shared.name] // shared.replicas


AMOUNTS = (Check("allocatable replicas", ("nodes", "daemonsets", "configurations"), _differs),)
CHECKS = (
    *AMOUNTS,
    Check("templates of an autoscaler", ("nodes", "templates"), _templates),
)
