"""The pod as a whole requests more replicas than its limit."""

from __future__ import annotations

from webhook.policy import replica_limits
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import amount
from webhook.policy.verdict import Violation, Violations


def run(context: PodContext) -> Violations:
    """At most one violation, at the last request of the pod."""
    exceeded, requests = replica_limits.exceeded_by_pod(context), context.mps_requests
    if exceeded is None:
        return
    limit, replicas = exceeded
    last, manager = requests[-1], replica_limits.manager_of_unnamed_cluster(context)
    rule, cap = replica_limits.ruling(
        context, manager, requests, limit, "shares GPUs", "share GPUs through MPS", "GPUs are shared through MPS"
    )
    problem = f"the pod asks for {amount(replicas)} replicas as a whole; {rule}"
    unless = replica_limits.unless_namespace_selects(context, last)
    remedy = f"split the pod{unless}, or ask the administrator to raise limits.perPod"
    if not any(request.resource.renamed for request in requests):
        remedy += replica_limits.whole_cards(context, last)
    remedy += replica_limits.unknown_node(context, last)
    if manager is not None:
        remedy += replica_limits.for_manager(context)
    yield Violation(last.path, problem, remedy, cap)
