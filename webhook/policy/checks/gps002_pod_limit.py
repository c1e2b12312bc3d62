"""The pod as a whole requests more replicas than its limit."""

from __future__ import annotations

from webhook.policy import other_schedulers, replica_limits
from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import amount
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """At most one violation, at the last request of the pod."""
    if not replica_limits.is_over_pod(context):
        return ()
    return (_nowhere(context) or _over_limit(context),)


def _nowhere(context: PodContext) -> Violation | None:
    """The violation of a pod that asks for more than any node offers, where no node uses MPS."""
    requests, placement = context.mps_requests, context.placement
    if not all(replica_limits.is_nowhere(placement, "mps", request.resource) for request in requests):
        return None
    fewer = replica_limits.fewer_units(context)
    if fewer is None:
        return None
    whole = sum(placement.requests.peaks[name] for name in {request.resource.name for request in requests})
    rule = f"no node takes it, and one that joins may allow only {context.rules.per_pod}"
    problem = f"the pod asks for {amount(whole)} replicas as a whole; {rule}"
    return Violation(requests[-1].path, problem, fewer, replica_limits.cap(context, requests))


def _over_limit(context: PodContext) -> Violation:
    requests, limit = context.mps_requests, context.rules.per_pod
    last = requests[-1]
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
        return Violation(last.path, problem, remedy + other_schedulers.remedy(context), Severity.WARN)
    fix = replica_limits.lower_amount(context, last, limit) if limit is not None and len(requests) == 1 else ()
    return Violation(last.path, problem, remedy, replica_limits.cap(context, requests), fix)


CHECK = Check("GPS002", Severity.DENY, Scope.MPS, run, "The pod as a whole requests more replicas than its limit")
