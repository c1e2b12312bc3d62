"""A container asks for more replicas than one.

Reads: `resources.limits` and `resources.requests` of init containers, sidecars and containers.
Why: the device plugin refuses more than one replica of a GPU that is shared through MPS. The kubelet then fails the pod
for good with `UnexpectedAdmissionError`, and a controller makes the next one at once: about 300 failed pods in half a
minute. More replicas would not give a container a bigger share of one card.
Remedy: ask for 1, or select nodes with whole cards through the label `nvidia.com/gpu.sharing-strategy: none`. Where the
plugin accepts more (`failRequestsGreaterThanOne: false`, v0.20 or newer), raise `limits.perContainer`.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.replica_limits import cap, over_container
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import amount, message


def run(context: PodContext) -> Claims:
    """One claim a container and resource over the limit."""
    over = over_container(context)
    if not over:
        return ()
    limit = context.rules.per_container
    return (
        Claim(
            ask.path,
            message(
                f"{ask.container.kind} {{}} asks for {amount(ask.billionths)} of {{}}; "
                f"the limit is {limit} where it is shared through MPS",
                ask.container.name,
                ask.resource.name,
            ),
            "ask for 1" if ask.resource.renamed else WHOLE_CARDS,
            cap(context, [ask]),
        )
        for ask in over
    )


WHOLE_CARDS = "ask for 1, or select nodes with whole cards (nvidia.com/gpu.sharing-strategy: none)"

CHECK = Check("GPS001", Severity.DENY, Scope.MPS, run, __doc__)
