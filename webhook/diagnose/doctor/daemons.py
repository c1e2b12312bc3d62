"""Findings about the MPS control daemon, and the label by which it chooses its nodes."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.cluster.stack import Program, Role, SeenNode, is_discovered
from webhook.cluster.trusted import Stack
from webhook.diagnose.doctor.finding import Check, Finding, in_namespace, listed, of_nodes, several
from webhook.diagnose.doctor.plugin import not_ready, not_tolerated
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.words import label, named, namespace, reference
from webhook.policy.commands import Command
from webhook.policy.placement.node_classes import CAPABLE

_MOST = 8
"""Labels that a command sets."""


def _missing(seen: Stack) -> Iterator[Finding]:
    nodes = [node.name for node in seen.mps_nodes()]
    if not nodes or seen.of(Role.DAEMON):
        return
    cause = "MPS is configured there, and the cluster has no DaemonSet of the MPS control daemon"
    remedy = (
        "install NVIDIA's device plugin with its chart and config.map or config.name, which make the chart deploy the "
        "daemon; a manifest of the plugin alone has none"
    )
    yield Finding("daemon-missing", "error", several(nodes), cause, (f"MPS nodes: {listed(nodes)}",), remedy)


def _wants_no_pods(seen: Stack) -> Iterator[Finding]:
    """MPS nodes that no DaemonSet of the daemon selects, by the reason (NVIDIA/k8s-device-plugin#712, #983)."""
    daemons = seen.of(Role.DAEMON)
    if not daemons:
        return
    found: dict[tuple[str, str], tuple[Advice, list[str]]] = {}
    for node in seen.mps_nodes():
        if not any(one.selects(node) for one in daemons):
            cause, remedy = _why_not_selected(seen, daemons[0], node)
            found.setdefault((cause, str(remedy)), (remedy, []))[1].append(node.name)
    namespaces = tuple(one.namespace for one in daemons)
    for (cause, _), (remedy, names) in found.items():
        evidence = [f"DaemonSet {one} wants {one.desired} pods" for one in daemons]
        evidence.append(f"MPS nodes that it does not select: {listed(names)}")
        yield Finding("daemon-wants-no-pods", "error", str(daemons[0]), cause, tuple(evidence), remedy, namespaces)


def _why_not_selected(seen: Stack, daemon: Program, node: SeenNode) -> tuple[str, Advice]:
    """The cause and the remedy."""
    discoveries = seen.of(Role.DISCOVERY)
    selector = {} if daemon.requirement is None else daemon.requirement.selector
    wanted = selector.get(CAPABLE)
    if wanted is None or node.labels.get(CAPABLE) == wanted:
        unmet = {key: value for key, value in selector.items() if node.labels.get(key) != value}
        keys = ", ".join(f"{key}={value}" for key, value in unmet.items())
        cause = f"the MPS control daemon selects no node that shares through MPS: {keys or 'its affinity'} is not met"
        words = [label(key, value) for key, value in list(unmet.items())[:_MOST]]
        mark = Command("kubectl", "label", "node", named("node", node.name), *words)
        return cause, of_nodes(seen.trust, daemon, mark if words else "change the affinity of the DaemonSet")
    if not discoveries:
        cause = f"nothing sets the label {CAPABLE}: GPU feature discovery is not installed"
        return (
            cause,
            Remedy(
                "set gfd.enabled: true in the values of the chart in namespace ",
                namespace(daemon.namespace),
                ", and upgrade it",
            ),
        )
    first = discoveries[0]
    discovery = reference("DaemonSet", first.name)
    restart = in_namespace(first.namespace, "rollout", "restart", discovery)
    if first.ready < first.desired or not any(one.covers(node) for one in discoveries):
        cause = f"the label {CAPABLE} is missing: GPU feature discovery does not run there"
        return cause, in_namespace(first.namespace, "describe", discovery)
    value = node.labels.get(CAPABLE)
    if value is None:
        return f"GPU feature discovery did not set the label {CAPABLE}", restart
    cause = f"the label {CAPABLE} is {value}: GPU feature discovery was not restarted since the edit, or a GPU uses MIG"
    return cause, restart


def _undiscovered(seen: Stack) -> Iterator[Finding]:
    """Nodes whose label was set by hand: other labels, by which pods and the webhook know shares, are missing."""
    names = [node.name for node in seen.nodes if node.labels.get(CAPABLE) == "true" and not is_discovered(node)]
    if not names:
        return
    cause = f"the label {CAPABLE} was set by hand: no other label of GPU feature discovery is there"
    evidence = (f"nodes: {listed(names)}", "nothing updates the label when the configuration changes")
    remedy = "set gfd.enabled: true in the values of the device plugin's chart, and upgrade it"
    yield Finding("label-without-discovery", "warning", several(names), cause, evidence, remedy)


CHECKS = (
    Check("MPS control daemon", ("nodes", "daemonsets", "pods"), _missing),
    Check("nodes of the MPS control daemon", ("nodes", "daemonsets"), _wants_no_pods),
    Check(
        "pods of the MPS control daemon", ("daemonsets",), lambda seen: not_ready(seen, Role.DAEMON, "daemon-not-ready")
    ),
    Check(
        "tolerations of the MPS control daemon",
        ("nodes", "daemonsets"),
        lambda seen: not_tolerated(seen.of(Role.DAEMON), seen.mps_nodes()),
    ),
    Check("labels of GPU feature discovery", ("nodes",), _undiscovered),
)
