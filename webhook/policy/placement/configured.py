"""The labels that GPU feature discovery sets by the configurations of the device plugin, where no nodes are known.

It reads the same configurations as the plugin, and its labels follow them (NVIDIA/k8s-device-plugin
internal/lm/resource.go, `baseLabeler` and `getProductName`, and internal/lm/nvml.go, `newSharingLabeler`; equal from
v0.15 on). Nodes may also run without it: then these labels are absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from webhook.policy.placement.node_classes import CAPABLE, PRODUCT, RENAMED, REPLICAS, SHARED, STRATEGY
from webhook.policy.placement.selector import Constraint, Expression, Term, alternatives
from webhook.policy.pods.gpu_resources import CARD

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import PluginConfig
    from webhook.policy.placement.reachability import Placement


class Changed(NamedTuple):
    """An expression of a pod that no node meets which a configuration describes, and the label that it has instead."""

    expression: Expression
    constraint: Constraint


def changed(placement: Placement) -> Changed | None:
    """The first expression of the pod about a label that each configuration gives another value; None without one.

    Only configurations with which nodes offer the resource of the pod count. MIG devices have labels of their own.
    """
    required, cluster = placement.requirement, placement.cluster
    if required is None or required.is_partial or placement.possible or cluster.refused:
        return None
    if placement.requests.has_mig or len(placement.requests.peaks) != 1:
        return None
    (resource,) = placement.requests.peaks
    offering = cluster.classes.configs.offering(resource)
    if not offering:
        return None
    labels = _labels(offering)
    if required.satisfiable(labels):
        return None
    for expression in (one for alternative in alternatives(placement.pod) or () for one in alternative):
        constraint = labels.get(expression.key)
        if constraint is not None and not expression.constraint.agrees_with(constraint):
            return Changed(expression, constraint)
    return None


def _labels(configs: Sequence[PluginConfig]) -> Term:
    """What the labels of nodes with any of these configurations have in common."""
    cards = {card(config) for config in configs}
    replicas = {str(count) for _, count, _ in cards}
    suffixed = {has_suffix for _, _, has_suffix in cards}
    product = Constraint()
    if len(suffixed) == 1:
        product = Constraint(suffix=SHARED) if suffixed.pop() else Constraint(but_suffix=SHARED)
    return {
        STRATEGY: Constraint({strategy for strategy, _, _ in cards}),
        REPLICAS: Constraint(replicas | {"0"} if "1" in replicas else replicas),
        CAPABLE: Constraint({"true" if config.strategy == "mps" else "false" for config in configs}),
        PRODUCT: product,
    }


def card(config: PluginConfig) -> tuple[str, int, bool]:
    """How a configuration shares cards, into how many replicas, and whether the label of their product says so."""
    for shared in config.resources:
        if shared.name in (CARD, CARD + RENAMED):
            return config.strategy, shared.replicas, shared.name == CARD
    return "none", 1, False
