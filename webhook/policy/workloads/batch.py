"""Jobs and groups of pods that work together: JobSet, LeaderWorkerSet and Volcano."""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodCount, PodPath, at, of_job, one, product, replicas, stated, unknown

REPLICATED_JOBS = ("replicatedJobs", EVERY, "template", "spec", "template")
"""The steps from a JobSetSpec to its pod templates."""


def of_replicated_job(manifest: Members, path: Path) -> int | None:
    """The pods of a replicated job: those of one Job, times `replicas`, 1 by default. Source: v0.12."""
    return product(stated(at(manifest, (*path[:-3], "replicas")), 1), of_job(manifest, path))


_JOBS = PodPath(("spec", *REPLICATED_JOBS), group="jobs", count=of_replicated_job)

JOBSET = (Kind("jobset.x-k8s.io", "JobSet", (_JOBS,), ("v1alpha2",), suspended=(("spec", "suspend"),)),)
"""JobSet (kubernetes-sigs/jobset, `api/jobset/v1alpha2`)."""


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


def of_leader_and_workers(*pods: str, apart: tuple[str, ...] = ()) -> tuple[PodPath, ...]:
    """The paths of a LeaderWorkerTemplate."""
    return (
        PodPath((*pods, "leaderTemplate"), group="group", apart=apart, count=one),
        PodPath((*pods, "workerTemplate"), group="group", apart=apart, count=_workers),
    )


_ROLES = ("spec", "roles", EVERY)
_PODS_OF_ROLES = of_leader_and_workers(*_ROLES, "spec", "leaderWorkerTemplate", apart=_ROLES)
_PODS = of_leader_and_workers("spec", "leaderWorkerTemplate")

LEADERWORKERSET = (
    Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", _PODS, suspended=()),
    Kind("disaggregatedset.x-k8s.io", "DisaggregatedSet", _PODS_OF_ROLES, suspended=(), labels=None),
)
"""LeaderWorkerSet and DisaggregatedSet (kubernetes-sigs/lws, `api`). Kueue gates the pods of the first one
(kubernetes-sigs/kueue v0.19).
"""


_REPLICAS = replicas(0)
"""The pods of a task: `replicas`, 0 by default; `minAvailable` only says how many start together (v1.15)."""


def _volcano(group: str, kind: str, *spec: str, count: PodCount = _REPLICAS, apart: tuple[str, ...] = ()) -> Kind:
    tasks = PodPath((*spec, "tasks", EVERY, "template"), group="job", apart=apart, count=count)
    return Kind(f"{group}.volcano.sh", kind, (tasks,), ("v1alpha1",), suspended=(), labels=None)


_FLOWS = ("spec", "flows", EVERY)

VOLCANO = (
    _volcano("batch", "Job", "spec"),
    _volcano("batch", "CronJob", "spec", "jobTemplate", "spec"),
    _volcano("flow", "JobTemplate", "spec"),
    # Each flow patches a JobTemplate, which has the counts.
    _volcano("flow", "JobFlow", *_FLOWS, "patch", "jobSpec", count=unknown, apart=_FLOWS),
)
"""Volcano: its own Job and CronJob, and flows of such jobs (volcano-sh/apis, `pkg/apis/{batch,flow}/v1alpha1`).

Volcano suspends a job by a command, not by a field, and Kueue does not queue these kinds.
"""
