"""The pod's use of host namespaces does not suit MPS."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.pods.pod import Pod
from webhook.policy.verdict import Violation, Violations


def run(context: PodContext) -> Violations:
    """One violation per field."""
    pod, wanted = context.pod, "required" if context.is_on_gke else context.policy.users.host_ipc
    if pod.spec.get("hostUsers") is False:
        yield _omit(
            pod, "hostUsers", "hostUsers: false makes each pod a different MPS user, so pods wait for each other"
        )
    if wanted == "required" and pod.holds_spec and pod.spec.get("hostIPC") is not True:
        problem = "hostIPC: true is missing, which MPS clients need in this cluster"
        yield Violation(pod.place_of("hostIPC"), problem, "set hostIPC: true")
    if wanted is False and pod.spec.get("hostIPC") is True:
        yield _omit(pod, "hostIPC", "hostIPC: true is not needed for MPS and exposes the host's shared memory")
    if pod.spec.get("hostPID") is True:
        yield _omit(pod, "hostPID", "hostPID: true is for the MPS control daemon, not for its clients")


def _omit(pod: Pod, field: str, problem: str) -> Violation:
    return Violation(pod.path_of(field), problem, f"omit {field}")
