"""Kubeflow Trainer v2: TrainJob and its runtimes (kubeflow/trainer, `pkg/apis/trainer/v1alpha1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath

_GROUP, _VERSIONS = "trainer.kubeflow.org", ("v1alpha1",)
_JOBS = (PodPath(("spec", "template", "spec", "replicatedJobs", EVERY, "template", "spec", "template"), group="job"),)

KINDS = (
    Kind(_GROUP, "TrainJob", (PodPath(("spec", "trainer", "resourcesPerNode"), "resources"),), "trainjobs", _VERSIONS),
    Kind(_GROUP, "TrainingRuntime", _JOBS, "trainingruntimes", _VERSIONS),
    Kind(_GROUP, "ClusterTrainingRuntime", _JOBS, "clustertrainingruntimes", _VERSIONS, namespaced=False),
)
"""The kinds of the preset."""
