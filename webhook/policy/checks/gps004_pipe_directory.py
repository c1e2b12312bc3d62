"""`CUDA_MPS_PIPE_DIRECTORY` points away from the MPS daemon.

Reads: `env` of containers that request a replica. If the variable occurs more than once, the last entry counts.

Why: the pod's value overrides the device plugin's. A client that uses another directory does not find the daemon: it
runs without MPS, or fails with "all CUDA-capable devices are busy or unavailable".

Exceptions: the value of `valueFrom`, of `$(NAME)` and of a placeholder that Argo or Tekton replaces is unknown here, so
those only cause a warning.

Remedy: omit the variable; the device plugin and this webhook set it. The right directory is `/mps/<resource>/pipe` with
NVIDIA's device plugin, and `/tmp/nvidia-mps` with a daemon on the host and on GKE.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.reading import text
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.pods.variables import PIPE_DIRECTORY
from webhook.policy.verdict import Replacement, Severity, Violation
from webhook.policy.wording import message


def run(context: PodContext) -> Violations:
    """One violation per container that sets another path."""
    return (
        violation for request in context.first_mps_requests if (violation := _violation(context, request)) is not None
    )


def _violation(context: PodContext, request: ResourceRequest) -> Violation | None:
    entry = request.container.variable(PIPE_DIRECTORY)
    if entry is None:
        return None
    pipe = context.rules.pipes[request.resource.name]
    wanted = pipe.path
    path = request.container.variable_path(
        PIPE_DIRECTORY, "valueFrom" if entry.get("valueFrom") is not None else "value"
    )
    value = text(entry, "value", request.container.variable_path(PIPE_DIRECTORY, ""))
    if entry.get("valueFrom") is not None or context.is_replaced(value):
        problem = message(
            f"{request.container.kind} {{}} sets {PIPE_DIRECTORY} by reference; it must be {{}}",
            request.container.label,
            wanted,
        )
        return Violation(path, problem, f"omit the variable, or set it to {wanted}", Severity.WARN)
    if value and clean_path(value) == pipe.clean and value.startswith("/"):
        return None
    problem = message(
        f"{request.container.kind} {{}} sets {PIPE_DIRECTORY} to {{}}, where no MPS daemon listens",
        request.container.label,
        value,
    )
    fix = (Replacement(path, wanted),) if "value" in entry else ()
    return Violation(path, problem, f"omit the variable, or set it to {wanted}", fix=fix)


CHECK = Check(
    "GPS004",
    Severity.DENY,
    Scope.MPS,
    run,
    __doc__,
    settings=("injections.pipeDirectory.containerRoot", "injections.pipeDirectory.perResource"),
    sources=(
        "NVIDIA/k8s-device-plugin:internal/plugin/mps.go",
        "kubernetes/kubernetes:pkg/kubelet/kubelet_pods.go",
        "https://docs.nvidia.com/deploy/mps/latest/appendix-environment-variables.html",
    ),
)
