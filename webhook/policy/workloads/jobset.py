"""JobSet (kubernetes-sigs/jobset, `api/jobset/v1alpha2`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath

_JOBS = PodPath(("spec", "replicatedJobs", EVERY, "template", "spec", "template"), group="jobs")

KINDS = (Kind("jobset.x-k8s.io", "JobSet", (_JOBS,), "jobsets", ("v1alpha2",)),)
"""The kinds of the preset."""
