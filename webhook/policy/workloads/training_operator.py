"""Kubeflow Training Operator v1 and MPI Operator: the jobs of kubeflow.org (kubeflow/training-operator).

The pods of four of them are ranks that communicate through NCCL where they have GPUs: PyTorch's default backend for
CUDA is `nccl`, JAX has no other between GPUs (docs/multi_process.md), Paddle's launcher runs in the mode `collective`
by default, and XGBoost itself refuses two workers on one GPU, by its UUID (dmlc/xgboost src/collective/comm.cu). TFJob
has parameter servers and strategies without NCCL, and MPI need not use GPUs at all.
"""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath, at


def _replicas(manifest: Members, path: Path) -> int | None:
    replicas = at(manifest, (*path[:-1], "replicas"))
    return 1 if replicas is None else replicas if isinstance(replicas, int) else None


def _job(kind: str, specs: str, *versions: str, ranks: bool = False) -> Kind:
    path = PodPath(("spec", specs, EVERY, "template"), group="job", count=_replicas, ranks=ranks)
    return Kind("kubeflow.org", kind, (path,), f"{kind.lower()}s", versions or ("v1",))


KINDS = (
    _job("PyTorchJob", "pytorchReplicaSpecs", ranks=True),
    _job("TFJob", "tfReplicaSpecs"),
    _job("MPIJob", "mpiReplicaSpecs", "v2beta1", "v1"),
    _job("XGBoostJob", "xgbReplicaSpecs", ranks=True),
    _job("PaddleJob", "paddleReplicaSpecs", ranks=True),
    _job("JAXJob", "jaxReplicaSpecs", ranks=True),
)
"""The kinds of the preset."""
