"""A container requests more replicas than its limit."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.pods.quantity import amount
from webhook.policy.replica_limits import (
    Excess,
    cap,
    fewer_replicas,
    hami,
    is_open,
    lower_amount,
    over_container,
    unknown_node,
    whole_cards,
)
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per container and resource over its limit."""
    return (
        Violation(
            excess.request.path,
            message(
                f"{excess.request.container.kind} {{}} asks for {amount(excess.request.billionths)} of {{}}; "
                + _rule(excess, is_open=is_open(context, [excess.request])),
                excess.request.container.label,
                excess.request.resource.name,
            ),
            fewer_replicas(context, excess.limit)
            + whole_cards(context, excess.request)
            + unknown_node(context, excess.request)
            + hami(excess.request.container),
            cap(context, [excess.request]),
            lower_amount(context, excess.request, excess.limit),
        )
        for excess in over_container(context)
    )


def _rule(excess: Excess, *, is_open: bool) -> str:
    if is_open:
        return f"nodes chosen later must not be {excess.shared}"
    return f"the limit is {excess.limit} where it is {excess.shared}"


CHECK = Check("GPS001", Severity.DENY, Scope.SHARED, run, "A container requests more replicas than its limit")
