"""The pod is killed without a grace period."""

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


CHECK = Check("GPS015", Severity.WARN, Scope.MPS, run, "The pod is killed without a grace period")
