"""A container requests more replicas than its limit.

Reads: `resources.limits` and `resources.requests` of init containers, sidecars and containers.
Why: the device plugin rejects a request for more than one replica of a GPU that is shared through MPS. The kubelet then
fails the pod permanently with `UnexpectedAdmissionError`, and its controller creates the next one immediately: about
300 failed pods in 30 seconds. More replicas would not give a container a larger share of one GPU.
Remedy: ask for 1, or select nodes with whole cards through the label `nvidia.com/gpu.sharing-strategy: none`. Where the
plugin accepts more (`failRequestsGreaterThanOne: false`, v0.20 or newer), raise `limits.perContainer`.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.replica_limits import Excess, cap, is_open, over_container
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import amount, message


def run(context: PodContext) -> Violations:
    """One violation per container and resource over its limit."""
    return (
        Violation(
            excess.request.path,
            message(
                f"{excess.request.container.kind} {{}} asks for {amount(excess.request.billionths)} of {{}}; "
                + _rule(excess, is_open=is_open(context, [excess.request])),
                excess.request.container.name,
                excess.request.resource.name,
            ),
            "ask for 1" if excess.request.resource.renamed else WHOLE_CARDS,
            cap(context, [excess.request]),
        )
        for excess in over_container(context)
    )


def _rule(excess: Excess, *, is_open: bool) -> str:
    if is_open:
        return f"its nodes, chosen later, must not be {excess.sharing.value}"
    return f"the limit is {excess.limit} where it is {excess.sharing.value}"


WHOLE_CARDS = "ask for 1, or select nodes with whole cards (nvidia.com/gpu.sharing-strategy: none)"

CHECK = Check("GPS001", Severity.DENY, Scope.SHARED, run, __doc__)
