"""How many pods a workload wants, and how many are ready."""

from __future__ import annotations

from typing import Final

from webhook.cluster.reading import Object, is_true, number, part, word

_READY: Final = {
    "Deployment": "availableReplicas",
    "ReplicaSet": "readyReplicas",
    "StatefulSet": "readyReplicas",
    "DaemonSet": "numberReady",
}


def wanted(kind: str, found: Object) -> int:
    """The pods that a workload wants at a time."""
    if kind == "DaemonSet":
        return number(found, "status", "desiredNumberScheduled")
    return number(found, "spec", "parallelism" if kind == "Job" else "replicas", default=1)


def ready(kind: str, found: Object) -> int:
    """The pods of a workload that are ready."""
    return number(found, "status", _READY.get(kind, "ready"))


def has_all(kind: str, found: Object) -> bool:
    """Whether a workload has all the pods that it wants, or is complete."""
    if kind in ("Job", "CronJob"):
        return kind == "CronJob" or is_true(found, "Complete")
    return ready(kind, found) >= wanted(kind, found)


def unavailable(deployment: Object) -> int:
    """How many pods of a Deployment may end before new ones are ready; all for the strategy Recreate."""
    strategy, replicas = part(deployment, "spec", "strategy"), wanted("Deployment", deployment)
    if word(strategy, "type") == "Recreate":
        return replicas
    bounds = part(strategy, "rollingUpdate")
    surge = _resolved(bounds.get("maxSurge", "25%"), replicas, 99)
    return _resolved(bounds.get("maxUnavailable", "25%"), replicas, 0) or int(surge == 0)


def _resolved(bound: object, replicas: int, up: int) -> int:
    """A number, or that of a percentage, rounded down; rounded up where `up` is 99."""
    if isinstance(bound, str) and bound.endswith("%") and bound[:-1].isdecimal():
        return (replicas * int(bound[:-1]) + up) // 100
    return bound if isinstance(bound, int) else 0
