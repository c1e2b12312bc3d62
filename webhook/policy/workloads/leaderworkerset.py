"""LeaderWorkerSet and DisaggregatedSet (kubernetes-sigs/lws, `api`)."""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.counts import stated
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath, Steps, at, one


def _workers(manifest: Members, path: Path) -> int | None:
    """The pods of a group that are made from the worker template: `size`, 1 by default, without the leader.

    Without a leader template, the leader is made from the worker template too (v0.10). Subgroups (`subGroupPolicy`)
    only place the pods, and `replicas` counts the groups.
    """
    template = at(manifest, path[:-1])
    size = stated(at(template, ("size",)), 1)
    if size is None or at(template, ("leaderTemplate",)) is None:
        return size
    return max(size - 1, 0)


def _pods(*spec: str, apart: Steps = ()) -> tuple[PodPath, ...]:
    pods = (*spec, "leaderWorkerTemplate")
    return (
        PodPath((*pods, "leaderTemplate"), group="group", apart=apart, count=one),
        PodPath((*pods, "workerTemplate"), group="group", apart=apart, count=_workers),
    )


_ROLES = ("spec", "roles", EVERY)

KINDS = (
    Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", _pods("spec"), "leaderworkersets", suspended=()),
    Kind(
        "disaggregatedset.x-k8s.io",
        "DisaggregatedSet",
        _pods(*_ROLES, "spec", apart=_ROLES),
        "disaggregatedsets",
        suspended=(),
        labels=None,
    ),
)
"""The kinds of the preset. Kueue gates the pods of the first one (kubernetes-sigs/kueue v0.19)."""
