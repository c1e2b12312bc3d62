"""Kubeflow Training Operator v1 and MPI Operator: the jobs of kubeflow.org.

Sources: kubeflow/training-operator v1.9, `pkg/apis/kubeflow.org/v1`; kubeflow/mpi-operator v0.8,
`pkg/apis/kubeflow/v2beta1`.

The pods of four kinds are ranks that communicate through NCCL where they have GPUs: PyTorch's default backend for CUDA
is `nccl`, JAX has no other between GPUs (docs/multi_process.md), Paddle's launcher runs in the mode `collective` by
default, and XGBoost refuses two workers on one GPU (dmlc/xgboost src/collective/comm.cu at 379b29f compares UUIDs).
TFJob has parameter servers and strategies without NCCL, and MPI need not use GPUs at all.
"""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.counts import stated
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Count, PodPath, at


def _replicas(manifest: Members, path: Path) -> int | None:
    """The pods of a role: `replicas`, 1 by default. With `elasticPolicy`, an autoscaler may change them."""
    if at(manifest, ("spec", "elasticPolicy")) is not None:
        return None
    return stated(at(manifest, (*path[:-1], "replicas")), 1)


def _replicas_of_mpi(manifest: Members, path: Path) -> int | None:
    """The pods of a role: `replicas`, by default 1 for the launcher and 0 for the workers."""
    return stated(at(manifest, (*path[:-1], "replicas")), 0 if path[-2] == "Worker" else 1)


def _job(kind: str, specs: str, *versions: str, count: Count = _replicas, ranks: bool = False) -> Kind:
    paths = (PodPath(("spec", specs, EVERY, "template"), group="job", count=count, ranks=ranks),)
    suspended = (("spec", "runPolicy", "suspend"),)
    return Kind("kubeflow.org", kind, paths, f"{kind.lower()}s", versions or ("v1",), suspended=suspended)


KINDS = (
    _job("PyTorchJob", "pytorchReplicaSpecs", ranks=True),
    _job("TFJob", "tfReplicaSpecs"),
    _job("MPIJob", "mpiReplicaSpecs", "v2beta1", "v1", count=_replicas_of_mpi),
    _job("XGBoostJob", "xgbReplicaSpecs", ranks=True),
    _job("PaddleJob", "paddleReplicaSpecs", ranks=True),
    _job("JAXJob", "jaxReplicaSpecs", ranks=True),
)
"""The kinds of the preset."""
