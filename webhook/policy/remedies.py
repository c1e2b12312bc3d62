"""Remedies that depend on the cluster: built from the limits, labels and nodes in force."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.policy.context import PodContext
from webhook.policy.placement.node_classes import NodeClasses
from webhook.policy.pods.pod import Container
from webhook.policy.pods.requests import ResourceRequest

_LONGEST_EXPRESSION = 200
"""Characters of node affinity that a remedy spells out. A line of a denial has about 300 characters."""


def fewer_replicas(context: PodContext, limit: int) -> str:
    """To ask for as many replicas as the container's limit and the pod's allow."""
    per_pod = context.rules.per_pod
    most = limit if per_pod is None else min(limit, per_pod)
    return "ask for 1" if most == 1 else f"ask for at most {most}"


def whole_cards(context: PodContext, request: ResourceRequest) -> str:
    """To keep the pod on nodes with whole cards, with the words that join it to another remedy; empty if none helps."""
    placement, resource = context.placement, request.resource
    classes = placement.node_classes
    if resource.renamed or request.container.path == context.pod.spec_path:
        return ""  # only sharing nodes offer it, or it is a bare container, which selects no nodes
    if not classes.mps.labels or not placement.could_move_to_whole():
        return ""  # any node could be an MPS node, or the pod selects nodes that share their cards
    if not placement.nodes_known:
        return f", or, if the cluster has whole cards, require them by node affinity: {_exclusion(classes)}"
    if not placement.whole_candidates(resource):
        return "; no node with whole cards could take the pod"
    return f", or require whole cards, which the cluster has, by node affinity: {_exclusion(classes)}"


_HAMI = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
"""Resources of HAMi, whose own device plugin shares cards without MPS (Project-HAMi/HAMi)."""


def hami(container: Container) -> str:
    """To exempt a pod of HAMi, whose nodes have no such limit; empty for other pods."""
    if not any(name in container.limits or name in container.requests for name in _HAMI):
        return ""
    return "; for a cluster that HAMi manages, set limits.perContainer and limits.perPod to null"


def sharing_nodes(context: PodContext) -> str:
    """To let a pod that asks for a renamed resource onto nodes that offer it, or to ask for the card's own name."""
    base = next(
        (known for known in context.rules.resources.values() if known.kind == "shared" and not known.renamed), None
    )
    otherwise = "" if base is None else f", or ask for {base.name}"
    return f"remove the selectors that exclude these nodes{otherwise}"


def _exclusion(classes: NodeClasses) -> str:
    """The node affinity that excludes nodes which share their cards."""
    expressions = [f"{key} NotIn [{_quoted(values)}]" for key, values in classes.excluded.items()]
    spelled = " and ".join(expressions)
    return spelled if len(spelled) <= _LONGEST_EXPRESSION else "the labels of placement.mpsLabels and timeSlicingLabels"


def _quoted(values: Iterable[str]) -> str:
    """Values as YAML needs them: without quotes `true` would not be text."""
    return ", ".join(f'"{value}"' for value in values)
