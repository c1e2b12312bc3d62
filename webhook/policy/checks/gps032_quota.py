"""A quota counts no GPU, or a LimitRange gives GPUs to pods without one, or rejects them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import NamespaceLimits
from webhook.policy.messages import message
from webhook.policy.pods.quantity import QuantityError, parse
from webhook.policy.pods.reading import Members, elements, members
from webhook.policy.verdict import Path, Severity, Violation

_REQUESTS, _LIMITS = "requests.", "limits."


def run(context: NamespaceLimits) -> Iterator[Violation]:
    """One violation for each amount that does not do what it says. Raises MalformedError."""
    spec = members(context.held.manifest, "spec", ())
    if context.held.kind == "LimitRange":
        items = elements(spec, "limits", ("spec",))
        given = {name for item in items if item.get("type") == "Container" for name in _limited(item)}
        for index, item in enumerate(items):
            path = ("spec", "limits", index)
            if item.get("type") == "Container":
                yield from _of_containers(context, item, path)
            elif item.get("type") == "Pod":
                yield from _rejecting(context, item, path, "pod", ("max", "min", _RATIO), given)
        return
    hard = members(spec, "hard", ("spec",))
    for key in hard:
        if (name := key.removeprefix(_LIMITS)) in context.names:
            yield _counts_nothing(("spec", "hard", key), key, name)
        elif (name := key.removeprefix(_REQUESTS)) in context.names:
            yield from _leaves_open(context, hard, name)


def _counts_nothing(path: Path, key: str, name: str) -> Violation:
    """The quota's evaluator counts an extended resource below `requests.` alone.

    (kubernetes/kubernetes pkg/quota/v1/evaluator/core/pods.go, `podComputeUsageHelper`; the API server accepts any
    qualified name: pkg/apis/core/validation/validation.go, `validateResourceQuotaResourceName`)
    """
    problem = message("{} counts nothing: a quota counts extended resources by their requests alone", key)
    return Violation(path, problem, f"use {_REQUESTS}{name}")


def _leaves_open(context: NamespaceLimits, hard: Members, name: str) -> Iterator[Violation]:
    """A violation if known nodes offer shares under a name of their own, which the quota does not count."""
    shares = context.shares(name)
    if shares is not None and _REQUESTS + shares not in hard:
        problem = message("this quota does not count {}, which nodes offer too", shares)
        yield Violation(("spec", "hard", _REQUESTS + name), problem, f"add {_REQUESTS}{shares}")


def _of_containers(context: NamespaceLimits, item: Members, path: Path) -> Iterator[Violation]:
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


_RATIO = "maxLimitRequestRatio"


def _limited(item: Members) -> Iterator[object]:
    """The resources for which an entry for containers has a default limit."""
    for field in ("default", "max"):
        held = item.get(field)
        yield from held if isinstance(held, dict) else ()


def _rejecting(
    context: NamespaceLimits, item: Members, path: Path, noun: str, fields: Iterable[str], given: Collection[object]
) -> Iterator[Violation]:
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
    found: dict[str, Path] = {}
    hidden: set[str] = set()
    for field in fields:
        held = members(item, field, path)
        for name in held:
            if name in context.names and name not in hidden:
                hidden.add(name)
                if _is_positive(held[name]):
                    found[name] = (*path, field, name)
    return found


def _is_positive(value: object) -> bool:
    try:
        return parse(value) > 0
    except QuantityError:
        return False


def _remedy(item: Members, path: Path, name: str, also: Path | None = None) -> str:
    """The remedy for an amount. `also`: the amount of the requests, which needs the limit and goes with it."""
    field = path[-2]
    if field == "max" and name not in members(item, "min", path[:-2]):
        return f'set default: {{{name}: "0"}} beside it, or use a ResourceQuota instead'
    if field in ("max", "min"):
        return "use a ResourceQuota instead"  # a default below the minimum is invalid
    removed = "it" if also is None else f"it and {also[-2]}"
    return f"remove {removed}, and name the amount in the pods that need a GPU"


CHECK = Check(
    "GPS032",
    Severity.WARN,
    Scope.NAMESPACE_LIMITS,
    run,
    "A quota counts no GPU, or a LimitRange gives GPUs to pods without one, or rejects them",
)
