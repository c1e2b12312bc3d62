"""A LimitRange or a ResourceQuota of the namespace refuses the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.verdict import Violation, Violations, message

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import NamespaceLimit


def run(context: PodContext) -> Violations:
    """One violation per container over a limit of containers, and one per resource over a limit of pods.

    A LimitRange compares the limits of each container (kubernetes/kubernetes plugin/pkg/admission/limitranger/
    admission.go, `maxConstraint`). A ResourceQuota counts the requests of all pods, so that a pod over it never fits.
    """
    limits = context.policy.namespace_limits
    if not limits:
        return
    for request in context.requests.positive:
        limit = limits.get(("container", request.resource.name))
        if limit is not None and request.billionths > limit.most * NANO:
            asks = f"asks for {amount(request.billionths)} of {{}}; {{}} allows {limit.most} per container"
            problem = about(request.container, asks, request.resource.name, limit.owner)
            yield Violation(request.path, problem, _remedy(limit, ""))
    for name, peak in context.requests.peaks.items():
        limit = limits.get(("pod", name))
        if limit is not None and peak > limit.most * NANO:
            first = next(request for request in context.requests.positive if request.resource.name == name)
            problem = message(f"the pod asks for {amount(peak)} of {{}}; {{}} allows {limit.most}", name, limit.owner)
            yield Violation(first.path, problem, _remedy(limit, " in all containers together"))


def _remedy(limit: NamespaceLimit, where: str) -> str:
    kind = limit.owner.partition(" ")[0]
    fewer = f"ask for at most {limit.most}{where}, or " if limit.most else ""
    return f"{fewer}raise the amount in the {kind} of namespace {limit.namespace}"
