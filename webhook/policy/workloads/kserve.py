"""KServe: inference services and their runtimes (kserve/kserve, `pkg/apis/serving`)."""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind, always
from webhook.policy.workloads.paths import CONTAINERS, EVERY, Assembly, Part, PodPath, Steps, at, one, unstated

_GROUP = "serving.kserve.io"
_PREDICTORS = (
    *("model", "huggingface", "lightgbm", "onnx", "paddle", "pmml", "pytorch", "sklearn"),
    *("tensorflow", "triton", "xgboost"),
)
_EXPLAINERS = ("art",)


def _component(*steps: str, containers: tuple[str, ...], group: str = "") -> PodPath:
    """A PodSpec beside the containers of model servers, which become one pod (`Predictor.buildPodSpec`)."""
    around: tuple[Steps, ...] = (steps,)
    return PodPath(steps, Assembly((*CONTAINERS, *(Part((name,)) for name in containers)), around), group)


def _workers(*steps: str, group: str = "") -> PodPath:
    """A PodSpec of workers. Their number depends on the runtime too: the way it starts them, and what they ask for."""
    return PodPath(steps, "podSpec", group, unstated)


_RUNTIME = (
    PodPath(("spec",), "podSpec", "predictor"),
    _workers("spec", "workerSpec", group="predictor"),
)


def _size(manifest: Members, workload: Path) -> int | None:
    """The pods of a LeaderWorkerSet, as `ParallelismSpec.GetSize`; None if the object does not say."""
    parallelism = at(manifest, (*workload, "parallelism"))
    if not isinstance(parallelism, dict):
        return None
    data, local, pipeline = (_positive(parallelism, field) for field in ("data", "dataLocal", "pipeline"))
    if data is not None and local is not None:
        return max(data // local, 1)
    return pipeline if data is None and local is None else None


def _positive(parallelism: Members, field: str) -> int | None:
    value = parallelism.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _workers_of_llm(manifest: Members, path: Path) -> int | None:
    """All pods but the leader, which has a template of its own; a base config may add that one."""
    workload = path[:-1]
    size = _size(manifest, workload)
    return None if size is None or at(manifest, (*workload, "template")) is None else size - 1


def _workload(*steps: str, group: str) -> tuple[PodPath, ...]:
    """The leader and the workers of a workload of an LLM."""
    return (
        PodPath((*steps, "template"), "podSpec", group, one),
        PodPath((*steps, "worker"), "podSpec", group, _workers_of_llm),
    )


_LLM = (
    *_workload("spec", group="decode"),
    *_workload("spec", "prefill", group="prefill"),
)

KINDS = (
    Kind(
        _GROUP,
        "InferenceService",
        (
            _component("spec", "predictor", containers=_PREDICTORS, group="predictor"),
            _workers("spec", "predictor", "workerSpec", group="predictor"),
            _component("spec", "transformer", containers=()),
            _component("spec", "explainer", containers=_EXPLAINERS),
            _component("spec", "canary", EVERY, "predictor", containers=_PREDICTORS),
            _workers("spec", "canary", EVERY, "predictor", "workerSpec"),
        ),
        "inferenceservices",
        ("v1beta1",),
        suspended=(),
    ),
    Kind(
        _GROUP,
        "ServingRuntime",
        _RUNTIME,
        "servingruntimes",
        ("v1alpha1",),
        suspended=(),
        is_used_elsewhere=always,
    ),
    Kind(
        _GROUP,
        "ClusterServingRuntime",
        _RUNTIME,
        "clusterservingruntimes",
        ("v1alpha1",),
        namespaced=False,
        suspended=(),
        is_used_elsewhere=always,
    ),
    Kind(
        _GROUP,
        "LLMInferenceService",
        _LLM,
        "llminferenceservices",
        ("v1alpha2", "v1alpha1"),
        suspended=(),
    ),
    Kind(
        _GROUP,
        "LLMInferenceServiceConfig",
        _LLM,
        "llminferenceserviceconfigs",
        ("v1alpha2", "v1alpha1"),
        suspended=(),
        is_used_elsewhere=always,
    ),
)
"""The kinds of the preset."""
