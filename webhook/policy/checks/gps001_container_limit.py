"""A container requests more replicas than its limit."""

from __future__ import annotations

from webhook.policy import other_schedulers, replica_limits
from webhook.policy.checks.check import Check, Scope, Violations, about
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import amount
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per container and resource over its limit."""
    over = replica_limits.over_container(context)
    if not over:
        return
    manager, of_manager = other_schedulers.of_unnamed_cluster(context), other_schedulers.remedy(context)
    for request, limit, shared in over:
        asks = f"asks for {amount(request.billionths)} of {{}}"
        cap = replica_limits.cap(context, [request]) if manager is None else Severity.WARN
        if manager is not None:
            rule = f"the limit is {limit} unless {manager.name} shares it"
        elif replica_limits.is_open(context, [request]):
            rule = f"nodes chosen later must not be {shared}"
        else:
            rule = f"the limit is {limit} where it is {shared}"
        most = replica_limits.most(context, limit)
        yield Violation(
            request.path,
            about(request.container, f"{asks}; {rule}", request.resource.name),
            ("ask for 1" if most == 1 else f"ask for at most {most}")
            + replica_limits.whole_cards(context, request)
            + replica_limits.unknown_node(context, request)
            + of_manager,
            cap,
        )


CHECK = Check("GPS001", Severity.DENY, Scope.SHARED, run, "A container requests more replicas than its limit")
