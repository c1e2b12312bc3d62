"""A limit of the MPS client is malformed or has no effect."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.injections.limits import AnnotatedLimit, annotated_limits
from webhook.policy.messages import Message, message
from webhook.policy.pods.client_limits import VARIABLES, MemoryLimit
from webhook.policy.pods.pod import MEMORY, THREADS
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import text
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Severity, Violation


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
    entry = request.container.variable(name)
    value = None if entry is None else text(entry, "value", request.container.variable_path(name, ""))
    if annotated is not None and (entry is None or value == annotated.value):
        path, value = (*context.pod.metadata_path, "annotations", annotated.key), annotated.value
    elif entry is None or value is None or entry.get("valueFrom") is not None or context.is_replaced(value):
        return None
    else:
        path = request.container.variable_path(name)
    fault = _fault(context, request, name, value, shares)
    return None if fault is None else Violation(path, *fault)


def _fault(
    context: PodContext, request: ResourceRequest, name: str, value: str, shares: _Shares
) -> tuple[Message, str] | None:
    """What is wrong with the value of a variable, and the remedy."""
    subject, label = f"{request.container.kind} {{}}: {{}}", request.container.label
    try:
        limit = VARIABLES[name](value)
    except ValueError as wanted:
        return message(f"{subject} cannot be {{}}", label, name, value), f"use {wanted}"
    absent = _absent_device(request, limit) if name == MEMORY and isinstance(limit, tuple) else None
    if absent is not None:
        problem = f"{subject} limits device {absent}, which it lacks, so that no limit applies"
        return message(problem, label, name), "limit only devices that it gets, counted from 0"
    share = _exceeded(context, request.resource.name, name, limit, shares)
    if share is None:
        return None
    problem = f"{subject} exceeds a replica's share of {share}, so it has no effect"
    return message(problem, label, name), f"use at most {share}, or omit it"


def _absent_device(request: ResourceRequest, limits: tuple[object, ...]) -> int | None:
    """The highest device that is limited, if the container cannot get as many: a replica is at most one device."""
    highest = max(limit.device for limit in limits if isinstance(limit, MemoryLimit))
    return highest if highest >= request.billionths // NANO else None


def _exceeded(context: PodContext, resource: str, name: str, limit: object, shares: _Shares) -> str | None:
    """The replica's share if the limit exceeds that of every candidate; None if the limit may have an effect."""
    if name == THREADS and isinstance(limit, float):
        lowest, unit = limit, "%"
    elif name == MEMORY and isinstance(limit, tuple):
        lowest, unit = min(entry.mebibytes for entry in limit if isinstance(entry, MemoryLimit)), "MiB"
    else:
        return None
    if (resource, name) not in shares:
        shares[resource, name] = _largest(context, resource, name)
    share = shares[resource, name]
    return f"{share} {unit}" if share is not None and lowest > share else None


def _largest(context: PodContext, resource: str, name: str) -> int | None:
    if context.facts.nodes is None:
        return None
    known = context.rules.memory_shares[resource].among(context.placement.possible)
    shares = []
    for kind in known.kinds:
        share = kind.share if name == MEMORY else 100 // (kind.labels.replicas_per_card or 1)
        if share is None or not kind.labels.counts_replicas:
            return None
        shares.append(share)
    return max(shares, default=None) if known.is_complete else None


CHECK = Check("GPS006", Severity.WARN, Scope.MPS, run, "A limit of the MPS client is malformed or has no effect")
