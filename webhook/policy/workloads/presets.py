"""The table of presets: where the custom kinds of well-known projects keep their pods, and what their operators add."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from webhook.policy.pods.reading import Members
from webhook.policy.settings.settings import PresetName, Workloads
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import BUILT_IN, Kind, Kinds, by_name, with_paths
from webhook.policy.workloads.paths import (
    CONTAINERS,
    INIT_CONTAINERS,
    MOST,
    Assembly,
    Containers,
    PodPath,
    always,
    at,
    counted,
    number,
    of_job,
    one,
    product,
    sets,
    steps,
    unknown,
)

_Unqueued = partial(Kind, suspended=(), labels=None)
"""A kind that no field suspends and that Kueue does not queue."""

_V1ALPHA1 = ("v1alpha1",)
_SUSPEND = ("spec.suspend",)
_RUN_POLICY = ("spec.runPolicy.suspend",)


_MAIN = "main"
"""The name of the container of a template, whatever the template says (`workflow/common`, MainContainerName)."""

_OF_WORKFLOW = (
    INIT_CONTAINERS,
    Containers("container", name=_MAIN),
    Containers("script", name=_MAIN),
    Containers("containerSet.containers[*]"),
    Containers("sidecars[*]"),
)


def _workflow(kind: str, spec: str = "spec", *, namespaced: bool = True) -> Kind:
    """A kind with a WorkflowSpec: each template runs as a pod.

    Its fields replace those of the workflow and of the defaults; the fields of an inline template also replace those of
    the template around it (`addSchedulingConstraints`). A `podSpecPatch` may choose nodes, or replace amounts. The
    labels of an object do not reach its pods, so that Kueue does not see them.
    """
    defaults, templates = f"{spec}.templateDefaults", f"{spec}.templates[*]"
    inline = (templates, f"{templates}.dag.tasks[*].inline"), (templates, f"{templates}.steps[*][*].inline")
    holders = [(spec, defaults, *inner) for inner in ((templates,), *inline, ())]
    return Kind(
        "argoproj.io",
        kind,
        tuple(PodPath(around[-1], Assembly(_OF_WORKFLOW, around), renders=True) for around in holders),
        _V1ALPHA1,
        namespaced,
        suspended=(f"{spec}.suspend",),  # that of a CronWorkflow itself only stops its schedule
        labels=None,
        has_open_nodes=sets(*(f"{holder}.podSpecPatch" for holder in (spec, defaults, templates))),
    )


_COMPONENTS = PodPath(
    "spec.components[*].podTemplate",
    group="component",
    apart=True,
    count=counted("multinode.nodeCount", 2, alone=True),
)


def _of_replicated_job(manifest: Members, path: Path) -> int | None:
    """The pods of a replicated job: those of one Job, times `replicas`, 1 by default. Source: JobSet v0.12."""
    return product(number(at(manifest, path[:-3]), "replicas", 1), of_job(manifest, path))


_JOBS = PodPath("spec.replicatedJobs[*].template.spec.template", group="jobs", count=_of_replicated_job)

_REVISION = (PodPath("spec.template"),)


_PREDICTORS = "model huggingface lightgbm onnx paddle pmml pytorch sklearn tensorflow triton xgboost"


def _component(path: str, *servers: str, group: str = "", apart: bool = False) -> PodPath:
    """A PodSpec beside the containers of model servers, which become one pod (`Predictor.buildPodSpec`)."""
    parts = (*CONTAINERS, *map(Containers, servers))
    return PodPath(path, Assembly(parts, (path,)), group=group, apart=apart)


def _predictor(path: str, group: str, *, apart: bool = False) -> tuple[PodPath, ...]:
    """A predictor, and its workers on other nodes, whose number also depends on the runtime (`multiNodeProcess`)."""
    return (
        _component(path, *_PREDICTORS.split(), group=group, apart=apart),
        PodPath(f"{path}.workerSpec", "podSpec", group=group, apart=apart, count=unknown),
    )


_INFERENCE_SERVICE = (
    *_predictor("spec.predictor", "predictor"),
    PodPath("spec.transformer", "podSpec"),
    _component("spec.explainer", "art"),
    *_predictor("spec.canary[*].predictor", "canary", apart=True),
)
_RUNTIME = (
    PodPath("spec", "podSpec", group="predictor"),
    PodPath("spec.workerSpec", "podSpec", group="predictor", count=unknown),
)
# The number of workers of an LLM also depends on a base config (`ParallelismSpec.GetSize`).
_LLM = tuple(
    PodPath(f"{spec}.{role}", "podSpec", group=group, count=count)
    for spec, group in (("spec", "decode"), ("spec.prefill", "prefill"))
    for role, count in (("template", one), ("worker", unknown))
)
_LLM_VERSIONS = ("v1alpha2", "v1alpha1")


def _workers_of_ray(manifest: Members, path: Path) -> int | None:
    """The pods of a worker group: `replicas` within their bounds, times `numOfHosts`.

    An autoscaler changes `replicas`, so that with `enableInTreeAutoscaling` only equal bounds make the count known
    (v1.7, `ray-operator/controllers/ray/utils/util.go`; `numOfHosts` since v1.1).
    """
    cluster, group = at(manifest, path[:-3]), at(manifest, path[:-1])
    if at(group, ("suspend",)) is True:
        return 0
    least, most = number(group, "minReplicas", 0), number(group, "maxReplicas", MOST)
    replicas = number(group, "replicas", 0)
    is_scaled = at(cluster, ("enableInTreeAutoscaling",)) is True and least != most
    if least is None or most is None or replicas is None or is_scaled:
        return None
    return product(min(max(replicas, least), most), number(group, "numOfHosts", 1))


def _hides_shared_memory(manifest: Members, path: Path) -> bool:
    """Whether KubeRay mounts a volume in memory at `/dev/shm`, unless the container mounts one there itself.

    It does so for heads and workers without `plasma-directory` among their `rayStartParams`; up to v1.5 for all
    (`ray-operator/controllers/ray/common/pod.go`; ray-project/kuberay#4524).
    """
    return at(manifest, (*path[:-1], "rayStartParams", "plasma-directory")) is None


def _ray(kind: str, cluster: str, *others: PodPath, suspended: tuple[str, ...] = _SUSPEND) -> Kind:
    """A kind with a RayClusterSpec, and with paths to pods that are no part of the cluster."""
    roles = (("headGroupSpec", one), ("workerGroupSpecs[*]", _workers_of_ray))
    paths = (
        PodPath(f"{cluster}.{role}.template", group="cluster", count=count, hides_shared_memory=_hides_shared_memory)
        for role, count in roles
    )
    return Kind("ray.io", kind, (*paths, *others), ("v1", "v1alpha1"), suspended=suspended)


def _workers_of_leader(manifest: Members, path: Path) -> int | None:
    """The pods of a group that are made from the worker template: `size`, 1 by default, without the leader.

    Without a leader template, the leader is made from the worker template too (LeaderWorkerSet v0.10). Subgroups
    (`subGroupPolicy`) only place the pods, and `replicas` counts the groups.
    """
    template = at(manifest, path[:-1])
    size = number(template, "size", 1)
    if size is None or at(template, ("leaderTemplate",)) is None:
        return size
    return max(size - 1, 0)


_LEADER_AND_WORKERS = (
    PodPath("spec.leaderWorkerTemplate.leaderTemplate", group="group"),
    PodPath("spec.leaderWorkerTemplate.workerTemplate", group="group", count=_workers_of_leader),
)

_NIM_SERVICE = PodPath(
    "spec",
    Assembly((Containers("", name="nim"),), ("spec",)),  # the operator names the container after the object
    group="service",
    count=counted("multiNode.parallelism.pipeline", 1, up=0, alone=True),
)


def _spark(kind: str, spec: str) -> Kind:
    """A kind with a SparkApplicationSpec: the fields of driver and executors replace those of template and application.

    The pod of a role gets the role's GPU, its init containers and its sidecars, and what the role's `template` says.
    The template is checked on its own: the operator adds the GPU to a container of it, or replaces the amount there.
    The executors are `instances`, 1 by default (`api/v1beta2/defaults.go`), unless Spark allocates them dynamically.

    Fields that are not read with a pod may choose its nodes: options of Spark, or those beside a template. Spark adds
    node selectors to those of a template (apache/spark, `BasicExecutorFeatureStep.scala`).
    """

    def has_selectors(manifest: Members, _path: Path) -> bool:
        application = at(manifest, steps(spec))
        conf = at(application, ("sparkConf",))
        if isinstance(conf, dict) and any(_CHOOSES_NODES.match(key) for key in conf):
            return True
        return any(
            at(application, (role, "template"))
            and any(at(application, (*holder, field)) for holder in ((), (role,)) for field in _CHOOSING)
            for role in ("driver", "executor")
        )

    parts = (INIT_CONTAINERS, Containers("", "spark"), Containers("sidecars[*]"))
    executors = partial(counted, "instances", 1, unless=f"{spec}.dynamicAllocation.enabled")
    paths: list[PodPath] = []
    for path, of_role, of_template in (
        (f"{spec}.driver", one, one),
        (f"{spec}.executor", executors(up=0), executors()),
    ):
        holds = Assembly(parts, (spec, f"{path}.template.spec", path))
        paths += PodPath(path, holds, count=of_role), PodPath(f"{path}.template", count=of_template)
    return Kind(
        "sparkoperator.k8s.io",
        kind,
        tuple(paths),
        ("v1beta2",),
        suspended=(f"{spec}.suspend",),  # that of a ScheduledSparkApplication itself only stops its schedule
        has_open_nodes=has_selectors,
    )


_CHOOSING = ("nodeSelector", "affinity")
_CHOOSES_NODES = re.compile(r"spark\.kubernetes\.(?:(?:driver|executor)\.)?(?:node\.selector\.|podTemplateFile\Z)")
"""The options of Spark that choose nodes (apache/spark, `docs/running-on-kubernetes.md`)."""


_STEPS = (Containers("steps[*]", "step"), Containers("sidecars[*]", "step"))


def _tekton_task(path: str, *around: str) -> PodPath:
    """A task, whose steps become the containers of one pod. A task has no fields to choose nodes: its runs have them.

    The steps run one after another, but the pod holds the resources of all of them (`docs/compute-resources.md`).
    """
    return PodPath(path, Assembly(_STEPS, around), renders=True)


def _tekton_tasks(path: str, *around: str) -> tuple[PodPath, ...]:
    """The tasks of a pipeline."""
    return tuple(_tekton_task(f"{path}.{field}[*].taskSpec", *around) for field in ("tasks", "finally"))


_Tekton = partial(Kind, "tekton.dev", versions=("v1", "v1beta1"), suspended=())
_POD_TEMPLATES = ("spec.podTemplate", "spec.taskRunTemplate.podTemplate")  # v1beta1, v1
# Pod templates of single tasks, by name, replace fields of the one for all tasks.
_OF_TASK = ("spec.taskRunSpecs[*].taskPodTemplate", "spec.taskRunSpecs[*].podTemplate")


_TRAIN_JOB = PodPath(
    "spec.trainer",
    Assembly((Containers("", "trainer", name="node"),)),
    group="job",
    count=counted("numNodes", up=0),
)
_JOBS_OF_RUNTIME = (PodPath("spec.template.spec.replicatedJobs[*].template.spec.template", group="job", count=unknown),)


def _training_job(kind: str, specs: str, *, ranks: bool = True) -> Kind:
    """A job whose roles have replicas. With `elasticPolicy`, an autoscaler may change them."""
    replicas = counted("replicas", 1, unless="spec.elasticPolicy")
    roles = PodPath(f"spec.{specs}.*.template", group="job", count=replicas, ranks=ranks)
    return Kind("kubeflow.org", kind, (roles,), suspended=_RUN_POLICY)


def _replicas_of_mpi(manifest: Members, path: Path) -> int | None:
    """The pods of a role: `replicas`, by default 1 for the launcher and 0 for the workers."""
    return number(at(manifest, path[:-1]), "replicas", 0 if path[-2] == "Worker" else 1)


_MPI = PodPath("spec.mpiReplicaSpecs.*.template", group="job", count=_replicas_of_mpi)
_TASKS = PodPath("spec.tasks[*].template", group="job", count=counted("replicas", 0))


class Preset(NamedTuple):
    """The kinds of one project. `title` is the project's name."""

    name: PresetName
    title: str
    kinds: tuple[Kind, ...]


PRESETS: tuple[Preset, ...] = (
    # argoproj/argo-rollouts
    Preset("argo-rollouts", "Argo Rollouts", (_Unqueued("argoproj.io", "Rollout", _REVISION, _V1ALPHA1),)),
    # argoproj/argo-workflows. The manifest of a `resource` template is text, and not checked.
    Preset(
        "argo-workflows",
        "Argo Workflows",
        (
            _workflow("Workflow"),
            _workflow("WorkflowTemplate"),
            _workflow("ClusterWorkflowTemplate", namespaced=False),
            _workflow("CronWorkflow", "spec.workflowSpec"),
        ),
    ),
    # ai-dynamo/dynamo at 006b6e1, `deploy/operator/api/v1beta1`. The API server converts a graph of v1alpha1 for the
    # webhook; the form of its services is not read.
    Preset(
        "dynamo",
        "NVIDIA Dynamo",
        (Kind("nvidia.com", "DynamoGraphDeployment", (_COMPONENTS,), ("v1beta1",), suspended=()),),
    ),
    # kubernetes-sigs/jobset, `api/jobset/v1alpha2`
    Preset("jobset", "JobSet", (Kind("jobset.x-k8s.io", "JobSet", (_JOBS,), ("v1alpha2",), suspended=_SUSPEND),)),
    # knative/serving, `pkg/apis/serving/v1`. A Revision is made from one of these, and is left to the check of its
    # pods. The labels of a Service do not reach them.
    Preset(
        "knative",
        "Knative Serving",
        (
            _Unqueued("serving.knative.dev", "Service", _REVISION),
            _Unqueued("serving.knative.dev", "Configuration", _REVISION),
        ),
    ),
    # Inference services and their runtimes: kserve/kserve, `pkg/apis/serving`
    Preset(
        "kserve",
        "KServe",
        (
            Kind("serving.kserve.io", "InferenceService", _INFERENCE_SERVICE, ("v1beta1",), suspended=()),
            _Unqueued("serving.kserve.io", "ServingRuntime", _RUNTIME, _V1ALPHA1),
            _Unqueued("serving.kserve.io", "ClusterServingRuntime", _RUNTIME, _V1ALPHA1, namespaced=False),
            Kind("serving.kserve.io", "LLMInferenceService", _LLM, _LLM_VERSIONS, suspended=()),
            _Unqueued("serving.kserve.io", "LLMInferenceServiceConfig", _LLM, _LLM_VERSIONS),
        ),
    ),
    # ray-project/kuberay, `ray-operator/apis/ray/v1`. Kueue suspends the cluster of a RayService, which has no
    # `suspend` of its own in v1.7.
    Preset(
        "kuberay",
        "KubeRay",
        (
            _ray("RayCluster", "spec"),
            _ray("RayJob", "spec.rayClusterSpec", PodPath("spec.submitterPodTemplate")),
            _ray("RayService", "spec.rayClusterConfig", suspended=("spec.rayClusterConfig.suspend",)),
        ),
    ),
    # kubernetes-sigs/lws, `api`. Kueue gates the pods (kubernetes-sigs/kueue v0.19).
    Preset(
        "leaderworkerset",
        "LeaderWorkerSet",
        (Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", _LEADER_AND_WORKERS, suspended=()),),
    ),
    # NVIDIA/k8s-nim-operator at f63f74d, `config/crd/bases`. Without an amount in `resources`, the operator asks for
    # the GPUs of the model's profile. A NIMCache asks for none.
    Preset(
        "nim",
        "NVIDIA NIM Operator",
        (Kind("apps.nvidia.com", "NIMService", (_NIM_SERVICE,), _V1ALPHA1, suspended=()),),
    ),
    # kubeflow/notebooks, `components/notebook-controller/api/v1`
    Preset(
        "notebooks",
        "Kubeflow Notebooks",
        (
            Kind(
                "kubeflow.org",
                "Notebook",
                (PodPath("spec.template.spec", "podSpec"),),
                ("v1", "v1beta1", "v1alpha1"),
                suspended=(),
            ),
        ),
    ),
    # kubeflow/spark-operator, `api/v1beta2`
    Preset(
        "spark",
        "Kubeflow Spark Operator",
        (_spark("SparkApplication", "spec"), _spark("ScheduledSparkApplication", "spec.template")),
    ),
    # tektoncd/pipeline, `pkg/apis/pipeline/v1`
    Preset(
        "tekton",
        "Tekton Pipelines",
        (
            _Tekton("Task", (_tekton_task("spec"),), is_used_elsewhere=always),
            _Tekton("TaskRun", (_tekton_task("spec.taskSpec", "spec.podTemplate"),)),
            _Tekton("Pipeline", _tekton_tasks("spec"), is_used_elsewhere=always),
            _Tekton(
                "PipelineRun",
                _tekton_tasks("spec.pipelineSpec", *_POD_TEMPLATES),
                is_used_elsewhere=sets(*_OF_TASK),
            ),
        ),
    ),
    # TrainJob and its runtimes: kubeflow/trainer, `pkg/apis/trainer/v1alpha1`. Of a TrainJob only `spec.trainer` holds
    # resources, in every release up to v2.3: initializers and what overrides the runtime (`podSpecOverrides` in v2.0,
    # `podTemplateOverrides` in v2.1, `runtimePatches` from v2.2 on) set none. The nodes are those that the runtime
    # chooses, and what overrides the runtime may choose others. Without `numNodes`, the runtime decides on the number.
    Preset(
        "trainer",
        "Kubeflow Trainer",
        (
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
        ),
    ),
    # Training Operator v1 and MPI Operator: kubeflow/training-operator v1.9, `pkg/apis/kubeflow.org/v1`;
    # kubeflow/mpi-operator v0.8, `pkg/apis/kubeflow/v2beta1`.
    # The pods of four kinds are ranks that communicate through NCCL where they have GPUs: PyTorch's default backend for
    # CUDA is `nccl`, JAX has no other between GPUs (docs/multi_process.md), Paddle's launcher runs in the mode
    # `collective` by default, and XGBoost refuses two workers on one GPU (dmlc/xgboost src/collective/comm.cu at
    # 379b29f compares UUIDs). TFJob has parameter servers and strategies without NCCL, and MPI need not use GPUs.
    Preset(
        "training-operator",
        "Kubeflow Training Operator",
        (
            _training_job("PyTorchJob", "pytorchReplicaSpecs"),
            _training_job("TFJob", "tfReplicaSpecs", ranks=False),
            Kind("kubeflow.org", "MPIJob", (_MPI,), ("v2beta1", "v1"), suspended=_RUN_POLICY),
            _training_job("XGBoostJob", "xgbReplicaSpecs"),
            _training_job("PaddleJob", "paddleReplicaSpecs"),
            _training_job("JAXJob", "jaxReplicaSpecs"),
        ),
    ),
    # Volcano's own Job: volcano-sh/apis, `pkg/apis/batch/v1alpha1`. `minAvailable` only says how many pods start
    # together (v1.15). Volcano suspends a job by a command, not by a field, and Kueue does not queue the kind.
    Preset("volcano", "Volcano", (_Unqueued("batch.volcano.sh", "Job", (_TASKS,), _V1ALPHA1),)),
)


def kinds_with(workloads: Workloads) -> Kinds:
    """The built-in kinds, the kinds of the presets that the settings name, and the kinds that the settings add."""
    names = workloads.presets
    chosen = (kind for preset in PRESETS if "all" in names or preset.name in names for kind in preset.kinds)
    return with_paths({**BUILT_IN, **by_name(chosen)}, workloads.paths)


_KAITO = "KAITO asks for the GPUs of the instance type or of the nodes"
_NIM = "the NIM operator asks for the GPUs of the model's profile"

ASSIGNED: Mapping[tuple[str, str], str] = {
    # NVIDIA/k8s-nim-operator at f63f74d, internal/controller/platform/standalone/nimservice.go: addGPUResources.
    ("apps.nvidia.com", "NIMPipeline"): _NIM,
    ("apps.nvidia.com", "NIMService"): _NIM,
    # The same, internal/controller/nimcache_controller.go: its pods get `cpu` and `memory` from the object.
    ("apps.nvidia.com", "NIMCache"): "the job of the NIM operator asks for cpu and memory only",
    # kaito-project/kaito at 056b828, pkg/sku/helpers.go and pkg/ragengine/controllers/preset_rag.go.
    ("kaito.sh", "InferenceSet"): _KAITO,
    ("kaito.sh", "MultiRoleInference"): _KAITO,
    ("kaito.sh", "RAGEngine"): _KAITO,
    ("kaito.sh", "Workspace"): _KAITO,
    # substratusai/kubeai at 2f32ef4, docs/concepts/resource-profiles.md.
    ("kubeai.org", "Model"): "KubeAI asks for what the resource profile names",
}
"""What is known about the GPUs of kinds whose templates do not tell which their pods get: an operator decides."""

GETTING_GPUS = frozenset(ASSIGNED) | frozenset(
    {
        ("serving.kserve.io", "ClusterServingRuntime"),
        ("serving.kserve.io", "LLMInferenceService"),
        ("serving.kserve.io", "LLMInferenceServiceConfig"),
        ("serving.kserve.io", "ServingRuntime"),
        ("sparkoperator.k8s.io", "ScheduledSparkApplication"),
        ("sparkoperator.k8s.io", "SparkApplication"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
        ("trainer.kubeflow.org", "TrainingRuntime"),
    }
)
"""Kinds whose pods may get GPUs for which their templates do not ask.

An operator decides, or the controller merges the templates with other fields or another object, which may ask for GPUs.
"""
