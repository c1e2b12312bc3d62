"""LeaderWorkerSet (kubernetes-sigs/lws, `api/leaderworkerset/v1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath

_PODS = ("spec", "leaderWorkerTemplate")
_PODS_OF_ROLE = ("spec", "roles", EVERY, *_PODS)

KINDS = (
    Kind(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        (
            PodPath((*_PODS, "leaderTemplate"), group="group"),
            PodPath((*_PODS, "workerTemplate"), group="group"),
        ),
        "leaderworkersets",
    ),
    Kind(
        "disaggregatedset.x-k8s.io",
        "DisaggregatedSet",
        (PodPath((*_PODS_OF_ROLE, "leaderTemplate")), PodPath((*_PODS_OF_ROLE, "workerTemplate"))),
        "disaggregatedsets",
    ),
)
"""The kinds of the preset."""
