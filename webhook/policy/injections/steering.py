"""Steering of pods over the limit to whole cards, instead of a rejection: a rewrite before the pod is evaluated."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.context import PodContext
from webhook.policy.injections import runtime_class
from webhook.policy.injections.injection import OFF, Injection
from webhook.policy.placement.selector import AFFINITY, TERMS, required_terms, terms_path
from webhook.policy.pods.reading import Members
from webhook.policy.replica_limits import exceeded_by_pod, over_container
from webhook.policy.verdict import Append, Edit


def why_not(context: PodContext) -> str | None:
    """Why the pod is not steered."""
    if not context.policy.injections.steering.enabled:
        return OFF
    # The final hook checks a Pod as it is: no later edit reaches the scheduler.
    if context.is_checked_as_it_is:
        return _FINAL
    if not _is_over(context):
        return _WITHIN
    if any(request.resource.renamed for request in context.requests.positive if request.resource.kind == "shared"):
        return _NO_WHOLE_CARD
    if not context.placement.could_move_to_whole():
        return _NO_WHOLE_CARD
    after = steered(context)
    return None if _could_land(after) and not _is_over(after) else _NO_WHOLE_CARD


_FINAL = "the pod is checked as it is"
_WITHIN = "the pod is within the limits"
_NO_WHOLE_CARD = "no node with whole cards could take the pod"


def _is_over(context: PodContext) -> bool:
    return bool(over_container(context)) or exceeded_by_pod(context) is not None


def _could_land(after: PodContext) -> bool:
    """Whether a node could take the steered pod, as far as nodes are known."""
    placement = after.placement
    nodes = placement.cluster
    if not nodes.known:
        return True
    selector = placement.class_selector
    if runtime_class.why_not(after) is None:  # the pod gets a class, which may select nodes
        known = after.runtime_class(after.policy.injected_class)
        selector = selector if known is None else known.node_selector
    return bool(placement.possible & nodes.selected_by(selector))


def steered(context: PodContext) -> PodContext:
    """The context of the pod with the affinity, in each term that is not empty, because terms are alternatives."""
    pod = context.pod
    added = _added(context)
    terms = [
        {**term, _EXPRESSIONS: [*(term.get(_EXPRESSIONS) or ()), *added]} if _matches(term) else term
        for term in required_terms(pod) or ()
    ]
    affinity, fields = pod.members(AFFINITY[0]), AFFINITY[1:]
    node = affinity.get(fields[0]) or {}
    required = {**(node.get(fields[1]) or {}), TERMS: terms or [{_EXPRESSIONS: added}]}
    rewritten = pod.having(AFFINITY[0], {**affinity, fields[0]: {**node, fields[1]: required}})
    return PodContext(context.extracted, context.origin, context.policy, rewritten=rewritten)


def edits(context: PodContext) -> Iterator[Edit]:
    """The same affinity. An object that does not hold the whole spec has no place for it: its pods get it."""
    pod = context.pod
    if not pod.holds_spec:
        return
    path, terms, added = terms_path(pod), required_terms(pod), _added(context)
    if not terms:
        yield Append(path, {_EXPRESSIONS: added})
    for index, term in enumerate(terms or ()):
        if _matches(term):
            for expression in added:
                yield Append((*path, index, _EXPRESSIONS), expression)


_EXPRESSIONS = "matchExpressions"


def _added(context: PodContext) -> list[Members]:
    return [expression.raw() for expression in context.placement.cluster.whole_cards.expressions]


def _matches(term: Members) -> bool:
    """Whether a term can match a node: an empty one matches none."""
    return bool(term.get(_EXPRESSIONS) or term.get("matchFields"))


INJECTION = Injection(
    "steering",
    why_not,
    edits,
    (OFF, _FINAL, _WITHIN, _NO_WHOLE_CARD),
    "Steering of pods over the limit to whole cards, instead of a rejection",
)
