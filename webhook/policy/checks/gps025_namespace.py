"""The namespace may not share GPUs."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.replica_limits import whole_cards
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """At most one violation, at the first request for a share. A namespace that is not known yet is only a warning."""
    selector = context.rules.settings.sharing.namespaces
    labels = context.rules.namespace_labels
    if selector is None or (labels is not None and selector.selects(labels)):
        return ()
    request = next((one for one in context.requests.positive if _shares(context, one)), None)
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

    Where no nodes are known, only the name of the resource or the labels that the pod selects show that.
    """
    resource, placement = request.resource, context.placement
    if resource.kind != "shared":
        return False
    if not context.rules.nodes.known:
        return resource.renamed or Reachability.YES in (
            placement.lands(resource),
            placement.lands(resource, "time-slicing"),
        )
    return any(
        placement.lands(resource, strategy) is not Reachability.NO
        and bool(placement.sharing(strategy, resource) & ~placement.cluster.index.unknown)
        for strategy in ("mps", "time-slicing")
    )


CHECK = Check("GPS025", Severity.DENY, Scope.SHARED, run, "The namespace may not share GPUs")
