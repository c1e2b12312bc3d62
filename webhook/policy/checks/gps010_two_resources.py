"""A container requests two shared resources."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.pods.pod import Container
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per container, at its second resource."""
    if len(context.mps_requests) == len(context.first_mps_requests):
        return ()
    violations: list[Violation] = []
    first: dict[Container, ResourceRequest] = {}
    reported: set[Container] = set()
    for request in context.mps_requests:
        earlier = first.setdefault(request.container, request)
        if earlier is not request and request.container not in reported:
            reported.add(request.container)
            problem = message(
                f"{request.container.kind} {{}} asks for both {{}} and {{}}; it can use only one pipe directory",
                request.container.label,
                earlier.resource.name,
                request.resource.name,
            )
            violations.append(Violation(request.path, problem, "ask for one of them, or use two pods"))
    return violations


CHECK = Check("GPS010", Severity.DENY, Scope.MPS, run, "A container requests two shared resources")
