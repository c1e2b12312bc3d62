"""`CUDA_MPS_PIPE_DIRECTORY` points away from the MPS daemon."""

from __future__ import annotations

from webhook.policy.checks.check import about, variable
from webhook.policy.context import PodContext
from webhook.policy.placement.platforms import requires_gke
from webhook.policy.pods.pod import PIPE_DIRECTORY, clean_path
from webhook.policy.verdict import Severity, Violation, Violations


def run(context: PodContext) -> Violations:
    """One violation per container that sets another path. GKE's own plugin has a path of its own.

    An annotation that GKE reads has no effect elsewhere, so that it alone takes no denial away in silence.
    """
    if context.is_on_gke and requires_gke(context.placement.requirement):
        return
    cap, on_gke = (Severity.WARN, "; on GKE, use the profile gke") if context.is_on_gke else (Severity.DENY, "")
    for request in context.first_mps_requests:
        container, pipe = request.container, context.policy.pipes[request.resource.name]
        path, value = variable(container, PIPE_DIRECTORY)
        if not path:
            continue
        remedy = f"omit the variable, or set it to {pipe.path}{on_gke}"
        if value is None or context.is_replaced(value):
            problem = about(container, f"sets {PIPE_DIRECTORY} by reference; it must be {{}}", pipe.path)
            yield Violation(path, problem, remedy, Severity.WARN)
        elif not value.startswith("/") or clean_path(value) != pipe.clean:
            problem = about(container, f"sets {PIPE_DIRECTORY} to {{}}, where no MPS daemon listens", value)
            yield Violation(path, problem, remedy, cap)
