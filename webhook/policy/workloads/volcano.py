"""Volcano: its own Job and CronJob, and flows of such jobs (volcano-sh/apis, `pkg/apis/{batch,flow}/v1alpha1`)."""

from __future__ import annotations

from webhook.policy.workloads.counts import beside
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Count, PodPath, Steps, unknown

_GROUP, _FLOW_GROUP, _VERSIONS = "batch.volcano.sh", "flow.volcano.sh", ("v1alpha1",)
_FLOWS = ("spec", "flows", EVERY)
_REPLICAS = beside("replicas", 0)
"""The pods of a task: `replicas`, 0 by default; `minAvailable` only says how many start together (v1.15)."""


def _tasks(*spec: str, count: Count = _REPLICAS, apart: Steps = ()) -> tuple[PodPath, ...]:
    return (PodPath((*spec, "tasks", EVERY, "template"), group="job", apart=apart, count=count),)


KINDS = (
    Kind(_GROUP, "Job", _tasks("spec"), "jobs", _VERSIONS, suspended=(), labels=None),
    Kind(_GROUP, "CronJob", _tasks("spec", "jobTemplate", "spec"), "cronjobs", _VERSIONS, suspended=(), labels=None),
    Kind(_FLOW_GROUP, "JobTemplate", _tasks("spec"), "jobtemplates", _VERSIONS, suspended=(), labels=None),
    Kind(
        _FLOW_GROUP,
        "JobFlow",
        _tasks(*_FLOWS, "patch", "jobSpec", count=unknown, apart=_FLOWS),  # a patch of a JobTemplate, which has counts
        "jobflows",
        _VERSIONS,
        suspended=(),
        labels=None,
    ),
)
"""The kinds of the preset. Volcano suspends a job by a command, not by a field, and Kueue does not queue them."""
