"""The pod's use of host namespaces does not suit MPS.

Reads: `hostUsers`, `hostIPC` and `hostPID`.
Why: with `hostUsers: false` each pod is a different user to the MPS daemon, so pods wait for each other. MPS clients do
not need `hostIPC` and `hostPID`, because the device plugin mounts what they share; both only expose the host.
Remedy: omit these fields.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per field."""
    violations: list[Violation] = []
    path, spec = context.pod.spec_path, context.pod.spec
    if spec.get("hostUsers") is False:
        problem = "hostUsers: false makes each pod a different MPS user, so pods wait for each other"
        violations.append(Violation((*path, "hostUsers"), problem, "omit hostUsers"))
    if spec.get("hostIPC") is True and not context.rules.settings.users.host_ipc:
        problem = "hostIPC: true is not needed for MPS and exposes the host's shared memory"
        violations.append(Violation((*path, "hostIPC"), problem, "omit hostIPC"))
    if spec.get("hostPID") is True:
        problem = "hostPID: true is for the MPS control daemon, not for its clients"
        violations.append(Violation((*path, "hostPID"), problem, "omit hostPID"))
    return violations


CHECK = Check("GPS009", Severity.WARN, Scope.MPS, run, __doc__)
