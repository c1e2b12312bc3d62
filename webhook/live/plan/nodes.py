"""Nodes as a new configuration of the device plugin makes them: their resources, and their labels by discovery."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from webhook.live.sharing import Offer, offers, replicas_of
from webhook.policy.placement.cluster_objects import Node, PluginConfig
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.nearest import card
from webhook.policy.placement.node_classes import (
    CAPABLE,
    CARD_COUNT,
    CARD_MEMORY,
    PRODUCT,
    RENAMED,
    REPLICAS,
    SHARED,
    STRATEGY,
    PluginConfigs,
)
from webhook.policy.placement.selector import integer
from webhook.policy.pods.gpu_resources import CARD, GpuResources
from webhook.policy.settings.settings import Settings


class PlannedNodes(NamedTuple):
    """The nodes after the change.

    `restarts` names those whose plugin gets another configuration. `kept` names those that keep the one they have,
    because their label names none of the new ones. `unknown` names those whose cards cannot be counted: neither a label
    nor an amount shows them.
    """

    nodes: tuple[Node, ...]
    restarts: frozenset[str]
    kept: tuple[str, ...]
    unknown: tuple[str, ...]


def planned_nodes(settings: Settings, before: Facts, after: Facts) -> PlannedNodes:
    """The nodes of a cluster under the device plugin of `after`."""
    old, new = PluginConfigs(before.device_plugin), PluginConfigs(after.device_plugin)
    gpus = GpuResources(settings.resources)
    nodes, restarts, kept, unknown = [], set(), [], []
    for node in before.nodes or ():
        resources = sorted(name for name in node.resources if name in gpus)
        was, becomes = old.of(node), new.of(node)
        planned = node
        if resources and becomes is None:
            kept.append(node.name)
        elif resources and becomes is not None and not (was is not None and replace(was, name=becomes.name) == becomes):
            amounts = _amounts(node, resources, was, becomes)
            if amounts is None:
                unknown.append(node.name)
            else:
                planned = replace(node, resources={**node.resources, **amounts}, labels=_labels(node, becomes))
            if was is not None or planned != node:
                restarts.add(node.name)
        nodes.append(planned)
    return PlannedNodes(tuple(nodes), frozenset(restarts), tuple(kept), tuple(unknown))


def _amounts(
    node: Node, resources: list[str], was: PluginConfig | None, becomes: PluginConfig
) -> dict[str, int] | None:
    """What the node offers of each GPU resource; None where its cards cannot be counted.

    A name under which it offered them before stays with 0, as the kubelet reports it.
    """
    found = dict.fromkeys(resources, 0)
    for base in dict.fromkeys(name.removesuffix(RENAMED) for name in resources):
        cards = _cards(node, base, was)
        if cards is None:
            return None
        shared = next((one for one in becomes.resources if one.name.removesuffix(RENAMED) == base), None)
        if shared is None:
            found[base] = cards
        else:
            found[shared.name] = cards * shared.replicas
    return found


def _cards(node: Node, base: str, was: PluginConfig | None) -> int | None:
    """How many devices stand behind a resource: by the label for cards, else by the amount and its replicas."""
    labelled = integer(node.labels.get(CARD_COUNT, "")) if base == CARD else None
    has_mig = any("/mig-" in name for name in node.resources)  # whose cards the label counts as well
    if labelled and labelled > 0 and not has_mig:
        return labelled
    for name in (base, base + RENAMED):
        if amount := node.resources.get(name, 0):
            replicas = _replicas(node, name, was)
            return amount // replicas if replicas and amount % replicas == 0 else None
    return None


def _replicas(node: Node, name: str, was: PluginConfig | None) -> int:
    """The replicas of a device under a name; 0 if they are unknown."""
    if was is not None:
        return next((one.replicas for one in was.resources if one.name == name), 1) or 1
    if name.removesuffix(RENAMED) == CARD and (REPLICAS in node.labels or node.labels.get(STRATEGY) != "none"):
        return replicas_of(node.labels.get(REPLICAS, ""))
    return 1


def _labels(node: Node, config: PluginConfig) -> dict[str, str]:
    """The labels as feature discovery sets them; as they are on a node where it does not run.

    Sources: NVIDIA/k8s-device-plugin internal/lm/resource.go, `baseLabeler`, and nvml.go, `newSharingLabeler`.
    """
    labels = dict(node.labels)
    strategy, replicas, has_suffix = card(config)
    if STRATEGY in labels:
        labels[STRATEGY] = strategy
    if REPLICAS in labels and labels[REPLICAS] != "0":
        labels[REPLICAS] = str(replicas)
    if CAPABLE in labels and not labels.keys().isdisjoint((STRATEGY, REPLICAS, PRODUCT, CARD_MEMORY, CARD_COUNT)):
        labels[CAPABLE] = "true" if config.strategy == "mps" else "false"
    if PRODUCT in labels:
        labels[PRODUCT] = labels[PRODUCT].removesuffix(SHARED) + (SHARED if has_suffix else "")
    return labels


class NodeChange(NamedTuple):
    """A resource of a node before and after the change; None where the node does not offer it."""

    node: str
    resource: str
    before: Offer | None
    after: Offer | None
    held: int


def node_changes(
    settings: Settings, before: Facts, after: Facts, held: dict[tuple[str, str], int]
) -> Iterator[NodeChange]:
    """The resources of nodes that change, in the order of nodes."""
    old = {(one.node, one.resource): one for one in offers(settings, before)}
    new = {(one.node, one.resource): one for one in offers(settings, after)}
    for key in sorted(old.keys() | new.keys()):
        was, becomes = old.get(key), new.get(key)
        if was != becomes and (total(was) or total(becomes)):
            yield NodeChange(*key, was, becomes, held.get(key, 0))


def total(offer: Offer | None) -> int:
    """How much of a resource a node offers."""
    return 0 if offer is None else offer.total
