"""`CUDA_MPS_PIPE_DIRECTORY` points away from the MPS daemon."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations, about
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import PIPE_DIRECTORY, clean_path
from webhook.policy.pods.reading import text
from webhook.policy.verdict import Replacement, Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per container that sets another path."""
    for request in context.first_mps_requests:
        container, pipe = request.container, context.rules.pipes[request.resource.name]
        entry = container.variable(PIPE_DIRECTORY)
        if entry is None:
            continue
        is_reference = entry.get("valueFrom") is not None
        path = container.variable_path(PIPE_DIRECTORY, "valueFrom" if is_reference else "value")
        value = text(entry, "value", container.variable_path(PIPE_DIRECTORY, ""))
        remedy = f"omit the variable, or set it to {pipe.path}"
        if is_reference or context.is_replaced(value):
            problem = about(container, f"sets {PIPE_DIRECTORY} by reference; it must be {{}}", pipe.path)
            yield Violation(path, problem, remedy, Severity.WARN)
        elif not value.startswith("/") or clean_path(value) != pipe.clean:
            problem = about(container, f"sets {PIPE_DIRECTORY} to {{}}, where no MPS daemon listens", value)
            yield Violation(path, problem, remedy, fix=(Replacement(path, pipe.path),) if "value" in entry else ())


CHECK = Check("GPS004", Severity.DENY, Scope.MPS, run, "`CUDA_MPS_PIPE_DIRECTORY` points away from the MPS daemon")
