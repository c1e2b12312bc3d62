"""Kubeflow: Notebooks, Trainer, Training Operator and MPI Operator, and the Spark Operator."""

from __future__ import annotations

import re

from webhook.policy.pods.pod import INIT
from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.batch import REPLICATED_JOBS, of_replicated_job
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import (
    EVERY,
    MEMBER,
    Assembly,
    Condition,
    Containers,
    PodCount,
    PodPath,
    at,
    one,
    stated,
)

_NOTEBOOK = PodPath(("spec", "template", "spec"), "podSpec")

NOTEBOOKS = (Kind("kubeflow.org", "Notebook", (_NOTEBOOK,), ("v1", "v1beta1", "v1alpha1"), suspended=()),)
"""Kubeflow Notebooks (kubeflow/notebooks, `components/notebook-controller/api/v1`)."""


_GROUP, _VERSIONS = "trainer.kubeflow.org", ("v1alpha1",)
_NODE = Assembly((Containers((), "trainer", name="node"),))
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def _nodes(manifest: Members, path: Path) -> int | None:
    """The pods of a TrainJob: `numNodes`. Without it the runtime decides (v2.3)."""
    return stated(at(manifest, (*path, "numNodes")))


def _nodes_by_default(manifest: Members, path: Path) -> int | None:
    """The pods of a job of a runtime: `mlPolicy.numNodes`, 1 by default, or those of a replicated job.

    `mlPolicy.numNodes` (1 by default) counts the pods of the job with the label of the trainer. With `mlPolicy.mpi`,
    launchers and nodes share them in a way that only a TrainJob settles (v2.3, `pkg/runtime/core/trainingruntime.go`
    and `pkg/runtime/framework/plugins/mpi/mpi.go`).
    """
    policy = at(manifest, ("spec", "mlPolicy"))
    if at(policy, ("mpi",)) is not None:
        return None
    if policy is not None and at(manifest, (*path[:-2], "metadata", "labels", _STEP)) == "trainer":
        return stated(at(policy, ("numNodes",)), 1)
    return of_replicated_job(manifest, path)


_JOBS = (PodPath(("spec", "template", "spec", *REPLICATED_JOBS), group="job", count=_nodes_by_default),)


def _has_overrides(manifest: Members, _path: Path) -> bool:
    """Whether a TrainJob overrides its runtime, by which it may choose the nodes of its pods."""
    overrides = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")
    return any(at(manifest, ("spec", field)) for field in overrides)


_TRAIN_JOB = (PodPath(("spec", "trainer"), _NODE, group="job", count=_nodes),)

TRAINER = (
    Kind(_GROUP, "TrainJob", _TRAIN_JOB, _VERSIONS, suspended=(("spec", "suspend"),), has_open_nodes=_has_overrides),
    Kind(_GROUP, "TrainingRuntime", _JOBS, _VERSIONS, suspended=(), labels=None),
    Kind(_GROUP, "ClusterTrainingRuntime", _JOBS, _VERSIONS, namespaced=False, suspended=(), labels=None),
)
"""Kubeflow Trainer v2: TrainJob and its runtimes (kubeflow/trainer, `pkg/apis/trainer/v1alpha1`).

Of a TrainJob only `spec.trainer` holds resources, in every release up to v2.3: initializers and what overrides the
runtime (`podSpecOverrides` in v2.0, `podTemplateOverrides` in v2.1, `runtimePatches` from v2.2 on) set none. The nodes
are those that the runtime chooses, and what overrides the runtime may choose others.
"""


def _replicas(manifest: Members, path: Path) -> int | None:
    """The pods of a role: `replicas`, 1 by default. With `elasticPolicy`, an autoscaler may change them."""
    if at(manifest, ("spec", "elasticPolicy")) is not None:
        return None
    return stated(at(manifest, (*path[:-1], "replicas")), 1)


def _replicas_of_mpi(manifest: Members, path: Path) -> int | None:
    """The pods of a role: `replicas`, by default 1 for the launcher and 0 for the workers."""
    return stated(at(manifest, (*path[:-1], "replicas")), 0 if path[-2] == "Worker" else 1)


def _training_job(kind: str, specs: str, *versions: str, count: PodCount = _replicas, ranks: bool = False) -> Kind:
    paths = (PodPath(("spec", specs, MEMBER, "template"), group="job", count=count, ranks=ranks),)
    suspended = (("spec", "runPolicy", "suspend"),)
    return Kind("kubeflow.org", kind, paths, versions or ("v1",), suspended=suspended)


TRAINING_OPERATOR = (
    _training_job("PyTorchJob", "pytorchReplicaSpecs", ranks=True),
    _training_job("TFJob", "tfReplicaSpecs"),
    _training_job("MPIJob", "mpiReplicaSpecs", "v2beta1", "v1", count=_replicas_of_mpi),
    _training_job("XGBoostJob", "xgbReplicaSpecs", ranks=True),
    _training_job("PaddleJob", "paddleReplicaSpecs", ranks=True),
    _training_job("JAXJob", "jaxReplicaSpecs", ranks=True),
)
"""Kubeflow Training Operator v1 and MPI Operator: the jobs of kubeflow.org.

Sources: kubeflow/training-operator v1.9, `pkg/apis/kubeflow.org/v1`; kubeflow/mpi-operator v0.8,
`pkg/apis/kubeflow/v2beta1`.

The pods of four kinds are ranks that communicate through NCCL where they have GPUs: PyTorch's default backend for CUDA
is `nccl`, JAX has no other between GPUs (docs/multi_process.md), Paddle's launcher runs in the mode `collective` by
default, and XGBoost refuses two workers on one GPU (dmlc/xgboost src/collective/comm.cu at 379b29f compares UUIDs).
TFJob has parameter servers and strategies without NCCL, and MPI need not use GPUs at all.
"""


def _replicas_of_hyperpod(manifest: Members, path: Path) -> int | None:
    """The pods of a role: `replicas`, 0 by default. With `elasticPolicy`, the operator may change them."""
    if at(manifest, ("spec", "elasticPolicy")) is not None:
        return None
    return stated(at(manifest, (*path[:-1], "replicas")), 0)


_HYPERPOD_JOB = PodPath(
    ("spec", "replicaSpecs", EVERY, "template"), group="job", count=_replicas_of_hyperpod, ranks=True
)

HYPERPOD = (
    Kind(
        "sagemaker.amazonaws.com", "HyperPodPyTorchJob", (_HYPERPOD_JOB,), suspended=(("spec", "runPolicy", "suspend"),)
    ),
)
"""SageMaker HyperPod's training operator, which has jobs like those of Kubeflow.

Typed from the project's client, since no source of the operator is public: aws/sagemaker-hyperpod-cli at 011ca92,
`src/sagemaker/hyperpod/training/config/hyperpod_pytorch_job_unified_config.py`.
"""


_SPARK_GROUP = "sparkoperator.k8s.io"


def _executors(manifest: Members, path: Path) -> int | None:
    """The executors: `instances`, 1 by default (`api/v1beta2/defaults.go`), unless Spark allocates them dynamically."""
    role = path[: path.index("executor") + 1]
    if at(manifest, (*role[:-1], "dynamicAllocation", "enabled")) is True:
        return None
    return stated(at(manifest, (*role, "instances")), 1)


def _has_selectors(*spec: str) -> Condition:
    """Whether fields that are not read with a pod choose its nodes: options of Spark, or those beside a template.

    Spark adds node selectors to those of a template (apache/spark, `BasicExecutorFeatureStep.scala`).
    """

    def condition(manifest: Members, _path: Path) -> bool:
        application = at(manifest, spec)
        conf = at(application, ("sparkConf",))
        if isinstance(conf, dict) and any(_CHOOSES_NODES.match(key) for key in conf):
            return True
        return any(
            at(application, (role, "template")) and (_selects(application) or _selects(at(application, (role,))))
            for role in ("driver", "executor")
        )

    return condition


def _selects(holder: object) -> bool:
    return bool(at(holder, ("nodeSelector",)) or at(holder, ("affinity",)))


_CHOOSES_NODES = re.compile(r"spark\.kubernetes\.(?:(?:driver|executor)\.)?(?:node\.selector\.|podTemplateFile\Z)")
"""The options of Spark that choose nodes (apache/spark, `docs/running-on-kubernetes.md`)."""


def _role(spec: tuple[str, ...], role: str, count: PodCount) -> tuple[PodPath, ...]:
    """The paths of a role. Its fields replace those of its template, and these the fields of the application."""
    steps = (*spec, role)
    parts = (Containers(("initContainers", EVERY), kind=INIT), Containers((), "spark"), Containers(("sidecars", EVERY)))
    return (
        PodPath(steps, Assembly(parts, (spec, (*steps, "template", "spec"), steps)), count=count),
        PodPath((*steps, "template"), count=count),
    )


def _spark(kind: str, *spec: str) -> Kind:
    roles = (*_role(spec, "driver", one), *_role(spec, "executor", _executors))
    suspended = ((*spec, "suspend"),)
    return Kind(_SPARK_GROUP, kind, roles, ("v1beta2",), suspended=suspended, has_open_nodes=_has_selectors(*spec))


_CONNECT = (PodPath(("spec", "server", "template")), PodPath(("spec", "executor", "template"), count=_executors))

SPARK = (
    _spark("SparkApplication", "spec"),
    _spark("ScheduledSparkApplication", "spec", "template"),  # its own `suspend` only stops its schedule
    Kind(_SPARK_GROUP, "SparkConnect", _CONNECT, ("v1alpha1",), suspended=(), has_open_nodes=_has_selectors("spec")),
)
"""Spark Operator (kubeflow/spark-operator, `api/v1beta2` and `api/v1alpha1`).

The pod of a role gets the role's GPU, its init containers and its sidecars, and what the role's `template` says. The
template is checked on its own: the operator adds the GPU to a container of it, or replaces the amount that it has.
"""
