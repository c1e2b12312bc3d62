"""How many pods controllers make from a template, as far as the fields of an object state it.

A field that holds no number of pods, such as text or a negative number, makes the count unknown: it never fails, since
the API server rejects such an object, or the controller does.
"""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import Count, at

_MOST = 2**31 - 1
"""The greatest number that such a field holds: each is an int32."""


def stated(value: object, default: int | None = None) -> int | None:
    """The number of pods that a field states: the default if it is absent or null, None if it is no such number."""
    if value is None:
        return default
    return value if type(value) is int and 0 <= value <= _MOST else None


def product(*factors: int | None) -> int | None:
    """The product of numbers; None if one is unknown."""
    result = 1
    for factor in factors:
        if factor is None:
            return None
        result *= factor
    return result


def beside(field: str, default: int) -> Count:
    """The count that a field beside the template states."""

    def count(manifest: Members, path: Path) -> int | None:
        return stated(at(manifest, (*path[:-1], field)), default)

    count.__doc__ = f"The pods of a template: `{field}`, {default} by default."
    return count


REPLICAS = beside("replicas", 1)
"""The count of `apps` and of ReplicationController (kubernetes/kubernetes, `pkg/apis/apps/v1/defaults.go`)."""


def of_job(manifest: Members, path: Path) -> int | None:
    """The pods that a Job runs at a time, from the path to its template: `parallelism`, but at most `completions`.

    Source: kubernetes/kubernetes, `pkg/controller/job/job_controller.go`; `parallelism` is 1 by default.
    """
    spec = at(manifest, path[:-1])
    parallelism = stated(at(spec, ("parallelism",)), 1)
    completions = stated(at(spec, ("completions",)), parallelism)
    return None if parallelism is None or completions is None else min(parallelism, completions)


def is_indexed(manifest: Members, path: Path) -> bool:
    """Whether the pods of a Job have ranks, from the path to its template: with `completionMode: Indexed`.

    Pods without ranks take work from a queue, each on its own (kubernetes/enhancements, KEP-2214).
    """
    return bool(at(manifest, (*path[:-1], "completionMode")) == "Indexed")
