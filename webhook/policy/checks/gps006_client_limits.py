"""A limit of the MPS client is malformed or has no effect."""

from __future__ import annotations

from collections.abc import Callable

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.injections.limits import AnnotatedLimit, annotated_limits
from webhook.policy.messages import message
from webhook.policy.placement.memory import NodeKind
from webhook.policy.pods.client_limits import VARIABLES, MemoryLimit
from webhook.policy.pods.pod import MEMORY, THREADS
from webhook.policy.pods.reading import text
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per container and variable that is wrong, at the annotation if that sets the value."""
    limits = annotated_limits(context)
    requests = [request for request in context.first_mps_requests if request.container.variables or limits]
    if not requests:
        return ()
    shares = _Shares(context)
    return (
        violation
        for request in requests
        for name in VARIABLES
        if (violation := _violation(context, request, name, limits.get(name), shares)) is not None
    )


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
    try:
        limit = VARIABLES[name](value)
    except ValueError as wanted:
        problem = message(f"{request.container.kind} {{}}: {{}} cannot be {{}}", request.container.label, name, value)
        return Violation(path, problem, f"use {wanted}")
    share = shares.exceeded(request.resource.name, name, limit)
    if share is None:
        return None
    problem = message(
        f"{request.container.kind} {{}}: {{}} exceeds a replica's share of {share}, so it has no effect",
        request.container.label,
        name,
    )
    return Violation(path, problem, f"use at most {share}, or omit it")


class _Shares:
    """The largest share that a candidate node gives one replica, computed once per resource."""

    __slots__ = ("_context", "_memory", "_threads")

    def __init__(self, context: PodContext) -> None:
        self._context = context
        self._memory: dict[str, int | None] = {}
        self._threads: dict[str, int | None] = {}

    def exceeded(self, resource: str, name: str, limit: object) -> str | None:
        """The replica's share if the limit exceeds that of every candidate; None if the limit may have an effect."""
        if name == THREADS and isinstance(limit, float):
            share = self._largest(resource, self._threads, _percentage)
            return f"{share} %" if share is not None and limit > share else None
        if name == MEMORY and isinstance(limit, tuple):
            share = self._largest(resource, self._memory, _mebibytes)
            lowest = min(entry.mebibytes for entry in limit if isinstance(entry, MemoryLimit))
            return f"{share} MiB" if share is not None and lowest > share else None
        return None

    def _largest(
        self, resource: str, found: dict[str, int | None], share: Callable[[NodeKind], int | None]
    ) -> int | None:
        """The largest share of the candidates; None if the share of one of them is unknown."""
        if resource not in found:
            found[resource] = self._look(resource, share) if self._context.facts.nodes is not None else None
        return found[resource]

    def _look(self, resource: str, share: Callable[[NodeKind], int | None]) -> int | None:
        known = self._context.rules.memory_shares[resource].among(self._context.placement.possible)
        shares = [share(kind) for kind in known.kinds]
        certain = [one for one in shares if one is not None]
        return max(certain, default=None) if known.is_complete and len(certain) == len(shares) else None


def _mebibytes(kind: NodeKind) -> int | None:
    return kind.share if kind.labels.counts_replicas else None


def _percentage(kind: NodeKind) -> int | None:
    return 100 // kind.labels.replicas_per_card if kind.labels.counts_replicas else None


CHECK = Check("GPS006", Severity.WARN, Scope.MPS, run, "A limit of the MPS client is malformed or has no effect")
