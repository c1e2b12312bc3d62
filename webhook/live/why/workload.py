"""How many pods a workload wants, and how many are ready."""

from __future__ import annotations

from typing import Final

from webhook.live.why.reading import Object, is_true, number

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
