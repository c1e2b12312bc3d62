"""Volcano: its own Job and CronJob (volcano-sh/volcano, `staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1`)."""

from __future__ import annotations

from webhook.policy.workloads.counts import beside
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath

_GROUP, _VERSIONS = "batch.volcano.sh", ("v1alpha1",)
_REPLICAS = beside("replicas", 0)
"""The pods of a task: `replicas`, 0 by default; `minAvailable` only says how many start together (v1.15)."""


def _tasks(*spec: str) -> tuple[PodPath, ...]:
    """The paths of a JobSpec."""
    return (PodPath((*spec, "tasks", EVERY, "template"), group="job", count=_REPLICAS),)


KINDS = (
    Kind(_GROUP, "Job", _tasks("spec"), "jobs", _VERSIONS, suspended=(), labels=None),
    Kind(_GROUP, "CronJob", _tasks("spec", "jobTemplate", "spec"), "cronjobs", _VERSIONS, suspended=(), labels=None),
)
"""The kinds of the preset. Volcano suspends a job by a command, not by a field, and Kueue does not queue them."""
