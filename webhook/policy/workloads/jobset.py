"""JobSet (kubernetes-sigs/jobset, `api/jobset/v1alpha2`)."""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.counts import of_job, product, stated
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath, Steps, at

REPLICATED_JOBS: Steps = ("replicatedJobs", EVERY, "template", "spec", "template")
"""The steps from a JobSetSpec to its pod templates."""


def of_replicated_job(manifest: Members, path: Path) -> int | None:
    """The pods of a replicated job: those of one Job, times `replicas`, 1 by default. Source: v0.12."""
    return product(stated(at(manifest, (*path[:-3], "replicas")), 1), of_job(manifest, path))


KINDS = (
    Kind(
        "jobset.x-k8s.io",
        "JobSet",
        (PodPath(("spec", *REPLICATED_JOBS), group="jobs", count=of_replicated_job),),
        "jobsets",
        ("v1alpha2",),
        suspended=(("spec", "suspend"),),
    ),
)
"""The kinds of the preset."""
