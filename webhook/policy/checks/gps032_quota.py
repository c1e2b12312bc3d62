"""A quota counts no GPU, or a LimitRange gives GPUs to pods without one, or rejects them."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from typing import NamedTuple

from webhook.policy.pods.quantity import parse_or_zero
from webhook.policy.pods.reading import Members, elements, members
from webhook.policy.verdict import Path, Violation, Violations, message


class NamespaceLimits(NamedTuple):
    """A ResourceQuota or a LimitRange. `names` holds the GPU resources, `offered` those that known nodes offer."""

    manifest: Members
    kind: str
    names: Container[object]
    offered: Collection[str]


_REQUESTS, _LIMITS, _RATIO = "requests.", "limits.", "maxLimitRequestRatio"


def run(context: NamespaceLimits) -> Violations:
    """One violation for each amount that does not do what it says. Raises MalformedError."""
    spec = members(context.manifest, "spec", ())
    if context.kind == "LimitRange":
        items = [(item, ("spec", "limits", index)) for index, item in enumerate(elements(spec, "limits", ("spec",)))]
        given: set[object] = set()
        for item, path in items:
            if item.get("type") == "Container":
                given.update(*(members(item, field, path) for field in ("default", "max")))
        for item, path in items:
            if item.get("type") == "Container":
                yield from _of_containers(context, item, path)
            elif item.get("type") == "Pod":
                yield from _rejecting(context, item, path, "pod", ("max", "min", _RATIO), given)
        return
    hard = members(spec, "hard", ("spec",))
    for key in hard:
        if (name := key.removeprefix(_LIMITS)) in context.names:
            # The quota's evaluator counts an extended resource below `requests.` alone (kubernetes/kubernetes
            # pkg/quota/v1/evaluator/core/pods.go, `podComputeUsageHelper`); the API server accepts any qualified name
            # (pkg/apis/core/validation/validation.go, `validateResourceQuotaResourceName`).
            problem = message("{} counts nothing: a quota counts extended resources by their requests alone", key)
            yield Violation(("spec", "hard", key), problem, f"use {_REQUESTS}{name}")
        elif (name := key.removeprefix(_REQUESTS)) in context.names:
            shares = f"{name}.shared"  # the name under which nodes offer shares of the same cards
            if shares in context.offered and _REQUESTS + shares not in hard:
                problem = message("this quota does not count {}, which nodes offer too", shares)
                yield Violation(("spec", "hard", key), problem, f"add {_REQUESTS}{shares}")


def _of_containers(context: NamespaceLimits, item: Members, path: Path) -> Violations:
    """The violations of an entry for containers.

    Where `default` is absent, `max` is the default limit. `defaultRequest` is the default limit, else `min`
    (kubernetes/kubernetes pkg/apis/core/v1/defaults.go, `SetDefaults_LimitRangeItem`).
    """
    limits = _amounts(context, item, path, "default", "max")
    requests = _amounts(context, item, path, "defaultRequest", "min")
    for name, place in limits.items():
        problem = message("every container of the namespace that names no amount of {} gets this one", name)
        yield Violation(place, problem, _remedy(item, place, name, also=requests.get(name)))
    for name, place in requests.items():
        if name not in limits:
            problem = message("every container without {} requests it without a limit, which is rejected", name)
            yield Violation(place, problem, _remedy(item, place, name))
    yield from _rejecting(context, item, path, "container", (_RATIO,), limits)


def _rejecting(
    context: NamespaceLimits, item: Members, path: Path, noun: str, fields: Iterable[str], given: Collection[object]
) -> Violations:
    """The violations of bounds that apply to each pod or container, and that one without an amount does not meet.

    A default, which is `given`, meets them (kubernetes/kubernetes plugin/pkg/admission/limitranger/admission.go,
    `maxConstraint`: "No limit is specified", `minConstraint`, `limitRequestRatioConstraint`).
    """
    for field in fields:
        for name in members(item, field, path):
            if name in context.names and name not in given:
                problem = message(f"every {noun} that names no amount of {{}} is rejected", name)
                yield Violation((*path, field, name), problem, "use a ResourceQuota instead")


def _amounts(context: NamespaceLimits, item: Members, path: Path, *fields: str) -> dict[str, Path]:
    """The GPU resources with an amount above 0 in these fields, of which an earlier one hides a later one."""
    field_of: dict[str, str] = {}
    for field in fields:
        for name in members(item, field, path):
            field_of.setdefault(name, field)
    return {
        name: (*path, field, name)
        for name, field in field_of.items()
        if name in context.names and parse_or_zero(item[field][name]) > 0
    }


def _remedy(item: Members, path: Path, name: str, also: Path | None = None) -> str:
    """The remedy for an amount. `also`: the amount of the requests, which needs the limit and goes with it."""
    field = path[-2]
    if field == "max" and name not in members(item, "min", path[:-2]):
        return f'set default: {{{name}: "0"}} beside it, or use a ResourceQuota instead'
    if field in ("max", "min"):
        return "use a ResourceQuota instead"  # a default below the minimum is invalid
    removed = "it" if also is None else f"it and {also[-2]}"
    return f"remove {removed}, and name the amount in the pods that need a GPU"
