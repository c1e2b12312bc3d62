"""A container requests two shared resources."""

from __future__ import annotations

from itertools import groupby

from webhook.policy.checks.check import Check, Scope, Violations, about
from webhook.policy.context import PodContext
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per container, at its second resource."""
    if len(context.mps_requests) == len(context.first_mps_requests):
        return
    for container, requests in groupby(context.mps_requests, lambda request: request.container):
        first, *others = requests
        if others:
            template = "asks for both {} and {}; it can use only one pipe directory"
            problem = about(container, template, first.resource.name, others[0].resource.name)
            yield Violation(others[0].path, problem, "ask for one of them, or use two pods")


CHECK = Check("GPS010", Severity.DENY, Scope.MPS, run, "A container requests two shared resources")
