"""Steering of pods over the limit to whole cards, instead of a rejection."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.policy.context import PodContext
from webhook.policy.injections import runtime_class
from webhook.policy.injections.injection import OFF, Injection
from webhook.policy.placement.node_sets import Nodes
from webhook.policy.placement.reachability import Reachability
from webhook.policy.placement.selector import RequiredAffinity
from webhook.policy.replica_limits import is_over_pod, over_container
from webhook.policy.verdict import Edit


def why_not(context: PodContext) -> str | None:
    """Why the pod is not steered."""
    if not context.rules.injections.steering.enabled:
        return OFF
    # The final hook checks a Pod as it is: no later edit reaches the scheduler.
    if context.is_checked_as_it_is:
        return _FINAL
    if not over_container(context) and not is_over_pod(context):
        return _WITHIN
    return None if _whole_card_could_take(context) else _NO_WHOLE_CARD


_FINAL = "the pod is checked as it is"
_WITHIN = "the pod is within the limits"
_NO_WHOLE_CARD = "no node with whole cards could take the pod"


def _whole_card_could_take(context: PodContext) -> bool:
    placement = context.placement
    if not placement.cluster.classes.mps.labels:
        return False  # any node could be an MPS node
    injected = _of_injected_class(context) if placement.cluster.known else 0
    for resource in {request.resource.name: request.resource for request in context.requests.positive}.values():
        if resource.kind != "shared":
            continue
        if resource.renamed or placement.lands(resource) is Reachability.YES:
            return False
        if placement.cluster.known and not placement.whole_candidates(resource) & injected:
            return False
    return placement.could_move_to_whole()


def _of_injected_class(context: PodContext) -> Nodes:
    """The nodes that the RuntimeClass selects which the pod gets; all nodes where it gets none that is known."""
    nodes = context.placement.cluster
    if runtime_class.why_not(context) is not None:
        return nodes.index.all
    known = context.runtime_class(context.rules.injections.runtime_class.name)
    return nodes.index.all if known is None else nodes.selected_by(known.node_selector)


def edits(context: PodContext) -> Iterable[Edit]:
    """The affinity that makes the pod legal, with the one for its memory size: both are in the same terms.

    An object that does not hold the whole spec has no place for it: its pods get it.
    """
    if not context.pod.holds_spec:
        return ()
    size = context.memory_size
    affinity = (size and size.affinity) or RequiredAffinity(context.pod)
    return affinity.also(context.placement.cluster.whole_cards.expressions).edits()


INJECTION = Injection(
    "steering",
    why_not,
    edits,
    (OFF, _FINAL, _WITHIN, _NO_WHOLE_CARD),
    "Steering of pods over the limit to whole cards, instead of a rejection",
)
