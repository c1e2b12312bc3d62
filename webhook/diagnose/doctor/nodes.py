"""Findings about GPU nodes: device plugin, its configurations, MPS control daemon, labels, and amounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from webhook.cluster.device_plugin import Configurations
from webhook.cluster.stack import Program, Role, SeenNode, is_discovered
from webhook.cluster.trusted import Chosen, Part, Stack
from webhook.diagnose.doctor.seen import Seen
from webhook.diagnose.finding import (
    MOST,
    Advice,
    Check,
    Finding,
    Remedy,
    Severity,
    about,
    about_nodes,
    advice,
    grouped,
    label,
    named,
    naming,
    of_nodes,
    reference,
    several,
    unready,
)
from webhook.diagnose.sharing import CLOSED, CORDONED, closed
from webhook.diagnostics import dotted
from webhook.policy.checks import gps030_refused, gps031_without_effect
from webhook.policy.messages import Word
from webhook.policy.placement.cluster_objects import PluginConfig
from webhook.policy.placement.node_classes import (
    CAPABLE,
    CARD_COUNT,
    CONFIG_LABEL,
    FAMILY,
    PRODUCT,
    REPLICAS,
    STRATEGY,
    clients,
)
from webhook.policy.placement.selector import integer
from webhook.policy.pods.gpu_resources import CARD, MIG
from webhook.policy.settings.formats import KIND, LABEL_VALUE
from webhook.policy.sharing.config import nearest_known
from webhook.policy.sharing.objects import SharingConfig
from webhook.policy.verdict import Violation
from webhook.report.lines import counted, first

_MOST: Final = 8
"""Labels that a command sets, and programs that it restarts."""

# Templates.
_DESCRIBE: Final = "`kubectl -n {namespace} describe {object}`"
_LOOK: Final = "`kubectl -n {namespace} describe {object}`, and `kubectl -n {namespace} logs {object} --all-containers`"
_EDIT: Final = "`kubectl -n {namespace} edit {object}`"
_EDIT_MAP: Final = "`kubectl -n {namespace} edit configmap {configmap}`"
_LABEL: Final = "`kubectl label node {node} {labels}`"
_LOGS: Final = "`kubectl -n {namespace} logs {object}`"
_RESTART: Final = "`kubectl -n {namespace} rollout restart {object}`"


def _missing(seen: Stack) -> Iterator[Finding]:
    """Nodes that say that they have GPUs, and on which no plugin of administrators runs.

    A plugin may be a program of the host, which offers GPUs. The MPS control daemon comes with a DaemonSet of a plugin.
    """
    plugins, administered = seen.administered(Role.PLUGIN), seen.trust.administered
    is_lost = bool(seen.administered(Role.DAEMON)) and not seen.of(Role.PLUGIN)
    nodes = [
        node
        for node in seen.nodes
        if not node.runs_stack_itself
        and (is_lost or not any(node.offered.values()))
        and not any(one.selects(node) for one in plugins)
        and not any(space in administered for space, _ in seen.plugins.get(node.name, ()))
    ]
    if not nodes:
        return
    names = [one.name for one in nodes]
    cause = "the labels show GPUs, and the cluster has no device plugin in a namespace of administrators"
    remedy = advice(
        "install NVIDIA's device plugin with its chart, or the GPU operator; if it is there, name its DaemonSet with "
        "--device-plugin-daemonset"
    )
    if plugins:
        cause, labels = f"the labels show GPUs, and DaemonSet {plugins[0]} selects other nodes", [_PRESENT]
        for key, value in _unmet(plugins[0], nodes[0])[:1]:
            cause, labels = f"{cause} by {key}={value}", [label(key, value), _OVERWRITE]
        change = f"{_LABEL}, or change nodeSelector and affinity of the DaemonSet"
        remedy = advice(change, node=names[0], labels=labels)
    yield about_nodes(names, "plugin-missing", "error", cause, remedy)


_PRESENT: Final = Word("nvidia.com/gpu.present=true")
_OVERWRITE: Final = Word("--overwrite")


def _unmet(one: Program, node: SeenNode) -> list[tuple[str, str]]:
    """What the node selector of a DaemonSet names, and the node lacks."""
    selector = {} if one.requirement is None else one.requirement.selector
    return [(key, value) for key, value in selector.items() if node.labels.get(key) != value]


def not_ready(seen: Stack, role: Role) -> Iterator[Finding]:
    """A finding for each DaemonSet with pods that are not ready, with the words of the kubelet about the first ones."""
    for one in seen.of(role):
        if one.ready >= one.desired:
            continue
        key = one.namespace, one.name, role
        pods = [pod for pod in seen.program_pods if (pod.namespace, pod.owner, pod.role) == key and not pod.is_ready]
        details = [f"pod {pod.name} on {pod.node or 'no node'}: {pod.detail}".rstrip(": ") for pod in pods]
        cause = f"{one.ready} of {counted(one.desired, 'pod')} of the {role.value} ready"
        show = reference("Pod", pods[0].name) if pods else reference("DaemonSet", one.name)
        finding = "plugin-not-ready" if role is Role.PLUGIN else "daemon-not-ready"
        yield unready(one, finding, "error", cause, advice(_LOOK, one, object=[show]), details)


def _two(seen: Seen) -> Iterator[Finding]:
    """Nodes on which two plugins run, each of which registers the resource (NVIDIA/k8s-device-plugin#647)."""
    pods = (*seen.program_pods, *(one for one in seen.other_pods if one.mounts_kubelet))
    running = grouped((one.node, (one.namespace, one.owner or one.name)) for one in pods if one.role is Role.PLUGIN)
    beside = ((tuple(sorted({*running.get(node.name, ())})), node.name) for node in seen.nodes)
    for owners, nodes in grouped(beside).items():
        if len(owners) < 2:
            continue
        cause = f"{len(owners)} device plugins run there, and each registers the same resource with the kubelet"
        evidence = (f"plugins: {first(list(map('/'.join, owners)))}", f"nodes: {first(nodes)}")
        # Which of them is the right one is not known here: any pod may name its container as the plugin's is named.
        remedy = "keep the one that you installed on purpose; uninstall the chart, or delete the owner, of the other"
        # Unless administrators run two, only the others show that there are two.
        own = [space for space, _ in owners if space in seen.trust.administered]
        namespaces = tuple(own if len(own) > 1 else {space for space, _ in owners}.difference(own))
        yield Finding("two-plugins", "error", several(nodes), cause, evidence, remedy, namespaces)


def _unconfirmed(seen: Seen) -> Iterator[Finding]:
    """Programs that look like the GPU stack, in namespaces of which nothing shows that tenants cannot use them."""
    names, daemon_sets = {node.name for node in seen.nodes}, {str(one) for one in seen.others}
    found = grouped(((one.namespace, one.owner or one.name, one.role), one.node) for one in seen.other_pods)
    for one in seen.others:
        found.setdefault((one.namespace, one.name, one.role), [])
    for (space, name, role), nodes in sorted(found.items(), key=lambda one: one[0][:2]):
        where, on = f"{space}/{name}", sorted(names.intersection(nodes))
        cause = f"it looks like the {role.value}, and does not count: tenants may use its namespace"
        evidence = (f"GPU nodes on which it runs: {first(on)}",) if on else ()
        remedy = advice("if you installed it, add {namespace} to exempt.namespaces of the settings", namespace=space)
        if where in daemon_sets:
            remedy = Remedy(remedy, ", or name it: ", naming(space, name))
        yield Finding("stack-unconfirmed", "warning", where, cause, evidence, remedy, (space,))
    plugins = [one for one in seen.others if one.role is Role.PLUGIN]
    if plugins and not seen.of(Role.PLUGIN):
        # No plugin counts, perhaps since the one of an administrator starts nowhere. The API server sets its date.
        yield from not_tolerated([min(plugins, key=lambda one: one.created)], seen.nodes)


def not_tolerated(programs: Sequence[Program], nodes: Iterable[SeenNode]) -> Iterator[Finding]:
    """Findings for nodes that some of these DaemonSets select, and whose taints none of those tolerates."""
    found = []
    for node in nodes:
        selecting = [one for one in programs if one.selects(node)]
        taints = [taint for one in selecting if (taint := one.repelled(node)) is not None]
        if taints and len(taints) == len(selecting):
            found.append(((selecting[0], taints[0]), node.name))
    for (one, taint), names in grouped(found).items():
        cause = f"DaemonSet {one} does not tolerate the taint {taint}, so that no {one.role.value} starts there"
        entry = "add {key: {taint}, operator: Exists, effect: {effect}} to tolerations in the values of its chart"
        remedy = advice(
            f"{entry}, or: {_EDIT}", one, taint=taint.key, effect=[named("taint effect", taint.effect, KIND)]
        )
        yield about_nodes(names, "taint-not-tolerated", "error", cause, remedy, of=one)


# Configurations.


def _given(seen: Stack) -> Iterator[tuple[Program, Configurations]]:
    """The plugins, each with the ConfigMap of its configurations, where that is known."""
    for one in seen.of(Role.PLUGIN):
        if one.config_map and (found := seen.configurations.get(one.maps)) is not None:
            yield one, found


def _configured(seen: Stack) -> Iterator[tuple[SeenNode, Program, Chosen]]:
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
    used = {(chosen.where, chosen.key) for *_, chosen in _configured(seen)}
    # Of several plugins that read a ConfigMap, the first counts.
    for one, found in {found.where: (one, found) for one, found in reversed([*_given(seen)])}.values():
        for key, text in (found.texts or {}).items():
            for code, check, cause in _FAULTS:
                violations = list(check.run(SharingConfig(text.value, one.version)))
                if text.is_unread:
                    violations = [Violation((), text.problem, "correct it")] if code == "GPS030" else []
                if violations:
                    said = [f"{dotted(each.path) or 'the document'}: {each.message}" for each in violations[:MOST]]
                    names = {"how": [violations[0].remedy], "configmap": one.config_map}
                    remedy = advice(f"{{how}}: {_EDIT_MAP}", one, **names)
                    is_refused = code == "GPS030" and (found.where, key) in used
                    severity: Severity = "error" if is_refused else "warning"
                    # No release reads a text that is no YAML.
                    if (nearest := nearest_known(one.version)) and text.value is not None:
                        severity, cause = "warning", f"by the rules of {nearest}, {cause}"
                    subject = f"ConfigMap {found.where}, key {key}"
                    yield Finding(code, severity, subject, cause, tuple(said), remedy, (one.namespace,))


def _names(seen: Stack) -> Iterator[Finding]:
    """ConfigMaps that do not exist, and defaults and labels of nodes that name no configuration."""
    for one, found in _given(seen):
        default = "" if one.default is None else one.default.name
        unlabelled = (node for node in seen.nodes if not node.labels.get(CONFIG_LABEL))
        if found.texts is None:
            cause = f"the ConfigMap {found.where} of its configurations does not exist, and its pods do not start"
            create = "create the ConfigMap {configmap} in the namespace of the DaemonSet"
            yield about(one, "GPS033", "error", cause, advice(create, configmap=one.config_map))
        elif default and default not in found.texts and any(map(one.selects, unlabelled)):
            cause = f"its default configuration {default} does not exist, and the plugin does not start with it"
            change = f"set config.default in the values of its chart, or: {_EDIT_MAP}"
            yield about(one, "GPS033", "error", cause, advice(change, one, configmap=one.config_map), _has(found))
    # With a label that names none, the plugin keeps the old configuration, and does not start again with it.
    wrong = grouped(
        ((chosen.where, chosen.key, plugin), node.name)
        for node, plugin, chosen in _configured(seen)
        if node.labels.get(CONFIG_LABEL) and not chosen.is_known
    )
    for (where, key, plugin), names in wrong.items():
        found = seen.configurations[where]
        cause = f"the label {CONFIG_LABEL}={key} names no configuration, and the plugin does not start with it"
        choose = f"{_LABEL}, or add the key to the ConfigMap"
        labels = [_choice(found), _OVERWRITE]
        remedy = of_nodes(seen.trust, plugin, advice(choose, node=names[0], labels=labels))
        yield about_nodes(names, "config-label-unknown", "error", cause, remedy, _has(found), of=plugin)


def _has(found: Configurations) -> str:
    return f"ConfigMap {found.where} has: {first(list(found.texts or ())) or 'no configuration'}"


def _choice(found: Configurations) -> Word:
    """The label that chooses the first configuration."""
    return label(CONFIG_LABEL, next(iter(found.texts or ()), "NAME"))


def _unread(seen: Stack) -> Iterator[Finding]:
    """Configurations that a plugin gets, and labels that choose one, where nothing reads them.

    Without a config-manager, the plugin reads a file alone (NVIDIA/k8s-device-plugin#615).
    """
    for one in seen.of(Role.PLUGIN):
        for name in one.unread:
            read = seen.configurations.get(f"{one.namespace}/{name}")
            if read is not None and read.shares:
                cause = (
                    f"the device plugin does not read the configuration in ConfigMap {read.where}, and shares nothing"
                )
                gets = "the DaemonSet gets the ConfigMap, and neither CONFIG_FILE nor --config-file names a file of it"
                file = "mount the ConfigMap at /config, and set CONFIG_FILE=/config/{key} in the plugin's container: "
                key = named("key", next(iter(read.texts or ()), "KEY"), LABEL_VALUE)
                yield about(one, "config-unread", "warning", cause, advice(file + _EDIT, one, key=[key]), gets)
    for one, found in _given(seen):
        own = [(node.name, chosen) for node, plugin, chosen in seen.chosen_by if plugin is one]
        if found.shares and own and all(chosen and not chosen.key for _, chosen in own):
            cause = f"no node uses a configuration of ConfigMap {found.where}, and nothing is shared"
            evidence = f"there is no default, and no node has the label {CONFIG_LABEL}"
            remedy = advice(f"{_LABEL}, or set a default", node=own[0][0], labels=[_choice(found)])
            yield about(one, "config-unused", "warning", cause, remedy, evidence)
    unread = grouped(
        (plugin, node.name)
        for node, plugin, _ in seen.chosen_by
        if plugin is not None and node.labels.get(CONFIG_LABEL) and (plugin.is_unconfigured or plugin.key is not None)
    )
    for plugin, names in unread.items():
        cause = f"nothing reads the label {CONFIG_LABEL}: DaemonSet {plugin} has no config-manager"
        clear = f"set config.name in the values of the plugin's chart to the ConfigMap; or remove it: {_LABEL}"
        remedy = advice(clear, node=names[0], labels=[f"{CONFIG_LABEL}-"])
        yield about_nodes(names, "label-unread", "warning", cause, remedy, of=plugin)


# The MPS control daemon.


def _without_daemon(seen: Stack) -> Iterator[Finding]:
    nodes = [node.name for node in seen.mps_nodes()]
    if nodes and not seen.of(Role.DAEMON):
        cause = "MPS is configured there, and the cluster has no DaemonSet of the MPS control daemon"
        remedy = (
            "install NVIDIA's device plugin with its chart and config.map or config.name, which make the chart deploy "
            "the daemon; a manifest of the plugin alone has none"
        )
        yield about_nodes(nodes, "daemon-missing", "error", cause, remedy)


def _wants_no_pods(seen: Stack) -> Iterator[Finding]:
    """MPS nodes that no DaemonSet of the daemon selects, and why the first one (NVIDIA/k8s-device-plugin#712, #983)."""
    daemons = seen.of(Role.DAEMON)
    left_out = [node for node in seen.mps_nodes() if not any(one.selects(node) for one in daemons)]
    if daemons and left_out:
        cause, remedy = _why_not_selected(seen, daemons[0], left_out[0])
        nodes = f"MPS nodes that it does not select: {first([node.name for node in left_out])}"
        wants = f"DaemonSet {daemons[0]} wants {daemons[0].desired} pods"
        yield about(daemons[0], "daemon-wants-no-pods", "error", cause, remedy, wants, nodes)


def _why_not_selected(seen: Stack, daemon: Program, node: SeenNode) -> tuple[str, Advice]:
    """The cause and the remedy."""
    unmet, value = _unmet(daemon, node), node.labels.get(CAPABLE)
    if CAPABLE not in dict(unmet):
        keys = ", ".join(f"{key}={value}" for key, value in unmet) or "its affinity"
        cause = f"the MPS control daemon selects no node that shares through MPS: {keys} is not met"
        mark = advice(_LABEL, node=node.name, labels=[label(*one) for one in unmet[:_MOST]])
        return cause, of_nodes(seen.trust, daemon, mark if unmet else "change the affinity of the DaemonSet")
    discoveries = seen.of(Role.DISCOVERY)
    if not discoveries:
        cause = f"nothing sets the label {CAPABLE}: GPU feature discovery is not installed"
        chart = "set gfd.enabled: true in the values of the chart in namespace {namespace}, and upgrade it"
        return cause, advice(chart, daemon)
    discovery = discoveries[0]
    if discovery.ready < discovery.desired or not any(one.covers(node) for one in discoveries):
        cause = f"the label {CAPABLE} is missing: GPU feature discovery does not run there"
        return cause, advice(_DESCRIBE, discovery)
    cause = f"the label {CAPABLE} is {value}: GPU feature discovery was not restarted since the edit, or a GPU uses MIG"
    if value is None:
        cause = f"GPU feature discovery did not set the label {CAPABLE}"
    return cause, advice(_RESTART, discovery)


def _undiscovered(seen: Stack) -> Iterator[Finding]:
    """Nodes whose label was set by hand: other labels, by which pods and the webhook know shares, are missing."""
    names = [node.name for node in seen.nodes if node.labels.get(CAPABLE) == "true" and not is_discovered(node)]
    if names:
        cause = (
            f"the label {CAPABLE} was set by hand, and nothing updates it: no label of GPU feature discovery is there"
        )
        remedy = "set gfd.enabled: true in the values of the device plugin's chart, and upgrade it"
        yield about_nodes(names, "label-without-discovery", "warning", cause, remedy)


# Amounts and labels.


def _expected(node: SeenNode, config: PluginConfig) -> dict[str, int]:
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
    for node, plugin, chosen in _configured(seen):
        wanted = {} if chosen.config is None else _expected(node, chosen.config)
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
    where, config = "without sharing", "no config"
    if chosen.key:
        where, config = f"ConfigMap {chosen.where}, key {chosen.key}", f"config {chosen.key}"
    # All programs that read the configuration.
    programs = [plugin, *(one for one in seen.programs if one.maps == plugin.maps and one is not plugin)][:_MOST]
    shown = [reference("DaemonSet", one.name) for one in programs]
    why, change = "the plugin was not restarted since the edit", _RESTART
    if any(one.role is Role.DAEMON for one in programs):
        change += ", which ends each program that uses MPS on its nodes"
    registered = any(node.capacity.values()) and not any(node.offered.values())
    if registered or all(node.capacity.get(name, 0) == units for name, units in wanted.items()):
        why = "the device plugin reports GPUs as unhealthy"
        change = f"look for Xid errors in the kernel log of the node; then {change}"
    elif not any(node.offered.values()):
        why = "the plugin and the daemon run, and the plugin registered nothing"
        change, shown = _LOGS, shown[:1]
        shared = [] if chosen.config is None or chosen.config.strategy != "mps" else chosen.config.resources
        most, served = max((one.replicas for one in shared), default=0), clients({node.labels.get(FAMILY, "")})
        if most > served:
            why = f"MPS does not start with {most} replicas, since a card of this node serves {served} clients"
            change = f"set at most {served} replicas in the configuration"
    cause = f"{config}, allocatable {sum(node.offered.values())}: {why}"
    evidence = f"{where}: {_amounts(wanted)}", f"allocatable: {_amounts(node.offered) or 'no GPU'}"
    remedy = advice(change, plugin, object=shown)
    return about_nodes(names, "allocatable-differs", "error", cause, remedy, *evidence, of=plugin)


def _contradictions(seen: Stack) -> Iterator[Finding]:
    """Nodes that offer what their configuration says, and whose label of the strategy says something else."""
    found = grouped(
        ((plugin, node.labels[STRATEGY], chosen.config.strategy), node)
        for node, plugin, chosen in _configured(seen)
        if chosen.config is not None and node.labels.get(STRATEGY, chosen.config.strategy) != chosen.config.strategy
        if all(node.offered.get(name) == units for name, units in _expected(node, chosen.config).items())
    )
    for (plugin, said, strategy), nodes in found.items():
        names = [node.name for node in nodes]
        cause = (
            f"the label {STRATEGY}={said}, by which pods know shares, is wrong: the configuration shares by {strategy}"
        )
        discoveries = [one for one in seen.of(Role.DISCOVERY) if one.covers(nodes[0])]
        clear = advice(_LABEL, node=names[0], labels=[f"{STRATEGY}-", f"{CAPABLE}-", f"{REPLICAS}-"])
        remedy = of_nodes(seen.trust, plugin, advice(_RESTART, discoveries[0]) if discoveries else clear)
        yield about_nodes(names, "labels-differ", "warning", cause, remedy, of=plugin)


_CLOSED: Final[tuple[tuple[str, Severity, str], ...]] = (
    ("node-not-ready", "error", "`kubectl describe node {node}`, and look at the machine and its kubelet"),
    ("node-cordoned", "warning", "after its maintenance: `kubectl uncordon {node}`"),
)


def _closed(seen: Stack) -> Iterator[Finding]:
    """Nodes that take no new pods: their other findings may follow from it."""
    for key, names in grouped((key, node.name) for node in seen.nodes if (key := closed(node.taints))).items():
        finding, severity, change = _CLOSED[key == CORDONED]
        cause = f"{CLOSED[key]}, and takes no new pods"
        yield about_nodes(names, finding, severity, cause, advice(change, node=names[0]))


_CONFIGURED: Final[tuple[Part, ...]] = ("nodes", "daemonsets", "configurations")

STATES = (Check("states of nodes", ("nodes",), _closed),)
AMOUNTS = (Check("allocatable replicas", _CONFIGURED, _differs),)
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
    Check("names of configurations", _CONFIGURED, _names),
    Check("configurations that nothing reads", _CONFIGURED, _unread),
)
DAEMON = (
    Check("MPS control daemon", ("nodes", "daemonsets", "pods"), _without_daemon),
    Check("nodes of the MPS control daemon", ("nodes", "daemonsets"), _wants_no_pods),
    Check("pods of the MPS control daemon", ("daemonsets",), lambda seen: not_ready(seen, Role.DAEMON)),
    Check(
        "tolerations of the MPS control daemon",
        ("nodes", "daemonsets"),
        lambda seen: not_tolerated(seen.of(Role.DAEMON), seen.mps_nodes()),
    ),
    Check("labels of GPU feature discovery", ("nodes",), _undiscovered),
)
CHECKS = (
    *CONFIGURATION,
    Check("two device plugins", ("pods",), _two),
    *WHERE,
    *PODS,
    Check("namespaces of the GPU stack", ("nodes", "daemonsets", "pods"), _unconfirmed),
    *DAEMON,
    *AMOUNTS,
    Check("labels against configurations", _CONFIGURED, _contradictions),
)
