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


_STORM = PodPath("spec.template.spec.roles[*].template", group="role", apart=True, count=counted("podGroupSize"))

_AIBRIX = (
    _Unqueued("orchestration.aibrix.ai", "StormService", (_STORM,), _V1ALPHA1),
    _Unqueued("orchestration.aibrix.ai", "RayClusterFleet", operators.ray_cluster("spec.template.spec"), _V1ALPHA1),
)
"""AIBrix: services of roles, and fleets of Ray clusters (vllm-project/aibrix, `api/orchestration/v1alpha1`).

The controllers of both make objects of other kinds, whose pods are checked when they are created. Without
`podGroupSize`, a role may spread a model over replicas.
"""


_METRIC = (PodPath("spec.metrics[*].provider.job.spec.template", renders=True),)

_ARGO_ROLLOUTS = (
    _Unqueued("argoproj.io", "Rollout", (PodPath("spec.template"),), _V1ALPHA1),
    _Unqueued("argoproj.io", "Experiment", (PodPath("spec.templates[*].template"),), _V1ALPHA1),
    _Unqueued("argoproj.io", "AnalysisTemplate", _METRIC, _V1ALPHA1),
    _Unqueued("argoproj.io", "ClusterAnalysisTemplate", _METRIC, _V1ALPHA1, namespaced=False),
)
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


_NODES_OF_DYNAMO = counted("multinode.nodeCount", 2, alone=True)
_COMPONENTS = PodPath("spec.components[*].podTemplate", group="component", apart=True, count=_NODES_OF_DYNAMO)
_SERVICES = PodPath(
    "spec.services.*",
    operators.DYNAMO_SERVICE,
    group="service",
    apart=True,
    count=counted("multinode.nodeCount", 2, up=0, alone=True),
)
_COMPONENT = replace(_COMPONENTS, path="spec.podTemplate")

_DYNAMO = (
    Kind("nvidia.com", "DynamoGraphDeployment", (_COMPONENTS, _SERVICES), ("v1beta1", "v1alpha1"), suspended=()),
    _Unqueued("nvidia.com", "DynamoComponentDeployment", (_COMPONENT,), ("v1beta1",)),
)
"""NVIDIA Dynamo (ai-dynamo/dynamo at 006b6e1, `deploy/operator/api/v1beta1`).

An operator makes the DynamoComponentDeployments of v1alpha1 from a graph, whose services are checked; their own form is
not read.
"""


_CLIQUES = PodPath("spec.template.cliques[*].spec.podSpec", "podSpec", group="set", count=unknown)

_GROVE = (Kind("grove.io", "PodCliqueSet", (_CLIQUES,), _V1ALPHA1, suspended=()),)
"""Grove (ai-dynamo/grove at fcc3b3b, `operator/api/core/v1alpha1`).

`podCliqueScalingGroups` says which cliques work together, and its replicas multiply theirs: the count is left unknown.
"""


_SPECS = PodPath(
    "spec.replicaSpecs[*].template",
    group="job",
    count=counted("replicas", 0, unless="spec.elasticPolicy"),
    ranks=True,
)

_HYPERPOD = (Kind("sagemaker.amazonaws.com", "HyperPodPyTorchJob", (_SPECS,), suspended=_RUN_POLICY),)
"""SageMaker HyperPod's training operator, whose jobs are like those of Kubeflow.

Typed from the project's client, since no source of the operator is public: aws/sagemaker-hyperpod-cli at 011ca92,
`src/sagemaker/hyperpod/training/config/hyperpod_pytorch_job_unified_config.py`.
"""


_JOBS = PodPath("spec.replicatedJobs[*].template.spec.template", group="jobs", count=operators.of_replicated_job)

_JOBSET = (Kind("jobset.x-k8s.io", "JobSet", (_JOBS,), ("v1alpha2",), suspended=_SUSPEND),)
"""JobSet (kubernetes-sigs/jobset, `api/jobset/v1alpha2`)."""


_INFERENCE = PodPath("inference.template", count=unknown)
_WORKSPACE = Kind("kaito.sh", "Workspace", (_INFERENCE,), ("v1beta1", "v1alpha1"), suspended=(), has_open_nodes=always)

_KAITO = (
    _WORKSPACE,
    replace(_WORKSPACE, kind="InferenceSet", paths=(replace(_INFERENCE, path="spec.template.inference.template"),)),
)
"""KAITO (kaito-project/kaito at 056b828, `api/v1beta1`).

The definitions leave the template open. Its nodes are those of the instance type, or of a selector. Without a template,
KAITO asks for the GPUs that these nodes have.
"""


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
    # The `suspend` of a RayCronJob itself only stops its schedule, and its jobs do not get its labels.
    replace(
        _RAY,
        kind="RayCronJob",
        paths=operators.ray_job("spec.jobTemplate"),
        versions=("v1",),
        suspended=("spec.jobTemplate.suspend",),
        labels=None,
    ),
)
"""KubeRay (ray-project/kuberay, `ray-operator/apis/ray/v1`). RayCronJob exists since v1.6."""


_ROLES = operators.leader_and_workers("spec.roles[*].spec.leaderWorkerTemplate", apart=True)

_LEADERWORKERSET = (
    Kind(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        operators.leader_and_workers("spec.leaderWorkerTemplate"),
        suspended=(),
    ),
    _Unqueued("disaggregatedset.x-k8s.io", "DisaggregatedSet", _ROLES),
)
"""LeaderWorkerSet and DisaggregatedSet (kubernetes-sigs/lws, `api`). Kueue gates the pods of the first one
(kubernetes-sigs/kueue v0.19).
"""


_SHARED = partial(_Unqueued, versions=_V1ALPHA1, namespaced=False, is_used_elsewhere=always)
_SERVER = partial(Kind, versions=_V1ALPHA1, suspended=(), has_open_nodes=always)
_FLAVORS = PodPath(
    "spec.inferenceConfig.flavors[*]", Assembly((Containers("", "resources", name="model-runner"),)), count=unknown
)
_RECOMMENDED = replace(_FLAVORS, path="spec.recommendedConfigs[*].resources")
_PLAYGROUND = replace(_FLAVORS, path="spec.backendRuntimeConfig.resources")

_LLMAZ = (
    _SHARED("llmaz.io", "OpenModel", (_FLAVORS,)),
    _SERVER("inference.llmaz.io", "Playground", (_PLAYGROUND,)),
    _SHARED("inference.llmaz.io", "BackendRuntime", (_RECOMMENDED,)),
    _SERVER("inference.llmaz.io", "Service", operators.leader_and_workers("spec.workloadTemplate")),
)
"""llmaz (InftyAI/llmaz at 3c13ff3, `config/crd/bases`).

The limits of a flavor of a model, and those of a playground, become the limits of a model server's container. The
flavor also selects its nodes.
"""


_NIM = (
    Kind("apps.nvidia.com", "NIMService", operators.nim_service("spec"), _V1ALPHA1, suspended=()),
    _Unqueued(
        "apps.nvidia.com",
        "NIMPipeline",
        operators.nim_service("spec.services[*].spec", is_unused=operators.is_not_enabled),
        _V1ALPHA1,
    ),
    _Unqueued("apps.nvidia.com", "NIMBuild", operators.nim_service("spec"), _V1ALPHA1),
)
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
_CONNECT = (
    PodPath("spec.server.template"),
    PodPath("spec.executor.template", count=operators.spark_executors("spec")),
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
    replace(_APPLICATION, kind="SparkConnect", paths=_CONNECT, versions=_V1ALPHA1, suspended=()),
)
"""Spark Operator (kubeflow/spark-operator, `api/v1beta2` and `api/v1alpha1`)."""


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
    # Deprecated since v0.41, gone from current releases.
    replace(_TASK, kind="ClusterTask", versions=("v1beta1",), namespaced=False),
    replace(
        _TASK,
        kind="TaskRun",
        paths=(
            operators.tekton_task("spec.taskSpec", "spec.podTemplate"),
            operators.tekton_run("spec", "spec.podTemplate"),
        ),
        is_used_elsewhere=never,
    ),
    replace(_TASK, kind="Pipeline", paths=operators.tekton_tasks("spec")),
    # Pod templates of single tasks, by name, replace fields of the one for all tasks.
    replace(
        _TASK,
        kind="PipelineRun",
        paths=(
            *operators.tekton_tasks("spec.pipelineSpec", *_POD_TEMPLATES),
            operators.tekton_run("spec.taskRunSpecs[*]", *_POD_TEMPLATES, *_OF_TASK),
        ),
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
_JOBS_OF_RUNTIME = (
    PodPath(
        "spec.template.spec.replicatedJobs[*].template.spec.template", group="job", count=operators.nodes_of_runtime
    ),
)

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
_TASKS_OF_CRON_JOB = replace(_TASKS, path="spec.jobTemplate.spec.tasks[*].template")
_TASKS_OF_FLOW = replace(_TASKS, path="spec.flows[*].patch.jobSpec.tasks[*].template", apart=True, count=unknown)

_VOLCANO = (
    _Unqueued("batch.volcano.sh", "Job", (_TASKS,), _V1ALPHA1),
    _Unqueued("batch.volcano.sh", "CronJob", (_TASKS_OF_CRON_JOB,), _V1ALPHA1),
    _Unqueued("flow.volcano.sh", "JobTemplate", (_TASKS,), _V1ALPHA1),
    _Unqueued("flow.volcano.sh", "JobFlow", (_TASKS_OF_FLOW,), _V1ALPHA1),
)
"""Volcano: its own Job and CronJob, and flows of such jobs (volcano-sh/apis, `pkg/apis/{batch,flow}/v1alpha1`).

`minAvailable` only says how many pods start together (v1.15). Each flow patches a JobTemplate, which has the counts.
Volcano suspends a job by a command, not by a field, and Kueue does not queue these kinds.
"""


class Preset(NamedTuple):
    """The kinds of one project. `title` is the project's name."""

    name: PresetName
    title: str
    kinds: tuple[Kind, ...]


PRESETS: tuple[Preset, ...] = (
    Preset("aibrix", "AIBrix", _AIBRIX),
    Preset("argo-rollouts", "Argo Rollouts", _ARGO_ROLLOUTS),
    Preset("argo-workflows", "Argo Workflows", _ARGO_WORKFLOWS),
    Preset("dynamo", "NVIDIA Dynamo", _DYNAMO),
    Preset("grove", "Grove", _GROVE),
    Preset("hyperpod", "SageMaker HyperPod", _HYPERPOD),
    Preset("jobset", "JobSet", _JOBSET),
    Preset("kaito", "KAITO", _KAITO),
    Preset("knative", "Knative Serving", _KNATIVE),
    Preset("kserve", "KServe", _KSERVE),
    Preset("kuberay", "KubeRay", _KUBERAY),
    Preset("leaderworkerset", "LeaderWorkerSet", _LEADERWORKERSET),
    Preset("llmaz", "llmaz", _LLMAZ),
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
