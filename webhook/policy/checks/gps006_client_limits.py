"""A limit of the MPS client is malformed or has no effect."""

from __future__ import annotations

from typing import Any

from webhook.policy.checks.check import variable
from webhook.policy.context import PodContext
from webhook.policy.injections.limits import AnnotatedLimit, annotated_limits
from webhook.policy.placement.node_index import share
from webhook.policy.pods.client_limits import VARIABLES
from webhook.policy.pods.pod import MEMORY, THREADS
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Violation, Violations, message


def run(context: PodContext) -> Violations:
    """One violation per container and variable that is wrong, at the annotation if that sets the value."""
    limits = annotated_limits(context)
    shares: _Shares = {}
    for request in context.first_mps_requests:
        for name in VARIABLES if request.container.variables or limits else ():
            violation = _violation(context, request, name, limits.get(name), shares)
            if violation is not None:
                yield violation


_Shares = dict[tuple[str, str], int | None]
"""By resource and variable, the largest share that a candidate node gives one replica; None if one is unknown."""


def _violation(
    context: PodContext, request: ResourceRequest, name: str, annotated: AnnotatedLimit | None, shares: _Shares
) -> Violation | None:
    container, resource = request.container, request.resource.name
    path, value = variable(container, name)
    if annotated is not None and (not path or value == annotated.value):
        path, value = (*context.pod.metadata_path, "annotations", annotated.key), annotated.value
    elif value is None or context.is_replaced(value):
        return None
    subject, label = f"{container.kind} {{}}: {{}}", container.label
    try:
        limit: Any = VARIABLES[name](value)
    except ValueError as wanted:
        return Violation(path, message(f"{subject} cannot be {{}}", label, name, value), f"use {wanted}")
    if name == MEMORY:
        lowest, unit = min(device.mebibytes for device in limit), "MiB"
        highest = max(device.device for device in limit)
        if highest >= request.billionths // NANO:  # a replica is at most one device
            problem = f"{subject} limits device {highest}, which it lacks, so that no limit applies"
            return Violation(path, message(problem, label, name), "limit only devices that it gets, counted from 0")
    elif name == THREADS:
        lowest, unit = limit, "%"
    else:
        return None
    if (resource, name) not in shares:
        shares[resource, name] = _largest(context, resource, name)
    most = shares[resource, name]
    if most is None or lowest <= most:
        return None
    problem = f"{subject} exceeds a replica's share of {most} {unit}, so it has no effect"
    return Violation(path, message(problem, label, name), f"use at most {most} {unit}, or omit it")


def _largest(context: PodContext, resource: str, name: str) -> int | None:
    if context.policy.facts.nodes is None:
        return None
    possible = context.placement.possible
    parts = [
        share(kind.mebibytes, kind.replicas) or 0 if name == MEMORY else kind.replicas and 100 // kind.replicas
        for kind in context.policy.node_kinds[resource]
        if kind.nodes & possible
    ]
    return max(parts, default=None) if all(parts) else None
