"""The pod is killed without a grace period.

Reads: `terminationGracePeriodSeconds`.

Why: if an MPS client is killed while it has work on the GPU, the MPS server and all its other clients can end up in an
undefined state, so the end of one pod can crash others.

Remedy: omit the field (30 seconds), or give the program time to finish its work.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.verdict import Replacement, Severity, Violation

_FIELD = "terminationGracePeriodSeconds"
_DEFAULT = 30
"""Seconds that a pod without the field has."""


def run(context: PodContext) -> Violations:
    """One violation for a grace period of 0."""
    seconds = context.pod.spec.get(_FIELD)
    if isinstance(seconds, bool) or seconds != 0:
        return ()
    problem = f"{_FIELD}: 0 kills the MPS client, which can crash other clients of the GPU"
    path = context.pod.path_of(_FIELD)
    remedy = "omit it, or set it to a few seconds or more"
    return (Violation(path, problem, remedy, fix=(Replacement(path, _DEFAULT),)),)


CHECK = Check(
    "GPS015",
    Severity.WARN,
    Scope.MPS,
    run,
    __doc__,
    sources=("https://docs.nvidia.com/deploy/mps/latest/when-to-use-mps.html",),
)
