"""An init container and a later container both request a GPU."""

from __future__ import annotations

from itertools import groupby, pairwise

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.pods.pod import APP, INIT
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per request of an init container that a later container follows with its own."""
    requests = context.requests.positive
    if len(requests) < 2 or requests[0].container.kind is APP:
        return
    by_container = ((container, list(own)) for container, own in groupby(requests, lambda one: one.container))
    for (container, own), (later, _) in pairwise(by_container):
        for request in own if container.kind is INIT else ():
            template = "{} and later {} both request a GPU; a kubelet restart can fail the pod"
            problem = message(template, container.label, later.label)
            yield Violation(request.path, problem, "request the GPU in only one of them")


CHECK = Check("GPS016", Severity.WARN, Scope.GPU, run, "An init container and a later container both request a GPU")
