"""Findings about the device plugin: its pods, where they run, and its configurations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.cluster.stack import Program, Role, SeenNode
from webhook.cluster.trusted import Chosen, Stack
from webhook.diagnose.doctor.finding import (
    MOST,
    Check,
    Finding,
    Severity,
    about,
    about_nodes,
    command_of,
    edit_map,
    grouped,
    in_namespace,
    listed,
    naming,
    of_nodes,
    several,
    unready,
)
from webhook.diagnose.doctor.seen import Seen
from webhook.diagnose.remedy import Remedy
from webhook.diagnose.words import label, named, namespace, reference
from webhook.diagnostics import dotted
from webhook.policy.checks import gps030_refused, gps031_without_effect, gps033_config_names
from webhook.policy.commands import Command
from webhook.policy.placement.node_classes import CONFIG_LABEL
from webhook.policy.settings.formats import KIND, LABEL_KEY, LABEL_VALUE
from webhook.policy.sharing.objects import VALUES, ConfigNames, SharingConfig
from webhook.policy.verdict import Violation
from webhook.report.lines import counted


def _missing(seen: Stack) -> Iterator[Finding]:
    """Nodes that say that they have GPUs and offer none, and on which no plugin of administrators runs.

    A plugin may be a program of the host.
    """
    plugins, administered = seen.administered(Role.PLUGIN), seen.trust.administered
    names = [
        node.name
        for node in seen.nodes
        if not node.runs_stack_itself
        and not any(node.offered.values())
        and not any(one.selects(node) for one in plugins)
        and not any(space in administered for space, _ in seen.plugins.get(node.name, ()))
    ]
    if not names:
        return
    cause = "the labels show GPUs, and the cluster has no device plugin in a namespace of administrators"
    remedy = Remedy(
        "install NVIDIA's device plugin with its chart, or the GPU operator; if it is there, name its DaemonSet with "
        "--device-plugin-daemonset"
    )
    if plugins:
        cause = f"the labels show GPUs, and DaemonSet {plugins[0]} selects other nodes"
        mark = Command("kubectl", "label", "node", named("node", names[0]), "nvidia.com/gpu.present=true")
        remedy = Remedy(mark, ", or change nodeSelector and affinity of the DaemonSet")
    yield about_nodes(names, "plugin-missing", "error", cause, remedy)


def not_ready(seen: Stack, role: Role) -> Iterator[Finding]:
    """A finding for each DaemonSet with pods that are not ready, with the words of the kubelet about the first ones."""
    for one in seen.of(role):
        if one.ready >= one.desired:
            continue
        key = one.namespace, one.name, role
        pods = [pod for pod in seen.program_pods if (pod.namespace, pod.owner, pod.role) == key and not pod.is_ready]
        evidence = [f"pod {pod.name} on {pod.node or 'no node'}: {pod.detail}".rstrip(": ") for pod in pods]
        cause = f"{one.ready} of {counted(one.desired, 'pod')} of the {role.value} ready"
        show = reference("Pod", pods[0].name) if pods else reference("DaemonSet", one.name)
        logs = in_namespace(one.namespace, "logs", show, "--all-containers")
        remedy = Remedy(in_namespace(one.namespace, "describe", show), ", and ", logs)
        finding = "plugin-not-ready" if role is Role.PLUGIN else "daemon-not-ready"
        yield unready(one, finding, "error", cause, remedy, evidence)


def _two(seen: Seen) -> Iterator[Finding]:
    """Nodes on which two plugins run, each of which registers the resource (NVIDIA/k8s-device-plugin#647)."""
    pods = (*seen.program_pods, *(one for one in seen.other_pods if one.mounts_kubelet))
    running = grouped((one.node, (one.namespace, one.owner or one.name)) for one in pods if one.role is Role.PLUGIN)
    beside = ((tuple(sorted({*running.get(node.name, ())})), node.name) for node in seen.nodes)
    for owners, nodes in grouped(beside).items():
        if len(owners) < 2:
            continue
        cause = f"{len(owners)} device plugins run there, and each registers the same resource with the kubelet"
        evidence = (f"plugins: {listed(list(map('/'.join, owners)))}", f"nodes: {listed(nodes)}")
        # Which of them is the right one is not known here: any pod may name its container as the plugin's is named.
        remedy = "keep the one that you installed on purpose; uninstall the chart, or delete the owner, of the other"
        # Unless administrators run two, only the others show that there are two.
        own = [space for space, _ in owners if space in seen.trust.administered]
        namespaces = tuple(own if len(own) > 1 else {space for space, _ in owners}.difference(own))
        yield Finding("two-plugins", "error", several(nodes), cause, evidence, remedy, namespaces)


def _unconfirmed(seen: Seen) -> Iterator[Finding]:
    """Programs that look like the GPU stack, in namespaces of which nothing shows that tenants cannot use them."""
    names, daemon_sets = {node.name for node in seen.nodes}, {str(one) for one in seen.others}
    found = [((one.namespace, str(one), one.role), "") for one in seen.others]
    found += [
        ((one.namespace, f"{one.namespace}/{one.owner or one.name}", one.role), one.node) for one in seen.other_pods
    ]
    for (space, where, role), nodes in sorted(grouped(found).items(), key=lambda one: one[0][:2]):
        cause = f"it looks like the {role.value}, and does not count: tenants may use its namespace"
        on = sorted(names.intersection(nodes))
        evidence = (f"GPU nodes on which it runs: {listed(on)}",) if on else ()
        exempt = ("if you installed it, add ", namespace(space), " to exempt.namespaces of the settings")
        remedy = Remedy(*exempt, *((", or name it: ", naming(where)) if where in daemon_sets else ()))
        yield Finding("stack-unconfirmed", "warning", where, cause, evidence, remedy, (space,))
    plugins = [one for one in seen.others if one.role is Role.PLUGIN]
    if plugins and not seen.of(Role.PLUGIN):
        # No plugin counts, perhaps since the one of an administrator starts nowhere. The API server sets its date.
        yield from not_tolerated([min(plugins, key=lambda one: one.created)], seen.nodes)


def not_tolerated(programs: Iterable[Program], nodes: Iterable[SeenNode]) -> Iterator[Finding]:
    """Findings for nodes that some of these DaemonSets select, and whose taints none of those tolerates."""
    programs, found = list(programs), []
    for node in nodes:
        selecting = [one for one in programs if one.selects(node)]
        taints = [taint for one in selecting if (taint := one.repelled(node)) is not None]
        if taints and len(taints) == len(selecting):
            found.append(((selecting[0], taints[0]), node.name))
    for (one, taint), names in grouped(found).items():
        written = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        cause = f"DaemonSet {one} does not tolerate the taint {written}, so that no {one.role.value} starts there"
        words = named("taint", taint.key, LABEL_KEY), named("taint effect", taint.effect, KIND)
        toleration = ("add {key: ", words[0], ", operator: Exists, effect: ", words[1], "} to tolerations")
        remedy = Remedy(*toleration, " in the values of its chart, or: ", command_of(one, "edit"))
        yield about_nodes(names, "taint-not-tolerated", "error", cause, remedy, of=one)


# Configurations.


def configured(seen: Stack) -> Iterator[tuple[SeenNode, Program, Chosen]]:
    """The nodes whose plugin and configuration are known."""
    for node, plugin, chosen in seen.chosen_by:
        if plugin is not None and chosen is not None:
            yield node, plugin, chosen


_FAULTS: Final = (
    ("GPS030", gps030_refused, "the device plugin refuses its configuration, and nodes with it offer no GPUs"),
    ("GPS031", gps031_without_effect, "a part of the configuration has no effect, or not the effect that it names"),
)


def _texts(seen: Stack) -> Iterator[Finding]:
    """Configurations that the plugin refuses, or that say more than it does."""
    used = {(chosen.where, chosen.key) for *_, chosen in configured(seen)}
    programs = {one.maps: one for one in reversed(seen.of(Role.PLUGIN)) if one.config_map}
    for where, one in programs.items():
        found = seen.configurations.get(where)
        for key, text in () if found is None else (found.texts or {}).items():
            for code, check, cause in _FAULTS:
                violations = list(check.run(SharingConfig(text.value, one.version)))
                if text.unread:
                    violations = [Violation((), text.unread, "correct it")] if code == "GPS030" else []
                if violations:
                    is_used = (where, key) in used
                    evidence = [_said(each) for each in violations[:MOST]]
                    evidence.append("nodes use this configuration" if is_used else "no node uses this configuration")
                    remedy = Remedy(violations[0].remedy, ": ", edit_map(where))
                    severity: Severity = "error" if is_used and code == "GPS030" else "warning"
                    subject = f"ConfigMap {where}, key {key}"
                    yield Finding(code, severity, subject, cause, tuple(evidence), remedy, (one.namespace,))


def _said(one: Violation) -> str:
    return f"{dotted(one.path) or 'the document'}: {one.message}"


def _names(seen: Stack) -> Iterator[Finding]:
    """Defaults that name no configuration, and ConfigMaps that do not exist."""
    for one in seen.of(Role.PLUGIN):
        found = seen.configurations.get(one.maps) if one.config_map else None
        if found is None:
            continue
        if found.texts is None:
            cause = f"the ConfigMap {found.where} of its configurations does not exist, and its pods do not start"
            create = ("create the ConfigMap ", named("configmap", one.config_map), " in the namespace of the DaemonSet")
            yield about(one, "GPS033", "error", cause, Remedy(*create))
        elif one.default is not None and any(
            one.selects(node) for node in seen.nodes if not node.labels.get(CONFIG_LABEL)
        ):
            names = {
                "default": one.default.name,
                "fallbackStrategies": list(one.default.fallbacks),
                "name": found.where,
            }
            edit = Remedy("set config.default in the values of its chart, or: ", edit_map(found.where))
            for each in gps033_config_names.run(ConfigNames({"config": names}, *VALUES, found.texts.keys())):
                cause, remedy = "a name of a configuration leads nowhere", Remedy(each.remedy, ": ", edit)
                yield about(one, "GPS033", "error", cause, remedy, _said(each))


def _labels(seen: Stack) -> Iterator[Finding]:
    """Labels of nodes that name no configuration: the plugin keeps the old one, and does not start again with it."""
    wrong = grouped(
        ((chosen.where, chosen.key, plugin), node.name)
        for node, plugin, chosen in configured(seen)
        if node.labels.get(CONFIG_LABEL) and not chosen.is_known
    )
    for (where, key, plugin), names in wrong.items():
        texts = sorted(seen.configurations[where].texts or {})
        cause = f"the label {CONFIG_LABEL}={key} names no configuration, and the plugin does not start with it"
        evidence = f"ConfigMap {where} has: {listed(texts) or 'no configuration'}"
        right = label(CONFIG_LABEL, next(iter(texts), "NAME"))
        choose = Command("kubectl", "label", "node", named("node", names[0]), right, "--overwrite")
        remedy = of_nodes(seen.trust, plugin, Remedy(choose, ", or add the key to the ConfigMap"))
        yield about_nodes(names, "config-label-unknown", "error", cause, remedy, evidence, of=plugin)


def _unread(seen: Stack) -> Iterator[Finding]:
    """Configurations that a plugin gets and does not read: it reads a file alone (NVIDIA/k8s-device-plugin#615)."""
    for one in seen.of(Role.PLUGIN):
        for name in one.unread:
            found = seen.configurations.get(f"{one.namespace}/{name}")
            if found is None or not found.shares:
                continue
            cause = f"the device plugin does not read the configuration in ConfigMap {found.where}, and shares nothing"
            evidence = "the DaemonSet gets the ConfigMap, and neither CONFIG_FILE nor --config-file names a file of it"
            file = ("CONFIG_FILE=/config/", named("key", next(iter(found.texts or {}), "KEY"), LABEL_VALUE))
            said = ("mount the ConfigMap at /config, and set ", *file, " in the plugin's container: ")
            yield about(one, "config-unread", "warning", cause, Remedy(*said, command_of(one, "edit")), evidence)


def _label_unread(seen: Stack) -> Iterator[Finding]:
    """Labels that choose a configuration where no config-manager reads them."""
    unread = grouped(
        (plugin, node.name)
        for node, plugin, _ in seen.chosen_by
        if plugin is not None and node.labels.get(CONFIG_LABEL) and (plugin.is_unconfigured or plugin.key is not None)
    )
    for plugin, names in unread.items():
        cause = f"nothing reads the label {CONFIG_LABEL}: DaemonSet {plugin} has no config-manager"
        clear = Command("kubectl", "label", "node", named("node", names[0]), f"{CONFIG_LABEL}-")
        remedy = Remedy("set config.name in the values of the plugin's chart to the ConfigMap; or remove it: ", clear)
        yield about_nodes(names, "label-unread", "warning", cause, remedy, of=plugin)


PODS = (Check("pods of the device plugin", ("daemonsets", "pods"), lambda seen: not_ready(seen, Role.PLUGIN)),)
WHERE = (
    Check("nodes without a device plugin", ("nodes", "daemonsets", "pods"), _missing),
    Check(
        "tolerations of the device plugin",
        ("nodes", "daemonsets"),
        lambda seen: not_tolerated(seen.of(Role.PLUGIN), (one for one in seen.nodes if not one.runs_stack_itself)),
    ),
)
CONFIGURATION = (
    Check("configurations of the device plugin", ("daemonsets", "configurations"), _texts),
    Check("names of configurations", ("nodes", "daemonsets", "configurations"), _names),
    Check("configuration labels of nodes", ("nodes", "daemonsets", "configurations"), _labels),
    Check("configurations that nothing reads", ("daemonsets", "configurations"), _unread),
    Check("labels that nothing reads", ("nodes", "daemonsets"), _label_unread),
)
CHECKS = (
    *CONFIGURATION,
    Check("two device plugins", ("pods",), _two),
    *WHERE,
    *PODS,
    Check("namespaces of the GPU stack", ("nodes", "daemonsets", "pods"), _unconfirmed),
)
