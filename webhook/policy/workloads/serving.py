"""Model servers: Knative Serving and KServe."""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import CONTAINERS, EVERY, Assembly, Containers, PodPath, at, stated, unknown

_KNATIVE_GROUP, _KNATIVE_TEMPLATE = "serving.knative.dev", (PodPath(("spec", "template")),)

KNATIVE = (
    Kind(_KNATIVE_GROUP, "Service", _KNATIVE_TEMPLATE, suspended=(), labels=None),
    Kind(_KNATIVE_GROUP, "Configuration", _KNATIVE_TEMPLATE, suspended=(), labels=None),
)
"""Knative Serving (knative/serving, `pkg/apis/serving/v1`).

A Revision is made from one of these, and is left to the check of its pods. The labels of a Service do not reach them.
"""


_GROUP = "serving.kserve.io"
_PREDICTORS = tuple("model huggingface lightgbm onnx paddle pmml pytorch sklearn tensorflow triton xgboost".split())


def _component(*steps: str, containers: tuple[str, ...], group: str = "", apart: tuple[str, ...] = ()) -> PodPath:
    """A PodSpec beside the containers of model servers, which become one pod (`Predictor.buildPodSpec`)."""
    parts = (*CONTAINERS, *(Containers((name,)) for name in containers))
    return PodPath(steps, Assembly(parts, (steps,)), group=group, apart=apart)


def _predictor(*steps: str, group: str, apart: tuple[str, ...] = ()) -> tuple[PodPath, ...]:
    """A predictor, and its workers on other nodes, whose number also depends on the runtime (`multiNodeProcess`)."""
    return (
        _component(*steps, containers=_PREDICTORS, group=group, apart=apart),
        PodPath((*steps, "workerSpec"), "podSpec", group=group, apart=apart, count=unknown),
    )


_CANARY = ("spec", "canary", EVERY)
_RUNTIME = (
    PodPath(("spec",), "podSpec", group="predictor"),
    PodPath(("spec", "workerSpec"), "podSpec", group="predictor", count=unknown),
)


def _workers_of_llm(manifest: Members, path: Path) -> int | None:
    """The workers of an LLM: `parallelism.data` by `dataLocal`, or `parallelism.pipeline`, without the leader.

    Source: kserve/kserve, `ParallelismSpec.GetSize`. Without a template of a leader, a base config may have it.
    """
    parallelism, leader = at(manifest, (*path[:-1], "parallelism")), at(manifest, (*path[:-1], "template"))
    if leader is None or not isinstance(parallelism, dict):
        return None
    data, local = stated(parallelism.get("data")), stated(parallelism.get("dataLocal"))
    if data and local:
        return max(data // local, 1) - 1
    pipeline = stated(parallelism.get("pipeline"))
    return pipeline - 1 if pipeline and "data" not in parallelism and "dataLocal" not in parallelism else None


def _workload(*steps: str, group: str) -> tuple[PodPath, ...]:
    return (
        PodPath((*steps, "template"), "podSpec", group=group),
        PodPath((*steps, "worker"), "podSpec", group=group, count=_workers_of_llm),
    )


_LLM = (*_workload("spec", group="decode"), *_workload("spec", "prefill", group="prefill"))

_INFERENCE_SERVICE = (
    *_predictor("spec", "predictor", group="predictor"),
    PodPath(("spec", "transformer"), "podSpec"),
    _component("spec", "explainer", containers=("art",)),
    *_predictor(*_CANARY, "predictor", group="canary", apart=_CANARY),
)

KSERVE = (
    Kind(_GROUP, "InferenceService", _INFERENCE_SERVICE, ("v1beta1",), suspended=()),
    Kind(_GROUP, "ServingRuntime", _RUNTIME, ("v1alpha1",), suspended=(), labels=None),
    Kind(_GROUP, "ClusterServingRuntime", _RUNTIME, ("v1alpha1",), namespaced=False, suspended=(), labels=None),
    Kind(_GROUP, "LLMInferenceService", _LLM, ("v1alpha2", "v1alpha1"), suspended=()),
    Kind(_GROUP, "LLMInferenceServiceConfig", _LLM, ("v1alpha2", "v1alpha1"), suspended=(), labels=None),
)
"""KServe: inference services and their runtimes (kserve/kserve, `pkg/apis/serving`)."""
