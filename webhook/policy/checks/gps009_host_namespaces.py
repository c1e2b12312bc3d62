"""The pod's use of host namespaces does not suit MPS."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.verdict import Path, Replacement, Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per field."""
    violations: list[Violation] = []
    pod, spec = context.pod, context.pod.spec
    if spec.get("hostUsers") is False:
        problem = "hostUsers: false makes each pod a different MPS user, so pods wait for each other"
        path = pod.path_of("hostUsers")
        violations.append(Violation(path, problem, "omit hostUsers", fix=(Replacement(path, True),)))
    wanted = context.rules.settings.users.host_ipc
    if wanted == "required" and pod.holds_spec and spec.get("hostIPC") is not True:
        problem = "hostIPC: true is missing, which MPS clients need in this cluster"
        fix = (Replacement(pod.path_of("hostIPC"), True),) if "hostIPC" in spec else ()
        violations.append(Violation(_ipc(context), problem, "set hostIPC: true", fix=fix))
    if wanted is False and spec.get("hostIPC") is True:
        problem = "hostIPC: true is not needed for MPS and exposes the host's shared memory"
        path = pod.path_of("hostIPC")
        violations.append(Violation(path, problem, "omit hostIPC", fix=(Replacement(path, False),)))
    if spec.get("hostPID") is True:
        problem = "hostPID: true is for the MPS control daemon, not for its clients"
        path = pod.path_of("hostPID")
        violations.append(Violation(path, problem, "omit hostPID", fix=(Replacement(path, False),)))
    return violations


def _ipc(context: PodContext) -> Path:
    """The path of `hostIPC`, or of the pod's spec where it is absent."""
    return context.pod.path_of("hostIPC") if "hostIPC" in context.pod.spec else context.pod.spec_path


CHECK = Check("GPS009", Severity.WARN, Scope.MPS, run, "The pod's use of host namespaces does not suit MPS")
