"""KServe: inference services and their runtimes (kserve/kserve, `pkg/apis/serving`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import CONTAINERS, EVERY, Assembly, Part, PodPath

_GROUP = "serving.kserve.io"
_FRAMEWORKS = (
    *("model", "huggingface", "lightgbm", "onnx", "paddle", "pmml", "pytorch", "sklearn"),
    *("tensorflow", "triton", "xgboost"),
)


def _component(*steps: str, frameworks: tuple[str, ...], group: str = "") -> PodPath:
    """A PodSpec beside the container of a framework, which become one pod."""
    return PodPath(steps, Assembly((*CONTAINERS, *(Part((name,)) for name in frameworks)), (steps,)), group=group)


def _predictor(*steps: str, group: str) -> tuple[PodPath, ...]:
    """The pods of a predictor: its own, and those of the workers of a model on several nodes."""
    return (
        _component(*steps, frameworks=_FRAMEWORKS, group=group),
        _spec(*steps, "workerSpec", group=group),
    )


def _spec(*steps: str, group: str = "") -> PodPath:
    return PodPath(steps, "podSpec", group)


_RUNTIME = (_spec("spec", group="predictor"), _spec("spec", "workerSpec", group="predictor"))
_LLM = (
    _spec("spec", "template", group="decode"),
    _spec("spec", "worker", group="decode"),
    _spec("spec", "prefill", "template", group="prefill"),
    _spec("spec", "prefill", "worker", group="prefill"),
)

KINDS = (
    Kind(
        _GROUP,
        "InferenceService",
        (
            *_predictor("spec", "predictor", group="predictor"),
            *_predictor("spec", "canary", EVERY, "predictor", group="canary"),
            _spec("spec", "transformer"),
            _component("spec", "explainer", frameworks=("art",)),
        ),
        "inferenceservices",
        ("v1beta1",),
    ),
    Kind(_GROUP, "ServingRuntime", _RUNTIME, "servingruntimes", ("v1alpha1",)),
    Kind(_GROUP, "ClusterServingRuntime", _RUNTIME, "clusterservingruntimes", ("v1alpha1",), namespaced=False),
    Kind(_GROUP, "LLMInferenceService", _LLM, "llminferenceservices", ("v1alpha2", "v1alpha1")),
    Kind(_GROUP, "LLMInferenceServiceConfig", _LLM, "llminferenceserviceconfigs", ("v1alpha2", "v1alpha1")),
)
"""The kinds of the preset."""
