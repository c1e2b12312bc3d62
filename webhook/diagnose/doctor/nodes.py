"""Findings about the resources of nodes, and about descriptions of nodes that an autoscaler adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.cluster.stack import Program, Role, SeenNode
from webhook.cluster.trusted import Chosen, Stack
from webhook.diagnose.doctor.finding import Check, Finding, grouped, in_namespace, listed, of_nodes, several
from webhook.diagnose.doctor.seen import Seen, Template
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.sharing import CLOSED, cards_of, closed
from webhook.diagnose.words import named, reference
from webhook.policy.commands import Command
from webhook.policy.placement.cluster_objects import PluginConfig
from webhook.policy.placement.node_classes import CAPABLE, CARD_COUNT, CONFIG_LABEL, PRODUCT, REPLICAS, STRATEGY
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
    daemons = seen.of(Role.DAEMON)
    is_unready = any(one.ready < one.desired for one in daemons)
    found = []
    for node, plugin, chosen in seen.chosen_by:
        wanted = None if chosen is None or chosen.config is None else expected(node, chosen.config)
        if chosen is None or plugin is None or wanted is None:
            continue
        differs = any(node.offered.get(name, 0) != units for name, units in wanted.items())
        # Other findings say why the node offers nothing: its plugin or its daemon is not ready, or missing.
        waits = (
            plugin.ready < plugin.desired
            or not plugin.covers(node)
            or (seen.is_mps(node) and (is_unready or not any(one.covers(node) for one in daemons)))
        )
        if differs and (any(node.offered.values()) or not waits):
            key = chosen.key, str(sorted(wanted.items())), str(sorted(node.offered.items()))
            found.append((key, (node, plugin, chosen, wanted)))
    for nodes in grouped(found).values():
        yield _difference(seen, *nodes[0], [node.name for node, *_ in nodes])


def _difference(
    seen: Stack, node: SeenNode, plugin: Program, chosen: Chosen, wanted: Mapping[str, int], names: list[str]
) -> Finding:
    shared = ", ".join(f"{units} {name}" for name, units in wanted.items())
    offered = {name: units for name, units in node.offered.items() if units or name in wanted}
    amounts = ", ".join(f"{units} {name}" for name, units in offered.items()) or "no GPU"
    label = f"config {chosen.key}" if chosen.key else "no config"
    total = sum(node.offered.get(name, 0) for name in wanted) or sum(offered.values())
    evidence = (
        f"ConfigMap {chosen.where}, key {chosen.key}: {shared}" if chosen.key else f"without sharing: {shared}",
        f"allocatable: {amounts}",
        *((f"nodes: {listed(names)}",) if len(names) > 1 else ()),
    )
    # All programs that read the configuration.
    same = [one for one in seen.programs if one.maps == plugin.maps or one is plugin]
    programs = sorted(same, key=lambda one: one is not plugin)[:_MOST]
    words = [reference("DaemonSet", one.name) for one in programs]
    ends = any(one.role is Role.DAEMON for one in programs)
    lost = ", which ends each program that uses MPS on its nodes" if ends else ""
    remedy: Advice = Remedy(in_namespace(plugin.namespace, "rollout", "restart", *words), lost)
    if all(node.capacity.get(name, 0) == units for name, units in wanted.items()):
        cause = f"{label}, allocatable {total}: the device plugin reports GPUs as unhealthy"
        remedy = Remedy("look for Xid errors in the kernel log of the node; then ", remedy)
    elif not any(node.offered.values()):
        cause = f"{label}, allocatable 0: the plugin and the daemon run, and the plugin registered nothing"
        remedy = in_namespace(plugin.namespace, "logs", reference("DaemonSet", plugin.name))
    else:
        cause = f"{label}, allocatable {total}: the plugin was not restarted since the edit"
    return Finding("allocatable-differs", "error", several(names), cause, evidence, remedy, (plugin.namespace,))


_MOST = 8
"""Programs that a command restarts: a release of the chart has three."""


def _labels(seen: Stack) -> Iterator[Finding]:
    """Nodes that offer what their configuration says, and whose label of the strategy says something else."""
    found = grouped(
        ((plugin, node.labels[STRATEGY], chosen.config.strategy), node)
        for node, plugin, chosen in seen.chosen_by
        if plugin is not None and chosen is not None and chosen.config is not None
        if node.labels.get(STRATEGY, chosen.config.strategy) != chosen.config.strategy
        if all(node.offered.get(name) == units for name, units in (expected(node, chosen.config) or {}).items())
    )
    for (plugin, said, strategy), nodes in found.items():
        names = [node.name for node in nodes]
        cause = f"the label {STRATEGY}={said} is wrong: by its configuration the strategy is {strategy}"
        evidence = (f"nodes: {listed(names)}", "pods and the webhook tell shares by this label")
        discoveries = [one for one in seen.of(Role.DISCOVERY) if one.covers(nodes[0])]
        words = (f"{STRATEGY}-", f"{CAPABLE}-", f"{REPLICAS}-")
        remedy: Advice = Command("kubectl", "label", "node", named("node", names[0]), *words)
        if discoveries:
            first = discoveries[0]
            remedy = in_namespace(first.namespace, "rollout", "restart", reference("DaemonSet", first.name))
        remedy = of_nodes(seen.trust, plugin, remedy)
        yield Finding("labels-differ", "warning", several(names), cause, evidence, remedy, (plugin.namespace,))


def _closed(seen: Stack) -> Iterator[Finding]:
    """Nodes that take no new pods: their other findings may follow from it."""
    for key, names in grouped((key, node.name) for node in seen.nodes if (key := closed(node.taints))).items():
        one, evidence = named("node", names[0]), (f"nodes: {listed(names)}",)
        cause, subject = f"{CLOSED[key]}, and takes no new pods", several(names)
        if key == "node.kubernetes.io/unschedulable":
            uncordon = Command("kubectl", "uncordon", one)
            yield Finding(
                "node-cordoned", "warning", subject, cause, evidence, Remedy("after its maintenance: ", uncordon)
            )
        else:
            remedy = Remedy(Command("kubectl", "describe", "node", one), ", and look at the machine and its kubelet")
            yield Finding("node-not-ready", "error", subject, cause, evidence, remedy)


# Autoscaler templates.


def _templates(seen: Seen) -> Iterator[Finding]:
    found: dict[str, tuple[Template, str, int, SeenNode]] = {}
    templates = list(seen.templates)
    for one in seen.installations:
        for group in () if one.settings is None else one.settings.placement.node_groups:
            where = f"node group {group.name} in the settings of {one}"
            edit = f"placement.nodeGroups, {group.name}, resources"
            templates.append(Template(one.namespace, where, group.resources, group.labels, edit))
    for template in templates:
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


def _example(seen: Seen, template: Template, resource: str, units: int) -> SeenNode | None:
    """A node that offers more of the resource than it has cards, of which the template gives the cards.

    None if some node of its kind offers what the template says.
    """
    config = template.labels.get(CONFIG_LABEL)
    alike = [one for one in seen.chosen_by if config is None or one[0].labels.get(CONFIG_LABEL) == config]
    if not units or any(node.offered.get(resource, 0) == units for node, *_ in alike):
        return None
    sharing = (node for node, _, chosen in alike if _cards(node, chosen) == units)
    return next((node for node in sharing if any(node.offered.values())), None)


def _cards(node: SeenNode, chosen: Chosen | None) -> int | None:
    """The cards of a node that shares them; None for another node."""
    config = None if chosen is None else chosen.config
    shares = config is not None and config.strategy != "none"
    if not (shares or node.is_labelled_mps or (integer(node.labels.get(REPLICAS, "")) or 0) > 1):
        return None
    return cards_of(node.labels, node.offered, CARD, config)


STATES = (Check("states of nodes", ("nodes",), _closed),)
AMOUNTS = (Check("allocatable replicas", ("nodes", "daemonsets", "configurations"), _differs),)
CHECKS = (
    *AMOUNTS,
    Check("labels against configurations", ("nodes", "daemonsets", "configurations"), _labels),
    Check("templates of an autoscaler", ("nodes", "templates"), _templates),
)
