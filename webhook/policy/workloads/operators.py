"""Facts of single projects: counts, conditions and assemblies of the presets, and kinds whose operator assigns GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import (
    CONTAINERS,
    INIT_CONTAINERS,
    MOST,
    Assembly,
    Condition,
    Containers,
    PodCount,
    PodPath,
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


def of_replicated_job(manifest: Members, path: Path) -> int | None:
    """The pods of a replicated job: those of one Job, times `replicas`, 1 by default. Source: JobSet v0.12."""
    return product(number(at(manifest, path[:-3]), "replicas", 1), of_job(manifest, path))


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


def leader_and_workers(path: str) -> tuple[PodPath, ...]:
    """The paths of a LeaderWorkerTemplate."""
    return (
        PodPath(f"{path}.leaderTemplate", group="group"),
        PodPath(f"{path}.workerTemplate", group="group", count=_workers_of_leader),
    )


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
    if least is None or most is None or replicas is None:
        return None
    if at(cluster, ("enableInTreeAutoscaling",)) is True and least != most:
        return None
    return product(min(max(replicas, least), most), number(group, "numOfHosts", 1))


def _hides_shared_memory(manifest: Members, path: Path) -> bool:
    """Whether KubeRay mounts a volume in memory at `/dev/shm`, unless the container mounts one there itself.

    It does so for heads and workers without `plasma-directory` among their `rayStartParams`; up to v1.5 for all
    (`ray-operator/controllers/ray/common/pod.go`; ray-project/kuberay#4524).
    """
    return at(manifest, (*path[:-1], "rayStartParams", "plasma-directory")) is None


def ray_cluster(path: str) -> tuple[PodPath, ...]:
    """The paths of a RayClusterSpec."""
    return tuple(
        PodPath(f"{path}.{group}.template", group="cluster", count=count, hides_shared_memory=_hides_shared_memory)
        for group, count in (("headGroupSpec", one), ("workerGroupSpecs[*]", _workers_of_ray))
    )


def ray_job(path: str) -> tuple[PodPath, ...]:
    """The paths of a RayJobSpec. The pod that submits the job is not part of the cluster."""
    return (*ray_cluster(f"{path}.rayClusterSpec"), PodPath(f"{path}.submitterPodTemplate"))


def replicas_of_mpi(manifest: Members, path: Path) -> int | None:
    """The pods of a role: `replicas`, by default 1 for the launcher and 0 for the workers."""
    return number(at(manifest, path[:-1]), "replicas", 0 if path[-2] == "Worker" else 1)


def spark_roles(spec: str) -> Iterator[PodPath]:
    """The paths of the driver and the executors, whose fields replace those of the template and of the application.

    The pod of a role gets the role's GPU, its init containers and its sidecars, and what the role's `template` says.
    The template is checked on its own: the operator adds the GPU to a container of it, or replaces the amount there.
    """
    parts = (INIT_CONTAINERS, Containers("", "spark"), Containers("sidecars[*]"))
    for path, of_role, of_template in (
        (f"{spec}.driver", one, one),
        (f"{spec}.executor", spark_executors(spec, up=0), spark_executors(spec)),
    ):
        yield PodPath(path, Assembly(parts, (spec, f"{path}.template.spec", path)), count=of_role)
        yield PodPath(f"{path}.template", count=of_template)


def spark_executors(spec: str, up: int = 1) -> PodCount:
    """The executors: `instances`, 1 by default (`api/v1beta2/defaults.go`), unless Spark allocates them dynamically."""
    return counted("instances", 1, up=up, unless=f"{spec}.dynamicAllocation.enabled")


def has_spark_selectors(spec: str) -> Condition:
    """Whether fields that are not read with a pod choose its nodes: options of Spark, or those beside a template.

    Spark adds node selectors to those of a template (apache/spark, `BasicExecutorFeatureStep.scala`).
    """

    def condition(manifest: Members, _path: Path) -> bool:
        application = at(manifest, steps(spec))
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


_PREDICTORS = "model huggingface lightgbm onnx paddle pmml pytorch sklearn tensorflow triton xgboost"


def kserve_component(path: str, *servers: str, group: str = "", apart: bool = False) -> PodPath:
    """A PodSpec beside the containers of model servers, which become one pod (`Predictor.buildPodSpec`)."""
    parts = (*CONTAINERS, *map(Containers, servers))
    return PodPath(path, Assembly(parts, (path,)), group=group, apart=apart)


def kserve_predictor(path: str, group: str, *, apart: bool = False) -> tuple[PodPath, ...]:
    """A predictor, and its workers on other nodes, whose number also depends on the runtime (`multiNodeProcess`)."""
    return (
        kserve_component(path, *_PREDICTORS.split(), group=group, apart=apart),
        PodPath(f"{path}.workerSpec", "podSpec", group=group, apart=apart, count=unknown),
    )


def kserve_llm(path: str, group: str) -> tuple[PodPath, ...]:
    """The leader and the workers of an LLM, whose number also depends on a base config (`ParallelismSpec.GetSize`)."""
    return (
        PodPath(f"{path}.template", "podSpec", group=group),
        PodPath(f"{path}.worker", "podSpec", group=group, count=unknown),
    )


_MAIN = "main"
"""The name of the container of a template, whatever the template says (`workflow/common`, MainContainerName)."""

_OF_WORKFLOW = (
    INIT_CONTAINERS,
    Containers("container", name=_MAIN),
    Containers("script", name=_MAIN),
    Containers("containerSet.containers[*]"),
    Containers("sidecars[*]"),
)


def argo_workflow(path: str) -> tuple[PodPath, ...]:
    """The paths of a WorkflowSpec: each template runs as a pod.

    Its fields replace those of the workflow and of the defaults; the fields of an inline template also replace those of
    the template around it (`addSchedulingConstraints`).
    """
    defaults, templates = f"{path}.templateDefaults", f"{path}.templates[*]"
    inline = (templates, f"{templates}.dag.tasks[*].inline"), (templates, f"{templates}.steps[*][*].inline")
    holders = [(path, defaults, *inner) for inner in ((templates,), *inline, ())]
    return tuple(PodPath(around[-1], Assembly(_OF_WORKFLOW, around), renders=True) for around in holders)


def may_patch(path: str) -> Condition:
    """Whether a `podSpecPatch` of a WorkflowSpec or of a template may choose nodes, or replace amounts."""
    return sets(*(f"{path}{holder}.podSpecPatch" for holder in ("", ".templateDefaults", ".templates[*]")))


_STEPS = (Containers("steps[*]", "step"), Containers("sidecars[*]", "step"))


def tekton_task(path: str, *around: str) -> PodPath:
    """A task, whose steps become the containers of one pod. A task has no fields to choose nodes: its runs have them.

    The steps run one after another, but the pod holds the resources of all of them (`docs/compute-resources.md`).
    """
    return PodPath(path, Assembly(_STEPS, around), renders=True)


def tekton_tasks(path: str, *around: str) -> tuple[PodPath, ...]:
    """The tasks of a pipeline."""
    return tuple(tekton_task(f"{path}.{field}[*].taskSpec", *around) for field in ("tasks", "finally"))


def nim_service(path: str) -> tuple[PodPath, ...]:
    """The container whose fields stand in the spec, beside those of its pod. The operator names it after the object."""
    nodes = counted("multiNode.parallelism.pipeline", 1, up=0, alone=True)
    service = Assembly((Containers("", name="nim"),), (path,))
    return (PodPath(path, service, group="service", count=nodes),)


_KAITO = "KAITO asks for the GPUs of the instance type or of the nodes"
_NIM = "the NIM operator asks for the GPUs of the model's profile"

_ASSIGNED: Mapping[tuple[str, str], str] = {
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
"""Kinds whose templates do not tell which GPUs their pods get, because an operator decides that."""


def who_assigns_gpus(group: str, kind: str) -> str | None:
    """What is known about the GPUs of an object that names none; None if nothing is."""
    return _ASSIGNED.get((group, kind))


_MERGED = frozenset(
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
"""Kinds whose controller merges their templates with other fields or another object, which may ask for GPUs."""


def may_get_gpus(group: str, kind: str) -> bool:
    """Whether the pods of an object may get GPUs for which its templates do not ask."""
    return (group, kind) in _ASSIGNED or (group, kind) in _MERGED
