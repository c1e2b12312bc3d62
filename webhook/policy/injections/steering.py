"""Steering of pods over the limit to whole cards, instead of a refusal. Off by default.

Adds: required node affinity `nvidia.com/gpu.sharing-strategy NotIn [mps, time-slicing]`, in every term that is not
empty.
Why: two of `nvidia.com/gpu` are legal on nodes that do not share their cards, and many who ask for two mean that.
Not when: the pod's own selectors want an MPS node; the resource exists on sharing nodes only; facts know no whole-card
node that could take the pod. Then it is refused. Templates are judged as their pods will be.
"""

from __future__ import annotations

from typing import Any

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import Injection
from webhook.policy.placement.reachability import STRATEGY, Reachability
from webhook.policy.placement.selector import AFFINITY
from webhook.policy.replica_limits import is_over_pod, over_container
from webhook.policy.verdict import Append, Edit

SHARED = ("mps", "time-slicing")


def steer(context: PodContext) -> list[Edit]:
    """The affinity that makes the pod legal; empty when it needs none or none could help.

    A pod that reached the last hook, or lost its last gate, is checked as it is: the scheduler sees no later edit.
    """
    if not context.rules.settings.injections.steering.enabled or context.origin.arrived or context.origin.released:
        return []
    if not over_container(context) and not is_over_pod(context):
        return []
    return _affinity(context) if _whole_card_could_take(context) else []


def _whole_card_could_take(context: PodContext) -> bool:
    placement = context.placement
    if placement.node_classes.labels.get(STRATEGY) != "mps":
        return False  # the label tells nothing here
    for resource in {ask.resource.name: ask.resource for ask in context.mps}.values():
        if resource.renamed or placement.lands(resource) is Reachability.YES:
            return False
        others = placement.candidates(resource) & ~placement.index.mps
        if placement.nodes_known and not any(
            node.labels.get(STRATEGY) not in SHARED for node in placement.index.nodes(others)
        ):
            return False
    return placement.could_move_to_whole()


def _affinity(context: PodContext) -> list[Edit]:
    expression = {"key": STRATEGY, "operator": "NotIn", "values": list(SHARED)}
    path = (*context.pod.spec_path, *AFFINITY, "nodeSelectorTerms")
    required: Any = context.pod.spec
    for field in AFFINITY:
        required = required.get(field) or {}
    terms = required.get("nodeSelectorTerms") or []
    if not terms:
        return [Append(path, {"matchExpressions": [expression]})]
    return [
        Append((*path, index, "matchExpressions"), expression)
        for index, term in enumerate(terms)
        if term.get("matchExpressions") or term.get("matchFields")
    ]


INJECTION = Injection("steering", steer, __doc__)
