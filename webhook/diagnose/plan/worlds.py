"""The cluster before and after a change: the new configuration of the device plugin, and the nodes that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from webhook.cluster.device_plugin import Texts, parse_config_map, read_text
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
    restarts: Sequence[str] | None = None
    notes: Sequence[str] = ()

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
    plugin, notes = new_plugin(new_config, facts.device_plugin, wanted)
    becomes = replace(facts, device_plugin=plugin)
    nodes, restarts, unreached = planned_nodes(settings, facts, becomes)
    becomes = replace(becomes, nodes=None if facts.nodes is None else nodes)
    return Worlds(before, OfflineEvaluator.of(wanted, becomes), restarts, [*notes, *unreached])


# The configuration.

_FILE: Final = "config"
"""The name of a configuration in a file of its own, where the default has no name."""


def new_plugin(source: Source, known: DevicePlugin | None, settings: Settings) -> tuple[DevicePlugin, Sequence[str]]:
    """The device plugin with a new configuration, and what the checks of the configuration warn of.

    The keys of a ConfigMap are all configurations. A file of its own replaces the default one. What a configuration
    does not change stays. Raises InputError for one that the device plugin refuses.
    """
    known = known or DevicePlugin()
    document = next(documents(source.file, source.data), None)
    if isinstance(document, Diagnostic):
        raise InputError([document])
    value = None if document is None else document.value
    texts: Texts = {}
    kept: Iterable[PluginConfig] = ()
    checked: Iterable[Manifest | Diagnostic | Unread] = checked_objects(source)
    default = known.default_config
    if isinstance(value, dict) and value.get("kind") == "ConfigMap":
        _, texts = decoded(value, parse_config_map) or ("", {})
        default = default if default in texts else DefaultRule().choose(texts.keys())
    elif document is not None and isinstance(value, dict) and "kind" not in value:
        default = default or _FILE
        texts = {default: source.data}
        kept = [one for one in known.configs or () if one.name != default]
        checked = [Manifest(source.file, document, (), as_object(value))]
    if not texts:
        wanted = "name a configuration, or a ConfigMap that holds some"
        raise InputError([Diagnostic(source.file, 1, 1, f"no configuration of the device plugin; {wanted}")])
    warnings = list(
        _warnings(checked, OfflineEvaluator.of(settings, Facts(device_plugin=DevicePlugin(version=known.version))))
    )
    read = {name: read_text(name, text) for name, text in sorted(texts.items())}
    refused = next((one for one in read.values() if one.config is None), None)
    if refused is not None:
        raise InputError.of(source.file, refused.problem)
    configs = [one.config for one in read.values() if one.config is not None]
    return replace(known, configs=(*configs, *kept), default_config=default), warnings


def _warnings(found: Iterable[Manifest | Diagnostic | Unread], evaluator: OfflineEvaluator) -> Iterator[str]:
    """Yield what the checks of configurations warn of. Raises InputError for what they deny."""
    denied: list[Diagnostic] = []
    for one in found:
        evaluated = evaluate(one, evaluator, "") if isinstance(one, Manifest) else one
        if isinstance(evaluated, Diagnostic):
            denied.append(evaluated)
        for each in evaluated.result().findings if isinstance(evaluated, Evaluated) else ():
            place = Diagnostic(one.file, each.line, each.column, f"{each.code} {each.message}; {each.remedy}")
            if each.severity is Severity.DENY:
                denied.append(place)
            else:
                yield str(place)
    if denied:
        raise InputError(denied)


# The nodes.

_KEPT = "neither its label nor the default names a new configuration, so that nothing changes there"
_UNKNOWN = (
    "it has no label for a configuration, and the default is unknown, so that its change is unknown; name the device "
    "plugin in facts.devicePlugin.daemonSet"
)
_UNCOUNTED = (
    "neither labels nor amounts show how many cards it has, so that it is left out; run GPU feature discovery, or name "
    "the plugin's ConfigMap in facts.devicePlugin"
)


def planned_nodes(
    settings: Settings, before: Facts, after: Facts
) -> tuple[tuple[Node, ...], Sequence[str], Sequence[str]]:
    """The nodes of a cluster under the device plugin of `after`.

    With the names of those whose plugin gets another configuration, and why nothing is known of the others: their label
    names none of the new configurations, or nothing shows how many cards they have.
    """
    old, new = PluginConfigs(before.device_plugin), PluginConfigs(after.device_plugin)
    gpus = GpuResources(settings.resources)
    has_default = before.device_plugin is not None and before.device_plugin.default_config is not None
    nodes, restarts, notes = [], [], []
    for node in before.nodes or ():
        resources = [name for name in node.resources if name in gpus]
        was, becomes, why, planned = old.of(node), new.of(node), "", node
        if not resources:
            pass
        elif becomes is None:
            why = _KEPT if has_default or CONFIG_LABEL in node.labels else _UNKNOWN
        elif was is None or replace(was, name=becomes.name) != becomes:
            amounts = _amounts(node, resources, was, becomes)
            if amounts is None:
                why = _UNCOUNTED
            else:
                planned = replace(node, resources={**node.resources, **amounts}, labels=_labels(node, becomes))
            if was is not None or planned != node:
                restarts.append(node.name)
        nodes.append(planned)
        notes += [f"node {node.name}: {why}"] if why else []
    return tuple(nodes), restarts, notes


def _amounts(
    node: Node, resources: Sequence[str], was: PluginConfig | None, becomes: PluginConfig
) -> dict[str, int] | None:
    """What the node offers of each GPU resource; None where its cards cannot be counted.

    A name under which it offered them before stays with 0, as the kubelet reports it.
    """
    found = dict.fromkeys(resources, 0)
    for base in {name.removesuffix(RENAMED) for name in resources}:
        cards = cards_of(node.labels, node.resources, base, was)
        if cards is None:
            return None
        shared = (one for one in becomes.resources if one.name.removesuffix(RENAMED) == base)
        name, replicas = next(((one.name, one.replicas) for one in shared), (base, 1))
        found[name] = cards * replicas
    return found


def _labels(node: Node, config: PluginConfig) -> dict[str, str]:
    """The labels as feature discovery sets them; as they are on a node where it does not run.

    Sources: NVIDIA/k8s-device-plugin internal/lm/resource.go, `baseLabeler`, and nvml.go, `newSharingLabeler`.
    """
    labels = dict(node.labels)
    strategy, replicas, has_suffix = _card(config)
    discovered = {STRATEGY: strategy, PRODUCT: labels.get(PRODUCT, "").removesuffix(SHARED) + SHARED * has_suffix}
    if labels.get(REPLICAS) != "0":
        discovered[REPLICAS] = str(replicas)
    if not labels.keys().isdisjoint((STRATEGY, REPLICAS, PRODUCT, CARD_MEMORY, CARD_COUNT)):
        discovered[CAPABLE] = "true" if config.strategy == "mps" else "false"
    return labels | {key: value for key, value in discovered.items() if key in labels}


def _card(config: PluginConfig) -> tuple[str, int, bool]:
    """How a configuration shares cards, into how many replicas, and whether the label of their product says so."""
    for shared in config.resources:
        if shared.name in (CARD, CARD + RENAMED):
            return config.strategy, shared.replicas, shared.name == CARD
    return "none", 1, False
