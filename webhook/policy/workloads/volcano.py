"""Volcano: its own Job and CronJob, and flows of such jobs (volcano-sh/apis, `pkg/apis/{batch,flow}/v1alpha1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath

_GROUP, _FLOW_GROUP, _VERSIONS = "batch.volcano.sh", "flow.volcano.sh", ("v1alpha1",)
_TASKS = PodPath(("spec", "tasks", EVERY, "template"), group="job")

KINDS = (
    Kind(_GROUP, "Job", (_TASKS,), "jobs", _VERSIONS),
    Kind(
        _GROUP,
        "CronJob",
        (PodPath(("spec", "jobTemplate", "spec", "tasks", EVERY, "template"), group="job"),),
        "cronjobs",
        _VERSIONS,
        suspended=(),
    ),
    Kind(_FLOW_GROUP, "JobTemplate", (_TASKS,), "jobtemplates", _VERSIONS, suspended=()),
    Kind(
        _FLOW_GROUP,
        "JobFlow",
        (PodPath(("spec", "flows", EVERY, "patch", "jobSpec", "tasks", EVERY, "template")),),
        "jobflows",
        _VERSIONS,
        suspended=(),
    ),
)
"""The kinds of the preset."""
