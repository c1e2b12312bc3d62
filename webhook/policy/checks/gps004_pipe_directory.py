"""`CUDA_MPS_PIPE_DIRECTORY` points away from the MPS daemon."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.pods.pod import PIPE_DIRECTORY, clean_path
from webhook.policy.pods.reading import text
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Replacement, Severity, Violation


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


CHECK = Check("GPS004", Severity.DENY, Scope.MPS, run, "`CUDA_MPS_PIPE_DIRECTORY` points away from the MPS daemon")
