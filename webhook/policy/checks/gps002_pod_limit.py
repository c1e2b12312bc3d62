"""The pod as a whole requests more replicas than its limit."""

from __future__ import annotations

from webhook.policy import other_schedulers, replica_limits
from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import amount
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """At most one violation, at the last request of the pod."""
    limit, requests = replica_limits.exceeded_by_pod(context), context.mps_requests
    if limit is None:
        return
    last, cap = requests[-1], replica_limits.cap(context, requests)
    manager = other_schedulers.of_unnamed_cluster(context)
    if manager is not None:
        rule = f"the limit is {limit} unless {manager.name} shares GPUs"
    elif replica_limits.is_open(context, requests):
        rule = "nodes chosen later must not share GPUs through MPS"
    else:
        rule = f"the limit is {limit} where GPUs are shared through MPS"
    problem = f"the pod asks for {amount(replica_limits.replicas_of_pod(context))} replicas as a whole; {rule}"
    remedy = "split the pod, or ask the administrator to raise limits.perPod"
    if not any(request.resource.renamed for request in requests):
        remedy += replica_limits.whole_cards(context, last)
    remedy += replica_limits.unknown_node(context, last)
    if manager is not None:
        yield Violation(last.path, problem, remedy + other_schedulers.remedy(context), Severity.WARN)
    else:
        yield Violation(last.path, problem, remedy, cap)


CHECK = Check("GPS002", Severity.DENY, Scope.MPS, run, "The pod as a whole requests more replicas than its limit")
