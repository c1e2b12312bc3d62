"""The table of presets: where the custom kinds of well-known projects keep their pods."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from webhook.policy.settings.settings import PresetName, Workloads
from webhook.policy.workloads import operators
from webhook.policy.workloads.kinds import BUILT_IN, Kind, Kinds, by_name, with_paths
from webhook.policy.workloads.paths import Assembly, Containers, PodPath, always, counted, never, sets, unknown

_Unqueued = partial(Kind, suspended=(), labels=None)
"""A kind that no field suspends and that Kueue does not queue."""

_V1ALPHA1 = ("v1alpha1",)
_SUSPEND = ("spec.suspend",)
_RUN_POLICY = ("spec.runPolicy.suspend",)


_ARGO_ROLLOUTS = (_Unqueued("argoproj.io", "Rollout", (PodPath("spec.template"),), _V1ALPHA1),)
"""Argo Rollouts (argoproj/argo-rollouts)."""


_WORKFLOW = Kind(
    "argoproj.io",
    "Workflow",
    operators.argo_workflow("spec"),
    _V1ALPHA1,
    suspended=_SUSPEND,
    labels=None,
    has_open_nodes=operators.may_patch("spec"),
)

_ARGO_WORKFLOWS = (
    _WORKFLOW,
    replace(_WORKFLOW, kind="WorkflowTemplate"),
    replace(_WORKFLOW, kind="ClusterWorkflowTemplate", namespaced=False),
    replace(
        _WORKFLOW,
        kind="CronWorkflow",
        paths=operators.argo_workflow("spec.workflowSpec"),
        suspended=("spec.workflowSpec.suspend",),  # its own `suspend` only stops its schedule
        has_open_nodes=operators.may_patch("spec.workflowSpec"),
    ),
)
"""Argo Workflows (argoproj/argo-workflows).

The manifest of a `resource` template is text, and not checked. The labels of an object do not reach its pods, so that
Kueue does not see them.
"""


_COMPONENTS = PodPath(
    "spec.components[*].podTemplate",
    group="component",
    apart=True,
    count=counted("multinode.nodeCount", 2, alone=True),
)

_DYNAMO = (Kind("nvidia.com", "DynamoGraphDeployment", (_COMPONENTS,), ("v1beta1",), suspended=()),)
"""NVIDIA Dynamo (ai-dynamo/dynamo at 006b6e1, `deploy/operator/api/v1beta1`).

The API server converts a graph of v1alpha1 for the webhook; the form of its services is not read.
"""


_JOBS = PodPath("spec.replicatedJobs[*].template.spec.template", group="jobs", count=operators.of_replicated_job)

_JOBSET = (Kind("jobset.x-k8s.io", "JobSet", (_JOBS,), ("v1alpha2",), suspended=_SUSPEND),)
"""JobSet (kubernetes-sigs/jobset, `api/jobset/v1alpha2`)."""


_REVISION = (PodPath("spec.template"),)

_KNATIVE = (
    _Unqueued("serving.knative.dev", "Service", _REVISION),
    _Unqueued("serving.knative.dev", "Configuration", _REVISION),
)
"""Knative Serving (knative/serving, `pkg/apis/serving/v1`).

A Revision is made from one of these, and is left to the check of its pods. The labels of a Service do not reach them.
"""


_INFERENCE_SERVICE = (
    *operators.kserve_predictor("spec.predictor", "predictor"),
    PodPath("spec.transformer", "podSpec"),
    operators.kserve_component("spec.explainer", "art"),
    *operators.kserve_predictor("spec.canary[*].predictor", "canary", apart=True),
)
_RUNTIME = (
    PodPath("spec", "podSpec", group="predictor"),
    PodPath("spec.workerSpec", "podSpec", group="predictor", count=unknown),
)
_LLM = (*operators.kserve_llm("spec", "decode"), *operators.kserve_llm("spec.prefill", "prefill"))

_KSERVE = (
    Kind("serving.kserve.io", "InferenceService", _INFERENCE_SERVICE, ("v1beta1",), suspended=()),
    _Unqueued("serving.kserve.io", "ServingRuntime", _RUNTIME, _V1ALPHA1),
    _Unqueued("serving.kserve.io", "ClusterServingRuntime", _RUNTIME, _V1ALPHA1, namespaced=False),
    Kind("serving.kserve.io", "LLMInferenceService", _LLM, ("v1alpha2", "v1alpha1"), suspended=()),
    _Unqueued("serving.kserve.io", "LLMInferenceServiceConfig", _LLM, ("v1alpha2", "v1alpha1")),
)
"""KServe: inference services and their runtimes (kserve/kserve, `pkg/apis/serving`)."""


_RAY = Kind("ray.io", "RayCluster", operators.ray_cluster("spec"), ("v1", "v1alpha1"), suspended=_SUSPEND)

_KUBERAY = (
    _RAY,
    replace(_RAY, kind="RayJob", paths=operators.ray_job("spec")),
    # Kueue suspends the cluster of a RayService, which has no `suspend` of its own in v1.7.
    replace(
        _RAY,
        kind="RayService",
        paths=operators.ray_cluster("spec.rayClusterConfig"),
        suspended=("spec.rayClusterConfig.suspend",),
    ),
)
"""KubeRay (ray-project/kuberay, `ray-operator/apis/ray/v1`)."""


_LEADERWORKERSET = (
    Kind(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        operators.leader_and_workers("spec.leaderWorkerTemplate"),
        suspended=(),
    ),
)
"""LeaderWorkerSet (kubernetes-sigs/lws, `api`), whose pods Kueue gates (kubernetes-sigs/kueue v0.19)."""


_NIM = (Kind("apps.nvidia.com", "NIMService", operators.nim_service("spec"), _V1ALPHA1, suspended=()),)
"""NVIDIA NIM Operator (NVIDIA/k8s-nim-operator at f63f74d, `config/crd/bases`).

Without an amount in `resources`, the operator asks for the GPUs of the model's profile. A NIMCache asks for none.
"""


_NOTEBOOKS = (
    Kind(
        "kubeflow.org",
        "Notebook",
        (PodPath("spec.template.spec", "podSpec"),),
        ("v1", "v1beta1", "v1alpha1"),
        suspended=(),
    ),
)
"""Kubeflow Notebooks (kubeflow/notebooks, `components/notebook-controller/api/v1`)."""


_APPLICATION = Kind(
    "sparkoperator.k8s.io",
    "SparkApplication",
    tuple(operators.spark_roles("spec")),
    ("v1beta2",),
    suspended=_SUSPEND,
    has_open_nodes=operators.has_spark_selectors("spec"),
)
_SPARK = (
    _APPLICATION,
    replace(
        _APPLICATION,
        kind="ScheduledSparkApplication",
        paths=tuple(operators.spark_roles("spec.template")),
        suspended=("spec.template.suspend",),  # its own `suspend` only stops its schedule
        has_open_nodes=operators.has_spark_selectors("spec.template"),
    ),
)
"""Spark Operator (kubeflow/spark-operator, `api/v1beta2`)."""


_TASK = Kind(
    "tekton.dev",
    "Task",
    (operators.tekton_task("spec"),),
    ("v1", "v1beta1"),
    suspended=(),
    is_used_elsewhere=always,
)
_POD_TEMPLATES = ("spec.podTemplate", "spec.taskRunTemplate.podTemplate")  # v1beta1, v1
_OF_TASK = ("spec.taskRunSpecs[*].taskPodTemplate", "spec.taskRunSpecs[*].podTemplate")

_TEKTON = (
    _TASK,
    replace(
        _TASK,
        kind="TaskRun",
        paths=(operators.tekton_task("spec.taskSpec", "spec.podTemplate"),),
        is_used_elsewhere=never,
    ),
    replace(_TASK, kind="Pipeline", paths=operators.tekton_tasks("spec")),
    # Pod templates of single tasks, by name, replace fields of the one for all tasks.
    replace(
        _TASK,
        kind="PipelineRun",
        paths=operators.tekton_tasks("spec.pipelineSpec", *_POD_TEMPLATES),
        is_used_elsewhere=sets(*_OF_TASK),
    ),
)
"""Tekton Pipelines (tektoncd/pipeline, `pkg/apis/pipeline/v1`)."""


_TRAIN_JOB = PodPath(
    "spec.trainer",
    Assembly((Containers("", "trainer", name="node"),)),
    group="job",
    count=counted("numNodes", up=0),
)
_JOBS_OF_RUNTIME = (PodPath("spec.template.spec.replicatedJobs[*].template.spec.template", group="job", count=unknown),)

_TRAINER = (
    Kind(
        "trainer.kubeflow.org",
        "TrainJob",
        (_TRAIN_JOB,),
        _V1ALPHA1,
        suspended=_SUSPEND,
        has_open_nodes=sets("spec.runtimePatches", "spec.podTemplateOverrides", "spec.podSpecOverrides"),
    ),
    _Unqueued("trainer.kubeflow.org", "TrainingRuntime", _JOBS_OF_RUNTIME, _V1ALPHA1),
    _Unqueued("trainer.kubeflow.org", "ClusterTrainingRuntime", _JOBS_OF_RUNTIME, _V1ALPHA1, namespaced=False),
)
"""Kubeflow Trainer v2: TrainJob and its runtimes (kubeflow/trainer, `pkg/apis/trainer/v1alpha1`).

Of a TrainJob only `spec.trainer` holds resources, in every release up to v2.3: initializers and what overrides the
runtime (`podSpecOverrides` in v2.0, `podTemplateOverrides` in v2.1, `runtimePatches` from v2.2 on) set none. The nodes
are those that the runtime chooses, and what overrides the runtime may choose others. Without `numNodes`, the runtime
decides on their number.
"""


def _training_job(kind: str, specs: str, *, ranks: bool = True) -> Kind:
    """A job whose roles have replicas. With `elasticPolicy`, an autoscaler may change them."""
    replicas = counted("replicas", 1, unless="spec.elasticPolicy")
    roles = PodPath(f"spec.{specs}.*.template", group="job", count=replicas, ranks=ranks)
    return Kind("kubeflow.org", kind, (roles,), suspended=_RUN_POLICY)


_MPI = PodPath("spec.mpiReplicaSpecs.*.template", group="job", count=operators.replicas_of_mpi)

_TRAINING_OPERATOR = (
    _training_job("PyTorchJob", "pytorchReplicaSpecs"),
    _training_job("TFJob", "tfReplicaSpecs", ranks=False),
    Kind("kubeflow.org", "MPIJob", (_MPI,), ("v2beta1", "v1"), suspended=_RUN_POLICY),
    _training_job("XGBoostJob", "xgbReplicaSpecs"),
    _training_job("PaddleJob", "paddleReplicaSpecs"),
    _training_job("JAXJob", "jaxReplicaSpecs"),
)
"""Kubeflow Training Operator v1 and MPI Operator: the jobs of kubeflow.org.

Sources: kubeflow/training-operator v1.9, `pkg/apis/kubeflow.org/v1`; kubeflow/mpi-operator v0.8,
`pkg/apis/kubeflow/v2beta1`.

The pods of four kinds are ranks that communicate through NCCL where they have GPUs: PyTorch's default backend for CUDA
is `nccl`, JAX has no other between GPUs (docs/multi_process.md), Paddle's launcher runs in the mode `collective` by
default, and XGBoost refuses two workers on one GPU (dmlc/xgboost src/collective/comm.cu at 379b29f compares UUIDs).
TFJob has parameter servers and strategies without NCCL, and MPI need not use GPUs at all.
"""


_TASKS = PodPath("spec.tasks[*].template", group="job", count=counted("replicas", 0))

_VOLCANO = (_Unqueued("batch.volcano.sh", "Job", (_TASKS,), _V1ALPHA1),)
"""Volcano's own Job (volcano-sh/apis, `pkg/apis/batch/v1alpha1`).

`minAvailable` only says how many pods start together (v1.15). Volcano suspends a job by a command, not by a field, and
Kueue does not queue the kind.
"""


class Preset(NamedTuple):
    """The kinds of one project. `title` is the project's name."""

    name: PresetName
    title: str
    kinds: tuple[Kind, ...]


PRESETS: tuple[Preset, ...] = (
    Preset("argo-rollouts", "Argo Rollouts", _ARGO_ROLLOUTS),
    Preset("argo-workflows", "Argo Workflows", _ARGO_WORKFLOWS),
    Preset("dynamo", "NVIDIA Dynamo", _DYNAMO),
    Preset("jobset", "JobSet", _JOBSET),
    Preset("knative", "Knative Serving", _KNATIVE),
    Preset("kserve", "KServe", _KSERVE),
    Preset("kuberay", "KubeRay", _KUBERAY),
    Preset("leaderworkerset", "LeaderWorkerSet", _LEADERWORKERSET),
    Preset("nim", "NVIDIA NIM Operator", _NIM),
    Preset("notebooks", "Kubeflow Notebooks", _NOTEBOOKS),
    Preset("spark", "Kubeflow Spark Operator", _SPARK),
    Preset("tekton", "Tekton Pipelines", _TEKTON),
    Preset("trainer", "Kubeflow Trainer", _TRAINER),
    Preset("training-operator", "Kubeflow Training Operator", _TRAINING_OPERATOR),
    Preset("volcano", "Volcano", _VOLCANO),
)


def kinds_with(workloads: Workloads) -> Kinds:
    """The built-in kinds, the kinds of the presets that the settings name, and the kinds that the settings add."""
    names = workloads.presets
    chosen = (kind for preset in PRESETS if "all" in names or preset.name in names for kind in preset.kinds)
    return with_paths({**BUILT_IN, **by_name(chosen)}, workloads.paths)
