"""The pod as a whole requests more replicas than its limit.

Reads: the requests of all containers for all shared resources together, counted as the scheduler counts them:
containers that run at the same time add up, init containers that run before them do not. Each container counts up to
its own limit.

Why: replicas need not be on the same card, and each limits only the processes of its own container. The device plugin
would accept the pod. That a pod gets one share is a rule of this webhook, for administrators who want GPU shares to be
fair.

Exceptions: the rule does not apply on nodes with whole cards. The check only warns where a queue, a scheduling gate,
the suspension of a workload or another object leaves the choice of nodes open: one that uses it, as a TaskRun uses a
Task, or one whose fields the check does not read. So it does while a DeviceClass serves the resources and nodes are
unknown, unless the pod requires nodes that share their GPUs.

Remedy: split the pod; or keep it on nodes with whole cards, if its containers need a card each: exclude every label of
nodes that share theirs, which the message spells out, in the required node affinity. An administrator can raise
`limits.perPod`, or set GPS002 to `warn` in `severities`.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.remedies import lower_amount, unknown_node, whole_cards
from webhook.policy.replica_limits import cap, is_open, is_over_pod, replicas_of_pod
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import amount


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

CHECK = Check(
    "GPS002",
    Severity.DENY,
    Scope.MPS,
    run,
    __doc__,
    settings=("limits.perPod", "limits.perContainer", "placement.mpsLabels"),
    sources=("NVIDIA/k8s-device-plugin:internal/rm/rm.go", "NVIDIA/k8s-device-plugin#720"),
)
