"""Findings about the MPS control daemon, and the label by which it chooses its nodes."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.cluster.stack import Program, Role, SeenNode, is_discovered
from webhook.cluster.trusted import Stack
from webhook.diagnose.doctor.finding import Check, Finding, about_nodes, command_of, grouped, listed, of_nodes
from webhook.diagnose.doctor.plugin import not_ready, not_tolerated
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.words import label, named, namespace
from webhook.policy.commands import Command
from webhook.policy.placement.node_classes import CAPABLE

_MOST = 8
"""Labels that a command sets."""


def _missing(seen: Stack) -> Iterator[Finding]:
    nodes = [node.name for node in seen.mps_nodes()]
    if nodes and not seen.of(Role.DAEMON):
        cause = "MPS is configured there, and the cluster has no DaemonSet of the MPS control daemon"
        remedy = (
            "install NVIDIA's device plugin with its chart and config.map or config.name, which make the chart deploy "
            "the daemon; a manifest of the plugin alone has none"
        )
        yield about_nodes(nodes, "daemon-missing", "error", cause, remedy)


def _wants_no_pods(seen: Stack) -> Iterator[Finding]:
    """MPS nodes that no DaemonSet of the daemon selects, by the reason (NVIDIA/k8s-device-plugin#712, #983)."""
    daemons = seen.of(Role.DAEMON)
    if not daemons:
        return
    found = (
        (cause, (remedy, node.name))
        for node in seen.mps_nodes()
        if not any(one.selects(node) for one in daemons)
        for cause, remedy in [_why_not_selected(seen, daemons[0], node)]
    )
    wants = [f"DaemonSet {one} wants {one.desired} pods" for one in daemons]
    namespaces = tuple(one.namespace for one in daemons)
    for cause, nodes in grouped(found).items():
        evidence = (*wants, f"MPS nodes that it does not select: {listed([name for _, name in nodes])}")
        yield Finding("daemon-wants-no-pods", "error", str(daemons[0]), cause, evidence, nodes[0][0], namespaces)


def _why_not_selected(seen: Stack, daemon: Program, node: SeenNode) -> tuple[str, Advice]:
    """The cause and the remedy."""
    selector = {} if daemon.requirement is None else daemon.requirement.selector
    unmet = [(key, value) for key, value in selector.items() if node.labels.get(key) != value]
    if CAPABLE not in dict(unmet):
        keys = ", ".join(f"{key}={value}" for key, value in unmet) or "its affinity"
        cause = f"the MPS control daemon selects no node that shares through MPS: {keys} is not met"
        words = [label(*one) for one in unmet[:_MOST]]
        mark = Command("kubectl", "label", "node", named("node", node.name), *words)
        return cause, of_nodes(seen.trust, daemon, mark if words else "change the affinity of the DaemonSet")
    discoveries = seen.of(Role.DISCOVERY)
    if not discoveries:
        chart = ("set gfd.enabled: true in the values of the chart in namespace ", namespace(daemon.namespace))
        cause = f"nothing sets the label {CAPABLE}: GPU feature discovery is not installed"
        return cause, Remedy(*chart, ", and upgrade it")
    first, value = discoveries[0], node.labels.get(CAPABLE)
    if first.ready < first.desired or not any(one.covers(node) for one in discoveries):
        cause = f"the label {CAPABLE} is missing: GPU feature discovery does not run there"
        return cause, command_of(first, "describe")
    cause = f"the label {CAPABLE} is {value}: GPU feature discovery was not restarted since the edit, or a GPU uses MIG"
    if value is None:
        cause = f"GPU feature discovery did not set the label {CAPABLE}"
    return cause, command_of(first, "rollout", "restart")


def _undiscovered(seen: Stack) -> Iterator[Finding]:
    """Nodes whose label was set by hand: other labels, by which pods and the webhook know shares, are missing."""
    names = [node.name for node in seen.nodes if node.labels.get(CAPABLE) == "true" and not is_discovered(node)]
    if names:
        cause = (
            f"the label {CAPABLE} was set by hand, and nothing updates it: no label of GPU feature discovery is there"
        )
        remedy = "set gfd.enabled: true in the values of the device plugin's chart, and upgrade it"
        yield about_nodes(names, "label-without-discovery", "warning", cause, remedy)


CHECKS = (
    Check("MPS control daemon", ("nodes", "daemonsets", "pods"), _missing),
    Check("nodes of the MPS control daemon", ("nodes", "daemonsets"), _wants_no_pods),
    Check("pods of the MPS control daemon", ("daemonsets",), lambda seen: not_ready(seen, Role.DAEMON)),
    Check(
        "tolerations of the MPS control daemon",
        ("nodes", "daemonsets"),
        lambda seen: not_tolerated(seen.of(Role.DAEMON), seen.mps_nodes()),
    ),
    Check("labels of GPU feature discovery", ("nodes",), _undiscovered),
)
