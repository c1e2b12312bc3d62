"""Findings about the device plugin: its pods, where they run, and its configurations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from webhook.diagnostics import dotted
from webhook.live.doctor.finding import Check, Finding, Severity, listed, several
from webhook.live.doctor.seen import Configurations, Program, Role, Seen, SeenNode, Text
from webhook.policy.checks import gps030_refused, gps031_without_effect, gps033_config_names
from webhook.policy.placement.cluster_objects import Taint
from webhook.policy.placement.node_classes import CONFIG_LABEL
from webhook.policy.sharing.context import SharingConfig
from webhook.policy.sharing.names import VALUES, ConfigNames
from webhook.report.lines import counted


def _missing(seen: Seen) -> Iterator[Finding]:
    """Nodes that say that they have GPUs, and on which no plugin runs.

    A plugin may be a program of the host, which offers GPUs. The MPS control daemon comes with a DaemonSet of a plugin.
    """
    plugins = seen.of(Role.PLUGIN)
    running = seen.pods.plugins
    bare = [
        node
        for node in seen.nodes
        if node.name not in running
        and not node.runs_stack_itself
        and not any(one.selects(node) for one in plugins)
        and (seen.of(Role.DAEMON) or not any(node.offered.values()))
    ]
    if not bare:
        return
    names = [node.name for node in bare]
    if not plugins:
        cause = "the labels show GPUs, and the cluster has no device plugin"
        remedy = "install NVIDIA's device plugin with its chart, or the GPU operator"
    else:
        cause = f"the labels show GPUs, and DaemonSet {plugins[0]} selects other nodes"
        label = "nvidia.com/gpu.present=true"
        remedy = f"kubectl label node {names[0]} {label}, or change nodeSelector and affinity of the DaemonSet"
    evidence = (f"nodes without a pod of the device plugin: {listed(names)}",)
    yield Finding("plugin-missing", "error", several(names), cause, evidence, remedy)


def _not_ready(seen: Seen) -> Iterator[Finding]:
    for one in seen.of(Role.PLUGIN):
        yield from not_ready(seen, one, "plugin-not-ready")


def not_ready(seen: Seen, one: Program, finding: str) -> Iterator[Finding]:
    """A finding if pods of a DaemonSet are not ready, with the words of the kubelet about the first ones."""
    if one.ready >= one.desired:
        return
    unready = [
        pod
        for pod in seen.pods.programs
        if (pod.namespace, pod.owner, pod.role) == (one.namespace, one.name, one.role) and not pod.is_ready
    ]
    evidence = [f"pod {pod.name} on {pod.node or 'no node'}: {pod.detail}".rstrip(": ") for pod in unready[:3]]
    cause = f"{one.ready} of {counted(one.desired, 'pod')} of the {one.role.value} ready"
    show = f"pod/{unready[0].name}" if unready else f"daemonset/{one.name}"
    remedy = f"kubectl -n {one.namespace} describe {show}, and kubectl -n {one.namespace} logs {show} --all-containers"
    yield Finding(finding, "error", str(one), cause, tuple(evidence), remedy)


def _two(seen: Seen) -> Iterator[Finding]:
    """Nodes on which two plugins run, each of which registers the resource (NVIDIA/k8s-device-plugin#647)."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    running: dict[str, set[str]] = defaultdict(set)
    for pod in seen.pods.programs:
        if pod.role is Role.PLUGIN and pod.node:
            running[pod.node].add(f"{pod.namespace}/{pod.owner or pod.name}")
    for name in sorted(running):
        if len(running[name]) > 1:
            found[tuple(sorted(running[name]))].append(name)
    for owners, nodes in found.items():
        cause = f"{len(owners)} device plugins run there, and each registers the same resource with the kubelet"
        evidence = (f"plugins: {listed(owners)}", f"nodes: {listed(nodes)}")
        # Which of them is the right one is not known here: any pod may name its container as the plugin's is named.
        remedy = "keep the one that you installed on purpose; uninstall the chart, or delete the owner, of the other"
        yield Finding("two-plugins", "error", several(nodes), cause, evidence, remedy)


def not_tolerated(programs: Iterable[Program], nodes: Iterable[SeenNode]) -> Iterator[Finding]:
    """Findings for nodes that some of these DaemonSets select, and whose taints none of those tolerates."""
    programs = list(programs)
    found: dict[tuple[str, str, str], tuple[Program, Taint, list[str]]] = {}
    for node in nodes:
        selecting = [one for one in programs if one.selects(node)]
        if not selecting or any(one.repelled(node) is None for one in selecting):
            continue
        first, taint = selecting[0], selecting[0].repelled(node)
        if taint is not None:
            found.setdefault((str(first), taint.key, taint.effect), (first, taint, []))[2].append(node.name)
    for one, taint, names in found.values():
        written = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        cause = f"DaemonSet {one} does not tolerate the taint {written}, so that no {one.role.value} starts there"
        evidence = (f"nodes with the taint: {listed(names)}",)
        toleration = f"{{key: {taint.key}, operator: Exists, effect: {taint.effect}}}"
        remedy = (
            f"add {toleration} to tolerations in the values of its chart, or: "
            f"kubectl -n {one.namespace} edit daemonset/{one.name}"
        )
        yield Finding("taint-not-tolerated", "error", several(names), cause, evidence, remedy)


def _plugin_not_tolerated(seen: Seen) -> Iterator[Finding]:
    return not_tolerated(seen.of(Role.PLUGIN), (one for one in seen.nodes if not one.runs_stack_itself))


# Configurations.


def _used(seen: Seen) -> set[tuple[str, str]]:
    """The ConfigMaps and keys that nodes use."""
    chosen = (seen.chosen(node) for node in seen.nodes)
    return {(one.where, one.key) for one in chosen if one is not None}


def _refused(seen: Seen) -> Iterator[Finding]:
    used = _used(seen)
    for found, key, text, program in _texts(seen):
        where, edit = f"ConfigMap {found.where}, key {key}", _edit(found.where)
        is_used = (found.where, key) in used
        severity: Severity = "error" if is_used else "warning"
        if text.unread:
            yield Finding(
                "GPS030",
                severity,
                where,
                f"the device plugin refuses its configuration: {text.unread}",
                _usage(is_used),
                edit,
            )
            continue
        for violation in gps030_refused.run(SharingConfig(text.value, program.version)):
            evidence = (f"{dotted(violation.path) or 'the document'}: {violation.message}", *_usage(is_used))
            yield Finding(
                "GPS030",
                severity,
                where,
                "the device plugin refuses its configuration, and nodes with it offer no GPUs",
                evidence,
                f"{violation.remedy}: {edit}",
            )


def _usage(is_used: bool) -> tuple[str, ...]:
    return ("nodes use this configuration",) if is_used else ("no node uses this configuration",)


def _without_effect(seen: Seen) -> Iterator[Finding]:
    for found, key, text, program in _texts(seen):
        if text.unread or not isinstance(text.value, dict):
            continue
        violations = list(gps031_without_effect.run(SharingConfig(text.value, program.version)))
        if violations:
            evidence = tuple(f"{dotted(one.path) or 'the document'}: {one.message}" for one in violations[:_MOST])
            cause = "a part of the configuration has no effect, or not the effect that it names"
            remedy = f"{violations[0].remedy}: {_edit(found.where)}"
            yield Finding("GPS031", "warning", f"ConfigMap {found.where}, key {key}", cause, evidence, remedy)


_MOST = 5


def _texts(seen: Seen) -> Iterator[tuple[Configurations, str, Text, Program]]:
    """The configurations, each with the DaemonSet that reads it."""
    programs = {one.maps: one for one in reversed(seen.of(Role.PLUGIN)) if one.config_map}
    for where, program in programs.items():
        found = seen.configurations.get(where)
        for key, text in () if found is None else (found.texts or {}).items():
            yield found, key, text, program  # type: ignore[misc]


def _edit(where: str) -> str:
    namespace, _, name = where.partition("/")
    return f"kubectl -n {namespace} edit configmap {name}"


def _names(seen: Seen) -> Iterator[Finding]:
    """Defaults that name no configuration, and ConfigMaps that do not exist."""
    for one in seen.of(Role.PLUGIN):
        found = seen.configurations.get(one.maps) if one.config_map else None
        if found is None:
            continue
        if found.texts is None:
            cause = f"the ConfigMap {found.where} of its configurations does not exist, and its pods do not start"
            yield Finding("GPS033", "error", f"DaemonSet {one}", cause, (), f"create the ConfigMap {found.where}")
            continue
        if one.default is None or not _needs_default(seen, one):
            continue
        section = {"default": one.default.name, "fallbackStrategies": list(one.default.fallbacks), "name": found.where}
        yield from _violations(
            f"DaemonSet {one}",
            ConfigNames({"config": section}, *VALUES, found.texts.keys()),
            f"set config.default in the values of its chart, or: {_edit(found.where)}",
        )
    for policy in seen.policies:
        yield from _of_policy(seen, policy)


def _needs_default(seen: Seen, plugin: Program) -> bool:
    """Whether a node of the plugin has no label of its own."""
    return any(not node.labels.get(CONFIG_LABEL) and plugin.selects(node) for node in seen.nodes)


def _of_policy(seen: Seen, policy: Mapping[str, object]) -> Iterator[Finding]:
    maps = [seen.configurations[one.maps] for one in seen.of(Role.PLUGIN) if one.maps in seen.configurations]
    known = next((one.texts.keys() for one in maps if one.texts is not None), None)
    name = (policy.get("metadata") or {}).get("name", "")  # type: ignore[attr-defined]
    names = ConfigNames(policy, "nvidia.com", "ClusterPolicy", known)
    yield from _violations(f"ClusterPolicy {name}", names, f"kubectl edit clusterpolicy {name}")


def _violations(subject: str, names: ConfigNames, remedy: str) -> Iterator[Finding]:
    for violation in gps033_config_names.run(names):
        cause = "a name of a configuration leads nowhere"
        evidence = (f"{dotted(violation.path)}: {violation.message}",)
        yield Finding("GPS033", "error", subject, cause, evidence, f"{violation.remedy}: {remedy}")


def _labels(seen: Seen) -> Iterator[Finding]:
    """Labels of nodes that name no configuration: the plugin keeps the old one, and does not start again with it."""
    wrong = []
    for node in seen.nodes:
        chosen = seen.chosen(node)
        if node.labels.get(CONFIG_LABEL) and chosen is not None and not chosen.is_known:
            wrong.append((chosen.where, chosen.key, node.name))
    by: Callable[[tuple[str, str, str]], tuple[str, str]] = lambda one: one[:2]  # noqa: E731
    for (where, key), group in groupby(sorted(wrong), by):
        names = [name for _, _, name in group]
        texts = seen.configurations[where].texts or {}
        cause = f"the label {CONFIG_LABEL}={key} names no configuration, and the plugin does not start with it"
        evidence = (f"nodes: {listed(names)}", f"ConfigMap {where} has: {listed(sorted(texts)) or 'no configuration'}")
        right = next(iter(sorted(texts)), "NAME")
        remedy = f"kubectl label node {names[0]} {CONFIG_LABEL}={right} --overwrite, or add the key to the ConfigMap"
        yield Finding("config-label-unknown", "error", several(names), cause, evidence, remedy)


CHECKS = (
    Check("pods of the device plugin", ("daemonsets", "pods"), _not_ready),
    Check("nodes without a device plugin", ("nodes", "daemonsets", "pods"), _missing),
    Check("two device plugins", ("pods",), _two),
    Check("tolerations of the device plugin", ("nodes", "daemonsets"), _plugin_not_tolerated),
    Check("configurations of the device plugin", ("daemonsets", "configurations"), _refused),
    Check("parts of configurations without effect", ("daemonsets", "configurations"), _without_effect),
    Check("names of configurations", ("nodes", "daemonsets", "configurations"), _names),
    Check("configuration labels of nodes", ("nodes", "daemonsets", "configurations"), _labels),
)
