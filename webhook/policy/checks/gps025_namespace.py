"""The namespace may not share GPUs."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.placement.node_classes import SHARING
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.replica_limits import whole_cards
from webhook.policy.verdict import Severity, Violation, Violations, message


def run(context: PodContext) -> Violations:
    """At most one violation, at the first request for a share. A namespace that is not known yet is only a warning."""
    selector = context.policy.sharing_namespaces
    labels = context.policy.namespace_labels
    if selector is None or (labels is not None and selector.selects(labels)):
        return ()
    request = next((request for request in context.requests.positive if _shares(context, request)), None)
    if request is None:
        return ()
    namespace = context.origin.namespace
    if labels is None:
        problem = message("whether namespace {} may share GPUs is not known", namespace)
        return (Violation(request.path, problem, "add the namespace to the facts, or try again", Severity.WARN),)
    problem = message("namespace {} may not share GPUs, and {} may be a share", namespace, request.resource.name)
    ask = "ask the administrator for the labels of sharing.namespaces"
    return (Violation(request.path, problem, f"{ask}{whole_cards(context, request)}"),)


def _shares(context: PodContext, request: ResourceRequest) -> bool:
    """Whether a request could be for a share of a card.

    The name of the resource and the labels that the pod selects show that, also where no such node exists yet: an
    autoscaler may add one. Of known nodes, those that the pod selects count whatever their taints, since a pod may get
    a toleration after its creation.
    """
    resource, placement = request.resource, context.placement
    if resource.kind != "shared":
        return False
    lands = [placement.lands(resource, strategy) for strategy in SHARING]
    if Reachability.YES in lands or (resource.renamed and lands != [Reachability.NO, Reachability.NO]):
        return True
    index = placement.cluster.index
    if not placement.cluster.decide:
        return False
    sharing = index.sharing("mps", resource.name) | index.sharing("time-slicing", resource.name)
    offering = index.offering(resource.name, 1) | index.unready(resource.name)
    return bool(sharing & ~index.unknown & offering & placement.selected)
