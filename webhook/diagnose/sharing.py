"""How the nodes of a cluster share their cards: strategy, replicas and memory of a replica."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from webhook.policy.placement.cluster_objects import Node, PluginConfig, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CARD_COUNT, CARD_MEMORY, RENAMED, REPLICAS, STRATEGY, NodeClasses
from webhook.policy.placement.node_index import label_number, share
from webhook.policy.placement.selector import integer
from webhook.policy.pods.gpu_resources import CARD
from webhook.policy.settings.settings import Settings

CORDONED: Final = "node.kubernetes.io/unschedulable"

CLOSED: Final = {
    "node.kubernetes.io/unreachable": "its kubelet does not answer",
    "node.kubernetes.io/not-ready": "it is not ready",
    CORDONED: "it is cordoned",
}
"""Why a node takes no new pods, by the taint that Kubernetes sets (kubernetes staging/src/k8s.io/api/core/v1)."""


def closed(taints: Iterable[Taint]) -> str:
    """The taint by which a node takes no new pods; empty for one that takes some."""
    keys = {one.key for one in taints if one.effect == "NoSchedule"}
    return next((key for key in CLOSED if key in keys), "")


@dataclass(frozen=True, slots=True)
class Offer:
    """A GPU resource of a node. `strategy` is empty where it is unknown; `share` is the MiB of a replica, or None."""

    node: str
    strategy: str
    resource: str
    total: int
    share: int | None

    def as_data(self) -> dict[str, str | int | None]:
        return {"strategy": self.strategy or None, "total": self.total, "shareMiB": self.share}


def offers(settings: Settings, facts: Facts) -> Iterator[Offer]:
    """The GPU resources of all known nodes, in the order of their names."""
    classes = NodeClasses(settings, facts.device_plugin)
    for node in facts.nodes or ():
        strategy = strategy_of(node, classes)
        for resource in sorted(node.resources):
            if resource in classes.gpus:
                yield Offer(node.name, strategy, resource, node.resources[resource], _share(node, resource, classes))


def strategy_of(node: Node, classes: NodeClasses) -> str:
    """How a node shares its cards: by the plugin's configuration, else by its labels; empty where nothing says."""
    config = classes.configs.of(node)
    if config is not None:
        return config.strategy
    return classes.marked(node) or ("none" if classes.are_shown_by(node) else "")


def _share(node: Node, resource: str, classes: NodeClasses) -> int | None:
    """The memory of a replica in MiB; None where the labels do not say, and for MIG."""
    known = classes.gpus.find(resource)
    if known is None or known.kind == "mig":
        return None
    config = classes.configs.of(node)
    shared = (one.replicas for one in config.resources if one.name == resource) if config is not None else ()
    labelled = replicas_of(node.labels.get(REPLICAS))
    return share(label_number(node.labels.get(CARD_MEMORY)), labelled and max(labelled, next(iter(shared), 0)))


def replicas_of(label: str | None) -> int:
    """The replicas of one card by the label of its node; 0 if that is no number. Cards that are not shared have 1."""
    number = 1 if label is None else integer(label)
    return 0 if number is None or number < 0 else max(number, 1)


def cards_of(
    labels: Mapping[str, str], amounts: Mapping[str, int], base: str, config: PluginConfig | None
) -> int | None:
    """How many devices stand behind a resource: by the label for cards, else by the amount and its replicas.

    `base` is its name without the suffix of shares. None where nothing shows it.
    """
    labelled = integer(labels.get(CARD_COUNT, "")) if base == CARD else None
    has_mig = any("/mig-" in name for name in amounts)  # whose cards the label counts as well
    if labelled and labelled > 0 and not has_mig:
        return labelled
    for name in (base, base + RENAMED):
        if amount := amounts.get(name, 0):
            replicas = 1
            if config is not None:
                replicas = next((one.replicas for one in config.resources if one.name == name), 1) or 1
            elif base == CARD and (REPLICAS in labels or labels.get(STRATEGY) != "none"):
                replicas = replicas_of(labels.get(REPLICAS, ""))
            return amount // replicas if replicas and amount % replicas == 0 else None
    return None
