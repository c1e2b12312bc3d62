"""LeaderWorkerSet (kubernetes-sigs/lws, `api/leaderworkerset/v1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import PodPath

_PODS = ("spec", "leaderWorkerTemplate")

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
)
"""The kinds of the preset."""
