"""The pod is killed without a grace period.

Reads: `terminationGracePeriodSeconds`.
Why: an MPS client that is killed with work on the GPU can leave the server and all its other clients undefined, so a
pod's end takes its neighbours down.
Remedy: leave the field out (30 seconds), or give the program time to end its work.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.verdict import Claim, Severity

_FIELD = "terminationGracePeriodSeconds"


def run(context: PodContext) -> Claims:
    """One claim, for a grace period of 0."""
    seconds = context.pod.spec.get(_FIELD)
    if isinstance(seconds, bool) or seconds != 0:
        return ()
    said = f"{_FIELD}: 0 kills the MPS client, which can take its neighbours on the card down"
    return (Claim((*context.pod.spec_path, _FIELD), said, "leave it out, or give some seconds"),)


CHECK = Check("GPS015", Severity.WARN, Scope.MPS, run, __doc__)
