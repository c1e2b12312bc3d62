"""A container requests more replicas than its limit."""

from __future__ import annotations

from webhook.policy import replica_limits
from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import amount
from webhook.policy.verdict import Violation, Violations


def run(context: PodContext) -> Violations:
    """One violation per container and resource over its limit."""
    over = replica_limits.over_container(context)
    if not over:
        return
    manager, for_manager = replica_limits.manager_of_unnamed_cluster(context), replica_limits.for_manager(context)
    for request, limit, shared in over:
        rule, cap = replica_limits.ruling(
            context, manager, [request], limit, "shares it", f"be {shared}", f"it is {shared}"
        )
        problem = about(
            request.container, f"asks for {amount(request.billionths)} of {{}}; {rule}", request.resource.name
        )
        most = min(limit, context.policy.limits.per_pod or limit)
        remedy = "ask for 1" if most == 1 else f"ask for at most {most}"
        remedy += replica_limits.unless_namespace_selects(context, request)
        remedy += replica_limits.whole_cards(context, request) + replica_limits.unknown_node(context, request)
        yield Violation(request.path, problem, remedy + for_manager, cap)
