"""A container requests GPUs that it cannot use together: of two resources, or several MIG devices."""

from __future__ import annotations

from itertools import groupby

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.placement.node_classes import DOMAIN
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.verdict import Severity, Violation, Violations


def run(context: PodContext) -> Violations:
    """One violation per container at its second resource, and one per request for several MIG devices."""
    if context.requests.has_mig:
        for request in context.requests.positive:
            if request.resource.kind == "mig" and request.billionths > NANO:
                asks = f"asks for {amount(request.billionths)} of {{}}; a process of CUDA uses one MIG device"
                problem = about(request.container, asks, request.resource.name)
                yield Violation(request.path, problem, _REMEDY, Severity.WARN)
    if len(context.requests.positive) == 1:
        return
    mps = {id(request) for request in context.mps_requests}
    for container, requests in groupby(context.requests.positive, lambda request: request.container):
        own = [one for one in requests if one.resource.name.startswith(DOMAIN) or id(one) in mps]
        shared = [one for one in own if id(one) in mps]
        if len(shared) > 1:
            template = "asks for both {} and {}; it can use only one pipe directory"
            problem = about(container, template, shared[0].resource.name, shared[1].resource.name)
            yield Violation(shared[1].path, problem, "ask for one of them, or use two pods")
        elif len(own) > 1 and not context.policy.injects_by_cdi:
            template = "asks for both {} and {}; it gets the GPUs of one of them"
            problem = about(container, template, own[0].resource.name, own[1].resource.name)
            yield Violation(own[1].path, problem, "ask for one of them, or use two containers", Severity.WARN)


_REMEDY = "ask for 1, of a larger profile if need be, or set CUDA_VISIBLE_DEVICES in each process"
