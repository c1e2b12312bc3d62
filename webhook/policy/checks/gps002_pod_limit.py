"""The pod as a whole requests more replicas than its limit."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import amount
from webhook.policy.replica_limits import (
    cap,
    is_open,
    is_over_pod,
    lower_amount,
    replicas_of_pod,
    unknown_node,
    whole_cards,
)
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """At most one violation, at the last request of the pod."""
    if not is_over_pod(context):
        return ()
    total, limit = amount(replicas_of_pod(context)), context.rules.per_pod
    last = context.mps_requests[-1]
    fix = lower_amount(context, last, limit) if limit is not None and len(context.mps_requests) == 1 else ()
    return [
        Violation(
            last.path,
            f"the pod asks for {total} replicas as a whole; "
            + (_LATER if is_open(context, context.mps_requests) else f"the limit is {limit} {_WHERE}"),
            "split the pod, or ask the administrator to raise limits.perPod"
            + _whole_cards(context)
            + unknown_node(context, last),
            cap(context, context.mps_requests),
            fix,
        )
    ]


def _whole_cards(context: PodContext) -> str:
    """The remedy that needs no share at all, if it suits every request."""
    if any(request.resource.renamed for request in context.mps_requests):
        return ""
    return whole_cards(context, context.mps_requests[-1])


_WHERE = "where GPUs are shared through MPS"
_LATER = "nodes chosen later must not share GPUs through MPS"

CHECK = Check("GPS002", Severity.DENY, Scope.MPS, run, "The pod as a whole requests more replicas than its limit")
