"""Findings about the device plugin: its pods, where they run, and its configurations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webhook.cluster.reading import word
from webhook.cluster.stack import Configurations, Program, Role, SeenNode, Text
from webhook.cluster.trusted import Stack
from webhook.diagnose.doctor.finding import (
    Check,
    Finding,
    Severity,
    edit_map,
    grouped,
    in_namespace,
    listed,
    naming,
    of_nodes,
    several,
)
from webhook.diagnose.doctor.seen import Seen
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.words import label, named, namespace, reference
from webhook.diagnostics import dotted
from webhook.policy.checks import gps030_refused, gps031_without_effect, gps033_config_names
from webhook.policy.commands import Command
from webhook.policy.placement.cluster_objects import Taint
from webhook.policy.placement.node_classes import CONFIG_LABEL
from webhook.policy.settings.formats import KIND, LABEL_KEY, LABEL_VALUE
from webhook.policy.sharing.objects import VALUES, ConfigNames, SharingConfig
from webhook.report.lines import counted


def _missing(seen: Stack) -> Iterator[Finding]:
    """Nodes that say that they have GPUs, and on which no plugin runs.

    A plugin may be a program of the host, which offers GPUs. The MPS control daemon comes with a DaemonSet of a plugin.
    """
    plugins = seen.administered(Role.PLUGIN)
    names = [node.name for node in seen.nodes if not node.runs_stack_itself and _is_bare(seen, node)]
    if not names:
        return
    remedy: Advice = "install NVIDIA's device plugin with its chart, or the GPU operator"
    if plugins:
        cause = f"the labels show GPUs, and DaemonSet {plugins[0]} selects other nodes"
        mark = Command("kubectl", "label", "node", named("node", names[0]), "nvidia.com/gpu.present=true")
        remedy = Remedy(mark, ", or change nodeSelector and affinity of the DaemonSet")
    elif presumed := seen.of(Role.PLUGIN):
        cause = "the labels show GPUs, the node offers none, and nothing shows that administrators run a device plugin"
        remedy = of_nodes(seen.trust, presumed[0], "")
    else:
        cause = "the labels show GPUs, and the cluster has no device plugin in a namespace of administrators"
        remedy = Remedy(remedy, "; if it is there, name its DaemonSet with --device-plugin-daemonset")
    evidence = (f"nodes without a pod of the device plugin: {listed(names)}",)
    yield Finding("plugin-missing", "error", several(names), cause, evidence, remedy)


def _is_bare(seen: Stack, node: SeenNode) -> bool:
    """Whether a node lacks a plugin. One that tenants may have written counts where GPUs show that it works."""
    offers = any(node.offered.values())
    namespaces = {namespace for namespace, _ in seen.plugins.get(node.name, ())}
    if not offers:
        namespaces &= seen.trust.administered
    plugins = seen.of(Role.PLUGIN) if offers else seen.administered(Role.PLUGIN)
    if namespaces or any(one.selects(node) for one in plugins):
        return False
    return not offers or bool(seen.administered(Role.DAEMON))


def _unpulled(seen: Seen) -> Iterator[Finding]:
    """Images of the GPU stack and of the webhook that cannot be pulled, by the owner of the pods."""
    pods = [((one.namespace, one.owner or one.name), one.name, one.detail) for one in seen.program_pods]
    for our in seen.installations:
        pods += [((our.namespace, our.name), one.name, one.detail) for one in our.replicas]
    waiting = ((owner, (pod, said)) for owner, pod, said in pods if ": ErrImage" in said or ": ImagePull" in said)
    for (space, owner), found in grouped(waiting).items():
        cause = f"the kubelet cannot pull an image of {counted(len(found), 'pod')}"
        evidence = tuple(f"pod {pod}: {said}" for pod, said in found[:3])
        remedy = "correct the image in the values of its chart; for a private registry, set imagePullSecrets there"
        yield Finding("image-not-pulled", "error", f"{space}/{owner}", cause, evidence, remedy, (space,))


def not_ready(seen: Stack, role: Role, finding: str) -> Iterator[Finding]:
    """A finding for each DaemonSet with pods that are not ready, with the words of the kubelet about the first ones."""
    for one in seen.of(role):
        if one.ready >= one.desired:
            continue
        unready = [
            pod
            for pod in seen.program_pods
            if (pod.namespace, pod.owner, pod.role) == (one.namespace, one.name, role) and not pod.is_ready
        ]
        evidence = [f"pod {pod.name} on {pod.node or 'no node'}: {pod.detail}".rstrip(": ") for pod in unready[:3]]
        cause = f"{one.ready} of {counted(one.desired, 'pod')} of the {role.value} ready"
        show = reference("Pod", unready[0].name) if unready else reference("DaemonSet", one.name)
        logs = in_namespace(one.namespace, "logs", show, "--all-containers")
        remedy = Remedy(in_namespace(one.namespace, "describe", show), ", and ", logs)
        yield Finding(finding, "error", str(one), cause, tuple(evidence), remedy, (one.namespace,))


def _two(seen: Seen) -> Iterator[Finding]:
    """Nodes on which two plugins run, each of which registers the resource (NVIDIA/k8s-device-plugin#647)."""
    names = {node.name for node in seen.nodes}
    registering = (one for one in seen.other_pods if one.role is Role.PLUGIN and one.mounts_kubelet)
    beside = grouped((one.node, (one.namespace, one.owner or one.name)) for one in registering if one.node in names)
    running = ((name, {*owners, *beside.get(name, ())}) for name, owners in sorted(seen.plugins.items()))
    for owners, nodes in grouped((tuple(sorted(owners)), name) for name, owners in running if len(owners) > 1).items():
        cause = f"{len(owners)} device plugins run there, and each registers the same resource with the kubelet"
        evidence = (f"plugins: {listed(list(map('/'.join, owners)))}", f"nodes: {listed(nodes)}")
        # Which of them is the right one is not known here: any pod may name its container as the plugin's is named.
        remedy = "keep the one that you installed on purpose; uninstall the chart, or delete the owner, of the other"
        # Unless administrators run two, only the others show that there are two.
        administered = [namespace for namespace, _ in owners if namespace in seen.trust.administered]
        others = tuple(namespace for namespace, _ in owners if namespace not in seen.trust.administered)
        namespaces = tuple(administered) if len(administered) > 1 else others
        yield Finding("two-plugins", "error", several(nodes), cause, evidence, remedy, namespaces)


def _unconfirmed(seen: Seen) -> Iterator[Finding]:
    """Programs that look like the GPU stack, in namespaces of which nothing shows that tenants cannot use them."""
    names, daemon_sets = {node.name for node in seen.nodes}, {str(one) for one in seen.others}
    nodes: dict[tuple[str, str, Role], set[str]] = {(one.namespace, str(one), one.role): set() for one in seen.others}
    for pod in seen.other_pods:
        key = pod.namespace, f"{pod.namespace}/{pod.owner or pod.name}", pod.role
        nodes.setdefault(key, set()).update({pod.node} & names)
    for (space, where, role), on in sorted(nodes.items(), key=lambda one: one[0][:2]):
        cause = f"it looks like the {role.value}, and does not count: tenants may use its namespace"
        evidence = (f"GPU nodes on which it runs: {listed(sorted(on))}",) if on else ()
        exempt = ("if you installed it, add ", namespace(space), " to exempt.namespaces of the settings")
        remedy = Remedy(*exempt, *((", or name it: ", naming(where)) if where in daemon_sets else ()))
        yield Finding("stack-unconfirmed", "warning", where, cause, evidence, remedy, (space,))
    plugins = [one for one in seen.others if one.role is Role.PLUGIN]
    if plugins and not seen.of(Role.PLUGIN):
        # No plugin counts, perhaps since the one of an administrator starts nowhere. The API server sets its date.
        yield from not_tolerated([min(plugins, key=lambda one: one.created)], seen.nodes)


def not_tolerated(programs: Iterable[Program], nodes: Iterable[SeenNode]) -> Iterator[Finding]:
    """Findings for nodes that some of these DaemonSets select, and whose taints none of those tolerates."""
    programs = list(programs)
    found: dict[tuple[str, str, str], tuple[Program, Taint, list[str]]] = {}
    for node in nodes:
        selecting = [one for one in programs if one.selects(node)]
        taints = [one.repelled(node) for one in selecting]
        if taints and (taint := taints[0]) is not None and None not in taints:
            key = str(selecting[0]), taint.key, taint.effect
            found.setdefault(key, (selecting[0], taint, []))[2].append(node.name)
    for one, taint, names in found.values():
        written = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        cause = f"DaemonSet {one} does not tolerate the taint {written}, so that no {one.role.value} starts there"
        evidence = (f"nodes with the taint: {listed(names)}",)
        words = named("taint", taint.key, LABEL_KEY), named("taint effect", taint.effect, KIND)
        toleration = ("add {key: ", words[0], ", operator: Exists, effect: ", words[1], "} to tolerations")
        edit = in_namespace(one.namespace, "edit", reference("DaemonSet", one.name))
        remedy = Remedy(*toleration, " in the values of its chart, or: ", edit)
        yield Finding("taint-not-tolerated", "error", several(names), cause, evidence, remedy, (one.namespace,))


# Configurations.


def _refused(seen: Stack) -> Iterator[Finding]:
    used = {(chosen.where, chosen.key) for _, _, chosen in seen.chosen_by if chosen is not None}
    for found, key, text, program in _texts(seen):
        where, edit = f"ConfigMap {found.where}, key {key}", _edit(found.where)
        severity: Severity = "warning"
        usage = "no node uses this configuration"
        if (found.where, key) in used:
            severity, usage = "error", "nodes use this configuration"
        cause, namespaces = "the device plugin refuses its configuration", (program.namespace,)
        if text.unread:
            yield Finding("GPS030", severity, where, f"{cause}: {text.unread}", (usage,), edit, namespaces)
            continue
        cause += ", and nodes with it offer no GPUs"
        for violation in gps030_refused.run(SharingConfig(text.value, program.version)):
            evidence = (f"{dotted(violation.path) or 'the document'}: {violation.message}", usage)
            remedy = Remedy(violation.remedy, ": ", edit)
            yield Finding("GPS030", severity, where, cause, evidence, remedy, namespaces)


def _without_effect(seen: Seen) -> Iterator[Finding]:
    for found, key, text, program in _texts(seen):
        if text.unread or not isinstance(text.value, dict):
            continue
        violations = list(gps031_without_effect.run(SharingConfig(text.value, program.version)))
        if violations:
            evidence = tuple(f"{dotted(one.path) or 'the document'}: {one.message}" for one in violations[:_MOST])
            cause = "a part of the configuration has no effect, or not the effect that it names"
            remedy = Remedy(violations[0].remedy, ": ", _edit(found.where))
            subject, namespaces = f"ConfigMap {found.where}, key {key}", (program.namespace,)
            yield Finding("GPS031", "warning", subject, cause, evidence, remedy, namespaces)


_MOST = 5


def _texts(seen: Stack) -> Iterator[tuple[Configurations, str, Text, Program]]:
    """The configurations, each with the DaemonSet that reads it."""
    programs = {one.maps: one for one in reversed(seen.of(Role.PLUGIN)) if one.config_map}
    for where, program in programs.items():
        found = seen.configurations.get(where)
        for key, text in () if found is None else (found.texts or {}).items():
            yield found, key, text, program  # type: ignore[misc]


def _edit(where: str) -> Command:
    namespace, _, name = where.partition("/")
    return edit_map(namespace, name)


def _names(seen: Stack) -> Iterator[Finding]:
    """Defaults that name no configuration, and ConfigMaps that do not exist."""
    for one in seen.of(Role.PLUGIN):
        found = seen.configurations.get(one.maps) if one.config_map else None
        if found is None:
            continue
        if found.texts is None:
            cause = f"the ConfigMap {found.where} of its configurations does not exist, and its pods do not start"
            create = Remedy(
                "create the ConfigMap ", named("configmap", one.config_map), " in the namespace of the DaemonSet"
            )
            yield Finding("GPS033", "error", f"DaemonSet {one}", cause, (), create, (one.namespace,))
            continue
        unlabelled = (node for node in seen.nodes if not node.labels.get(CONFIG_LABEL))
        if one.default is None or not any(map(one.selects, unlabelled)):
            continue
        section = {"default": one.default.name, "fallbackStrategies": list(one.default.fallbacks), "name": found.where}
        yield from _violations(
            f"DaemonSet {one}",
            ConfigNames({"config": section}, *VALUES, found.texts.keys()),
            Remedy("set config.default in the values of its chart, or: ", _edit(found.where)),
            (one.namespace,),
        )


def _policies(seen: Seen) -> Iterator[Finding]:
    """Policies of the GPU operator that name no configuration."""
    maps = [seen.configurations[one.maps] for one in seen.of(Role.PLUGIN) if one.maps in seen.configurations]
    known = next((one.texts.keys() for one in maps if one.texts is not None), None)
    for policy in seen.policies:
        name = word(policy, "metadata", "name")
        names = ConfigNames(policy, "nvidia.com", "ClusterPolicy", known)
        edit = Command("kubectl", "edit", "clusterpolicy", named("clusterpolicy", name))
        yield from _violations(f"ClusterPolicy {name}", names, edit)


def _violations(
    subject: str, names: ConfigNames, remedy: Advice, namespaces: tuple[str, ...] = ()
) -> Iterator[Finding]:
    for violation in gps033_config_names.run(names):
        cause = "a name of a configuration leads nowhere"
        evidence = (f"{dotted(violation.path)}: {violation.message}",)
        advice = Remedy(violation.remedy, ": ", remedy)
        yield Finding("GPS033", "error", subject, cause, evidence, advice, namespaces)


def _labels(seen: Stack) -> Iterator[Finding]:
    """Labels of nodes that name no configuration: the plugin keeps the old one, and does not start again with it."""
    wrong = grouped(
        ((chosen.where, chosen.key, plugin), node.name)
        for node, plugin, chosen in seen.chosen_by
        if plugin is not None and chosen is not None and node.labels.get(CONFIG_LABEL) and not chosen.is_known
    )
    for (where, key, plugin), names in sorted(wrong.items(), key=lambda one: one[0][:2]):
        texts = seen.configurations[where].texts or {}
        cause = f"the label {CONFIG_LABEL}={key} names no configuration, and the plugin does not start with it"
        evidence = (f"nodes: {listed(names)}", f"ConfigMap {where} has: {listed(sorted(texts)) or 'no configuration'}")
        right = label(CONFIG_LABEL, next(iter(sorted(texts)), "NAME"))
        choose = Command("kubectl", "label", "node", named("node", names[0]), right, "--overwrite")
        remedy = of_nodes(seen.trust, plugin, Remedy(choose, ", or add the key to the ConfigMap"))
        yield Finding("config-label-unknown", "error", several(names), cause, evidence, remedy, (plugin.namespace,))


def _unread(seen: Stack) -> Iterator[Finding]:
    """Configurations that a plugin gets and does not read: it reads a file alone (NVIDIA/k8s-device-plugin#615)."""
    for one in seen.of(Role.PLUGIN):
        for name in one.unread:
            found = seen.configurations.get(f"{one.namespace}/{name}")
            if found is None or not found.shares:
                continue
            cause = f"the device plugin does not read the configuration in ConfigMap {found.where}, and shares nothing"
            evidence = (
                f"DaemonSet {one} gets the ConfigMap, and neither CONFIG_FILE nor --config-file names a file of it",
            )
            key = named("key", next(iter(found.texts or {}), "KEY"), LABEL_VALUE)
            variable = ("CONFIG_FILE=/config/", key)
            edit = in_namespace(one.namespace, "edit", reference("DaemonSet", one.name))
            remedy = Remedy("mount the ConfigMap at /config, and set ", *variable, " in the plugin's container: ", edit)
            yield Finding("config-unread", "warning", f"DaemonSet {one}", cause, evidence, remedy, (one.namespace,))


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
        evidence = (f"nodes: {listed(names)}",)
        yield Finding("label-unread", "warning", several(names), cause, evidence, remedy, (plugin.namespace,))


PODS = (
    Check(
        "pods of the device plugin",
        ("daemonsets", "pods"),
        lambda seen: not_ready(seen, Role.PLUGIN, "plugin-not-ready"),
    ),
)
WHERE = (
    Check("nodes without a device plugin", ("nodes", "daemonsets", "pods"), _missing),
    Check(
        "tolerations of the device plugin",
        ("nodes", "daemonsets"),
        lambda seen: not_tolerated(seen.of(Role.PLUGIN), (one for one in seen.nodes if not one.runs_stack_itself)),
    ),
)
CONFIGURATION = (
    Check("configurations of the device plugin", ("daemonsets", "configurations"), _refused),
    Check("names of configurations", ("nodes", "daemonsets", "configurations"), _names),
    Check("configuration labels of nodes", ("nodes", "daemonsets", "configurations"), _labels),
    Check("configurations that nothing reads", ("daemonsets", "configurations"), _unread),
    Check("labels that nothing reads", ("nodes", "daemonsets"), _label_unread),
)
CHECKS = (
    *CONFIGURATION,
    Check("names of configurations in policies", ("daemonsets", "configurations"), _policies),
    Check("two device plugins", ("pods",), _two),
    *WHERE,
    Check("images of the GPU stack and the webhook", ("pods", "installation"), _unpulled),
    *PODS,
    Check("parts of configurations without effect", ("daemonsets", "configurations"), _without_effect),
    Check("namespaces of the GPU stack", ("nodes", "daemonsets", "pods"), _unconfirmed),
)
