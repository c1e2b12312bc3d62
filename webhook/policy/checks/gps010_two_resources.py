"""One container asks for two shared resources.

Reads: `resources.limits` and `resources.requests` of each container.
Why: each shared resource has a daemon and a pipe directory of its own, and `CUDA_MPS_PIPE_DIRECTORY` holds one. The
container would meet one daemon and miss the other.
Remedy: ask for one of them, or use two containers.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import Container
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message


def run(context: PodContext) -> Claims:
    """One claim a container, on its second resource."""
    if len(context.mps) == len(context.first_asks):
        return ()
    claims: list[Claim] = []
    first: dict[Container, ResourceRequest] = {}
    told: set[Container] = set()
    for ask in context.mps:
        earlier = first.setdefault(ask.container, ask)
        if earlier is not ask and ask.container not in told:
            told.add(ask.container)
            said = message(
                f"{ask.container.kind} {{}} asks for both {{}} and {{}}; it can use one pipe directory only",
                ask.container.name,
                earlier.resource.name,
                ask.resource.name,
            )
            claims.append(Claim(ask.path, said, "ask for one of them, or use two containers"))
    return claims


CHECK = Check("GPS010", Severity.DENY, Scope.MPS, run, __doc__)
