"""The pod as a whole asks for more replicas than one.

Reads: what all containers ask for, all shared resources together, counted as the scheduler does: containers that run
at the same time add up, init containers that run before them do not. Each container counts up to its own limit.
Why: replicas need not lie on the same card, and each replica caps its container's memory and threads alone. The plugin
would accept it; that a pod holds one share is this product's rule, for administrators who want shares to be fair.
Remedy: split the pod, raise `limits.perPod`, or set GPS002 to `warn` in `severities`.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.replica_limits import cap, is_over_pod, replicas_of_pod
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import amount


def run(context: PodContext) -> Claims:
    """At most one claim, on the ask that goes over the limit."""
    if not is_over_pod(context):
        return ()
    total, limit = amount(replicas_of_pod(context)), context.rules.per_pod
    return [
        Claim(
            context.mps[-1].path,
            f"the pod asks for {total} replicas as a whole; the limit is {limit} where GPUs are shared through MPS",
            "split the pod, or let the administrator raise limits.perPod",
            cap(context, context.mps),
        )
    ]


CHECK = Check("GPS002", Severity.DENY, Scope.MPS, run, __doc__)
