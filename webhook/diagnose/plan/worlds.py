"""The cluster before and after a change: the new configuration of the device plugin, and the nodes that it makes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from webhook.cluster.device_plugin import Texts, device_plugin, parse_config_map
from webhook.diagnose.sharing import cards_of
from webhook.diagnostics import Diagnostic, InputError, Unread
from webhook.dryrun.check import checked_objects
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.evidence import decoded
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest, Source, documents
from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import (
    CAPABLE,
    CARD_COUNT,
    CARD_MEMORY,
    CONFIG_LABEL,
    PRODUCT,
    RENAMED,
    REPLICAS,
    SHARED,
    STRATEGY,
    PluginConfigs,
)
from webhook.policy.pods.gpu_resources import CARD, GpuResources
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.objects import DefaultRule, as_object
from webhook.policy.verdict import Severity


class Worlds(NamedTuple):
    """The cluster before and after a change.

    `restarts` names the nodes whose device plugin gets another configuration; None where the plugin stays as it is.
    `notes` say what the change does not reach, and what the checks of a configuration warn of.
    """

    before: OfflineEvaluator
    after: OfflineEvaluator
    restarts: frozenset[str] | None = None
    notes: tuple[str, ...] = ()

    @property
    def differ(self) -> bool:
        return self.before is not self.after


def worlds(settings: Settings, facts: Facts, wanted: Settings, new_config: Source | None) -> Worlds:
    """The worlds for settings that change, and for a new configuration of the device plugin.

    Raises InputError for a configuration that the device plugin refuses.
    """
    before = OfflineEvaluator.of(settings, facts)
    if new_config is None:
        return Worlds(before, before if wanted == settings else OfflineEvaluator.of(wanted, facts))
    plugin = new_plugin(new_config, facts.device_plugin, wanted)
    planned = planned_nodes(settings, facts, replace(facts, device_plugin=plugin.plugin))
    becomes = replace(facts, device_plugin=plugin.plugin, nodes=None if facts.nodes is None else planned.nodes)
    return Worlds(before, OfflineEvaluator.of(wanted, becomes), planned.restarts, (*plugin.warnings, *planned.notes))


# The configuration.

_FILE: Final = "config"
"""The name of a configuration in a file of its own, where the default has no name."""


class NewPlugin(NamedTuple):
    """The device plugin after the change, and what the checks of its configuration warn of."""

    plugin: DevicePlugin
    warnings: tuple[str, ...]


def new_plugin(source: Source, known: DevicePlugin | None, settings: Settings) -> NewPlugin:
    """Read a new configuration. Raises InputError for one that the device plugin refuses.

    The keys of a ConfigMap are all configurations. A file of its own replaces the default one.
    """
    document = next(documents(source.file, source.data), None)
    if isinstance(document, Diagnostic):
        raise InputError([document])
    value = None if document is None else document.value
    if document is None or not isinstance(value, dict) or value.get("kind") not in (None, "ConfigMap"):
        wanted = "name a configuration of the device plugin, or a ConfigMap that holds some"
        raise InputError([Diagnostic(source.file, 1, 1, f"no configuration of the device plugin; {wanted}")])
    if "kind" in value:
        warnings = _checked(checked_objects(source), known, settings)
        found: tuple[str, Texts] | None = decoded(dict(value), parse_config_map)
        if found is None or not found[1]:
            problem = "this ConfigMap holds no configuration of the device plugin"
            raise InputError([Diagnostic(source.file, 1, 1, problem)])
        return NewPlugin(_parsed(source, found[1], known), warnings)
    own = Manifest(source.file, document, (), as_object(value))
    warnings = _checked([own], known, settings)
    default = (known and known.default_config) or _FILE
    read = _parsed(source, {default: source.data}, known)
    others = () if known is None else (one for one in known.configs or () if one.name != default)
    return NewPlugin(replace(read, configs=(*(read.configs or ()), *others), default_config=default), warnings)


def _checked(
    found: Iterable[Manifest | Diagnostic | Unread], known: DevicePlugin | None, settings: Settings
) -> tuple[str, ...]:
    """What the checks of configurations warn of. Raises InputError for what they deny."""
    version = None if known is None else DevicePlugin(version=known.version)
    evaluator = OfflineEvaluator.of(settings, Facts(device_plugin=version))
    denied: list[Diagnostic] = []
    warned: list[str] = []
    for one in found:
        evaluated = evaluate(one, evaluator, "") if isinstance(one, Manifest) else one
        if isinstance(evaluated, Diagnostic):
            denied.append(evaluated)
        for each in evaluated.result().findings if isinstance(evaluated, Evaluated) else ():
            said = f"{each.code} {each.message}; {each.remedy}"
            place = Diagnostic(one.file, each.line, each.column, said)
            if each.severity is Severity.DENY:
                denied.append(place)
            else:
                warned.append(str(place))
    if denied:
        raise InputError(denied)
    return tuple(warned)


def _parsed(source: Source, texts: Texts, known: DevicePlugin | None) -> DevicePlugin:
    """The facts that the texts give, with those that a new configuration does not change. Raises InputError."""
    known = known or DevicePlugin()
    named = DevicePluginSource((source.file,), None, known.version)
    read, problems = device_plugin(named, {source.file: {"": texts}}, None)
    if problems:
        raise InputError(Diagnostic(source.file, 0, 0, problem) for problem in problems)
    default = known.default_config if known.default_config in texts else DefaultRule().choose(texts.keys())
    return replace(read, default_config=default, runtime_class=known.runtime_class)


# The nodes.


class PlannedNodes(NamedTuple):
    """The nodes after the change.

    `restarts` names those whose plugin gets another configuration. `notes` say of which nodes nothing is known: their
    label names none of the new configurations, or nothing shows how many cards they have.
    """

    nodes: tuple[Node, ...]
    restarts: frozenset[str]
    notes: tuple[str, ...]


def planned_nodes(settings: Settings, before: Facts, after: Facts) -> PlannedNodes:
    """The nodes of a cluster under the device plugin of `after`."""
    old, new = PluginConfigs(before.device_plugin), PluginConfigs(after.device_plugin)
    gpus = GpuResources(settings.resources)
    is_default_known = before.device_plugin is not None and before.device_plugin.default_config is not None
    nodes, restarts = [], set()
    kept, unknown = [], []
    for node in before.nodes or ():
        resources = sorted(name for name in node.resources if name in gpus)
        was, becomes = old.of(node), new.of(node)
        planned = node
        if resources and becomes is None:
            why = "neither its label nor the default names a new configuration, so that nothing changes there"
            if not is_default_known and CONFIG_LABEL not in node.labels:
                why = "it has no label for a configuration, and the default is unknown, so that its change is unknown"
                why += "; name the device plugin in facts.devicePlugin.daemonSet"
            kept.append(f"node {node.name}: {why}")
        elif resources and becomes is not None and not (was is not None and replace(was, name=becomes.name) == becomes):
            amounts = _amounts(node, resources, was, becomes)
            if amounts is None:
                why = "neither labels nor amounts show how many cards it has, so that it is left out"
                remedy = "run GPU feature discovery, or name the plugin's ConfigMap in facts.devicePlugin"
                unknown.append(f"node {node.name}: {why}; {remedy}")
            else:
                planned = replace(node, resources={**node.resources, **amounts}, labels=_labels(node, becomes))
            if was is not None or planned != node:
                restarts.add(node.name)
        nodes.append(planned)
    return PlannedNodes(tuple(nodes), frozenset(restarts), (*kept, *unknown))


def _amounts(
    node: Node, resources: list[str], was: PluginConfig | None, becomes: PluginConfig
) -> dict[str, int] | None:
    """What the node offers of each GPU resource; None where its cards cannot be counted.

    A name under which it offered them before stays with 0, as the kubelet reports it.
    """
    found = dict.fromkeys(resources, 0)
    for base in dict.fromkeys(name.removesuffix(RENAMED) for name in resources):
        cards = cards_of(node.labels, node.resources, base, was)
        if cards is None:
            return None
        shared = next((one for one in becomes.resources if one.name.removesuffix(RENAMED) == base), None)
        if shared is None:
            found[base] = cards
        else:
            found[shared.name] = cards * shared.replicas
    return found


def _labels(node: Node, config: PluginConfig) -> dict[str, str]:
    """The labels as feature discovery sets them; as they are on a node where it does not run.

    Sources: NVIDIA/k8s-device-plugin internal/lm/resource.go, `baseLabeler`, and nvml.go, `newSharingLabeler`.
    """
    labels = dict(node.labels)
    strategy, replicas, has_suffix = _card(config)
    if STRATEGY in labels:
        labels[STRATEGY] = strategy
    if REPLICAS in labels and labels[REPLICAS] != "0":
        labels[REPLICAS] = str(replicas)
    if CAPABLE in labels and not labels.keys().isdisjoint((STRATEGY, REPLICAS, PRODUCT, CARD_MEMORY, CARD_COUNT)):
        labels[CAPABLE] = "true" if config.strategy == "mps" else "false"
    if PRODUCT in labels:
        labels[PRODUCT] = labels[PRODUCT].removesuffix(SHARED) + (SHARED if has_suffix else "")
    return labels


def _card(config: PluginConfig) -> tuple[str, int, bool]:
    """How a configuration shares cards, into how many replicas, and whether the label of their product says so."""
    for shared in config.resources:
        if shared.name in (CARD, CARD + RENAMED):
            return config.strategy, shared.replicas, shared.name == CARD
    return "none", 1, False
