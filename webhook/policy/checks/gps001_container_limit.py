"""A container requests more replicas than its limit."""

from __future__ import annotations

from webhook.policy import replica_limits
from webhook.policy.checks.check import Check, Scope, Violations, about
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import amount
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per container and resource over its limit."""
    for request, limit, shared in replica_limits.over_container(context):
        if replica_limits.is_open(context, [request]):
            rule = f"nodes chosen later must not be {shared}"
        else:
            rule = f"the limit is {limit} where it is {shared}"
        asked = f"asks for {amount(request.billionths)} of {{}}; {rule}"
        yield Violation(
            request.path,
            about(request.container, asked, request.resource.name),
            replica_limits.fewer_replicas(context, limit)
            + replica_limits.whole_cards(context, request)
            + replica_limits.unknown_node(context, request)
            + replica_limits.hami(request.container),
            replica_limits.cap(context, [request]),
            replica_limits.lower_amount(context, request, limit),
        )


CHECK = Check("GPS001", Severity.DENY, Scope.SHARED, run, "A container requests more replicas than its limit")
