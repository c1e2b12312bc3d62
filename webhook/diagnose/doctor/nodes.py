"""Findings about what nodes offer, about their labels, and about nodes that take no pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.cluster.stack import Program, Role, SeenNode
from webhook.cluster.trusted import Chosen, Stack
from webhook.diagnose.doctor.finding import Check, Finding, about_nodes, command_of, grouped, in_namespace, of_nodes
from webhook.diagnose.doctor.plugin import configured
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.sharing import CLOSED, closed
from webhook.diagnose.words import named, reference
from webhook.policy.commands import Command
from webhook.policy.placement.cluster_objects import PluginConfig
from webhook.policy.placement.node_classes import CAPABLE, CARD_COUNT, PRODUCT, REPLICAS, STRATEGY
from webhook.policy.placement.selector import integer
from webhook.policy.pods.gpu_resources import CARD, MIG

_MOST = 8
"""Programs that a command restarts: a release of the chart has three."""


def expected(node: SeenNode, config: PluginConfig) -> dict[str, int]:
    """What a node offers with a configuration; empty where the number of its cards or of its MIG devices decides.

    Without the label of the number, a multiple of the replicas is right.
    """
    if any(name.startswith(MIG) for name in (*node.capacity, *node.offered)) or "MIG" in node.labels.get(PRODUCT, ""):
        return {}
    cards = integer(node.labels.get(CARD_COUNT, ""))
    if config.strategy == "none":
        return {CARD: cards} if cards else {}
    return {
        one.name: one.replicas * (cards or max(1, -(-node.offered.get(one.name, 0) // (one.replicas or 1))))
        for one in config.resources
        if not one.name.startswith(MIG)
    }


def _differs(seen: Stack) -> Iterator[Finding]:
    found = []
    for node, plugin, chosen in configured(seen):
        wanted = {} if chosen.config is None else expected(node, chosen.config)
        differs = any(node.offered.get(name, 0) != units for name, units in wanted.items())
        # Other findings say why the node offers nothing: its plugin or its daemon is not ready, or missing.
        if differs and (any(node.offered.values()) or not _waits(seen, node, plugin)):
            key = chosen.key, _amounts(wanted), _amounts(node.offered)
            found.append((key, (node, plugin, chosen, wanted)))
    for nodes in grouped(found).values():
        yield _difference(seen, *nodes[0], [node.name for node, *_ in nodes])


def _amounts(units: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(units.items()))


def _waits(seen: Stack, node: SeenNode, plugin: Program) -> bool:
    """Whether the node lacks a pod of the plugin, or of the daemon, that is ready."""
    for programs in ([plugin], *([seen.of(Role.DAEMON)] if seen.is_mps(node) else [])):
        if any(one.ready < one.desired for one in programs) or not any(one.covers(node) for one in programs):
            return True
    return False


def _difference(
    seen: Stack, node: SeenNode, plugin: Program, chosen: Chosen, wanted: Mapping[str, int], names: list[str]
) -> Finding:
    offered = {name: units for name, units in node.offered.items() if units or name in wanted}
    total = sum(node.offered.get(name, 0) for name in wanted) or sum(offered.values())
    where = f"ConfigMap {chosen.where}, key {chosen.key}" if chosen.key else "without sharing"
    evidence = f"{where}: {_amounts(wanted)}", f"allocatable: {_amounts(offered) or 'no GPU'}"
    # All programs that read the configuration.
    programs = [plugin, *(one for one in seen.programs if one.maps == plugin.maps and one is not plugin)][:_MOST]
    words = [reference("DaemonSet", one.name) for one in programs]
    ends = any(one.role is Role.DAEMON for one in programs)
    lost = ", which ends each program that uses MPS on its nodes" if ends else ""
    remedy: Advice = Remedy(in_namespace(plugin.namespace, "rollout", "restart", *words), lost)
    why = "the plugin was not restarted since the edit"
    if all(node.capacity.get(name, 0) == units for name, units in wanted.items()):
        why = "the device plugin reports GPUs as unhealthy"
        remedy = Remedy("look for Xid errors in the kernel log of the node; then ", remedy)
    elif not any(node.offered.values()):
        why = "the plugin and the daemon run, and the plugin registered nothing"
        remedy = command_of(plugin, "logs")
    cause = f"{f'config {chosen.key}' if chosen.key else 'no config'}, allocatable {total}: {why}"
    return about_nodes(names, "allocatable-differs", "error", cause, remedy, *evidence, of=plugin)


def _labels(seen: Stack) -> Iterator[Finding]:
    """Nodes that offer what their configuration says, and whose label of the strategy says something else."""
    found = grouped(
        ((plugin, node.labels[STRATEGY], chosen.config.strategy), node)
        for node, plugin, chosen in configured(seen)
        if chosen.config is not None and node.labels.get(STRATEGY, chosen.config.strategy) != chosen.config.strategy
        if all(node.offered.get(name) == units for name, units in expected(node, chosen.config).items())
    )
    for (plugin, said, strategy), nodes in found.items():
        names = [node.name for node in nodes]
        cause = (
            f"the label {STRATEGY}={said}, by which pods know shares, is wrong: the configuration shares by {strategy}"
        )
        words = (f"{STRATEGY}-", f"{CAPABLE}-", f"{REPLICAS}-")
        remedy: Advice = Command("kubectl", "label", "node", named("node", names[0]), *words)
        for discovery in seen.of(Role.DISCOVERY):
            if discovery.covers(nodes[0]):
                remedy = command_of(discovery, "rollout", "restart")
        yield about_nodes(names, "labels-differ", "warning", cause, of_nodes(seen.trust, plugin, remedy), of=plugin)


def _closed(seen: Stack) -> Iterator[Finding]:
    """Nodes that take no new pods: their other findings may follow from it."""
    for key, names in grouped((key, node.name) for node in seen.nodes if (key := closed(node.taints))).items():
        one, cause = named("node", names[0]), f"{CLOSED[key]}, and takes no new pods"
        if key == "node.kubernetes.io/unschedulable":
            remedy = Remedy("after its maintenance: ", Command("kubectl", "uncordon", one))
            yield about_nodes(names, "node-cordoned", "warning", cause, remedy)
        else:
            remedy = Remedy(Command("kubectl", "describe", "node", one), ", and look at the machine and its kubelet")
            yield about_nodes(names, "node-not-ready", "error", cause, remedy)


STATES = (Check("states of nodes", ("nodes",), _closed),)
AMOUNTS = (Check("allocatable replicas", ("nodes", "daemonsets", "configurations"), _differs),)
CHECKS = (
    *AMOUNTS,
    Check("labels against configurations", ("nodes", "daemonsets", "configurations"), _labels),
)
