"""A quota counts no GPU, or a LimitRange gives GPUs to containers that ask for none."""

from __future__ import annotations

from collections.abc import Iterator

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
        for index, item in enumerate(elements(spec, "limits", ("spec",))):
            if item.get("type") == "Container":
                yield from _of_containers(context, item, ("spec", "limits", index))
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
    """A violation for the other name that known nodes give to shares, which the quota does not count."""
    for other in context.other_names(name):
        if _REQUESTS + other not in hard:
            problem = message("this quota does not count {}, which nodes offer too", other)
            yield Violation(("spec", "hard", _REQUESTS + name), problem, f"add {_REQUESTS}{other}")


def _of_containers(context: NamespaceLimits, item: Members, path: Path) -> Iterator[Violation]:
    """The violations of an entry for containers.

    Where `default` is absent, `max` is the default limit. `defaultRequest` is the default limit, else `min`
    (kubernetes/kubernetes pkg/apis/core/v1/defaults.go, `SetDefaults_LimitRangeItem`).
    """
    limits = _amounts(context, item, path, "default", "max")
    requests = _amounts(context, item, path, "defaultRequest", "min")
    for name, place in limits.items():
        problem = message("every container of the namespace that names no amount of {} gets this one", name)
        yield Violation(place, problem, _remedy(place, name, also=requests.get(name)))
    for name, place in requests.items():
        if name not in limits:
            problem = message("every container without {} requests it without a limit, which is rejected", name)
            yield Violation(place, problem, _remedy(place, name))


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


_DEFAULTS = {"max": "default", "min": "defaultRequest"}


def _remedy(path: Path, name: str, also: Path | None = None) -> str:
    """The remedy for an amount. `also`: the amount of the requests, which needs the limit and goes with it."""
    default = _DEFAULTS.get(str(path[-2]))
    if default is not None:
        return f'set {default}: {{{name}: "0"}} beside it, or use a ResourceQuota instead'
    removed = "it" if also is None else f"it and {also[-2]}"
    return f"remove {removed}, and name the amount in the pods that need a GPU"


CHECK = Check(
    "GPS032",
    Severity.WARN,
    Scope.NAMESPACE_LIMITS,
    run,
    "A quota counts no GPU, or a LimitRange gives GPUs to containers that ask for none",
)
