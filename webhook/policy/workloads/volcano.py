"""Volcano: its own Job and CronJob (volcano-sh/apis, `pkg/apis/batch/v1alpha1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath

_GROUP, _VERSIONS = "batch.volcano.sh", ("v1alpha1",)

KINDS = (
    Kind(_GROUP, "Job", (PodPath(("spec", "tasks", EVERY, "template"), group="job"),), "jobs", _VERSIONS),
    Kind(
        _GROUP,
        "CronJob",
        (PodPath(("spec", "jobTemplate", "spec", "tasks", EVERY, "template"), group="job"),),
        "cronjobs",
        _VERSIONS,
        suspended=(),
    ),
)
"""The kinds of the preset."""
