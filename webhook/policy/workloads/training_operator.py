"""Kubeflow Training Operator v1 and MPI Operator: the jobs of kubeflow.org (kubeflow/training-operator)."""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath, at


def _replicas(manifest: Members, path: Path) -> int | None:
    replicas = at(manifest, (*path[:-1], "replicas"))
    return 1 if replicas is None else replicas if isinstance(replicas, int) else None


def _job(kind: str, specs: str, *versions: str) -> Kind:
    path = PodPath(("spec", specs, EVERY, "template"), group="job", count=_replicas)
    return Kind("kubeflow.org", kind, (path,), f"{kind.lower()}s", versions or ("v1",))


KINDS = (
    _job("PyTorchJob", "pytorchReplicaSpecs"),
    _job("TFJob", "tfReplicaSpecs"),
    _job("MPIJob", "mpiReplicaSpecs", "v2beta1", "v1"),
    _job("XGBoostJob", "xgbReplicaSpecs"),
    _job("PaddleJob", "paddleReplicaSpecs"),
    _job("JAXJob", "jaxReplicaSpecs"),
)
"""The kinds of the preset."""
