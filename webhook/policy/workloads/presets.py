"""The presets: where the custom kinds of well-known projects keep their pods."""

from __future__ import annotations

from typing import NamedTuple

from webhook.policy.settings.settings import PresetName, Workloads
from webhook.policy.workloads import argo, batch, dynamo, inference, kaito, kubeflow, kuberay, serving, tekton
from webhook.policy.workloads.kinds import BUILT_IN, Kind, Kinds, by_name, with_paths


class Preset(NamedTuple):
    """The kinds of one project. `title` is the project's name."""

    name: PresetName
    title: str
    kinds: tuple[Kind, ...]


PRESETS: tuple[Preset, ...] = (
    Preset("aibrix", "AIBrix", inference.AIBRIX),
    Preset("argo-rollouts", "Argo Rollouts", argo.ROLLOUTS),
    Preset("argo-workflows", "Argo Workflows", argo.WORKFLOWS),
    Preset("dynamo", "NVIDIA Dynamo", dynamo.DYNAMO),
    Preset("grove", "Grove", dynamo.GROVE),
    Preset("hyperpod", "SageMaker HyperPod", kubeflow.HYPERPOD),
    Preset("jobset", "JobSet", batch.JOBSET),
    Preset("kaito", "KAITO", kaito.KINDS),
    Preset("knative", "Knative Serving", serving.KNATIVE),
    Preset("kserve", "KServe", serving.KSERVE),
    Preset("kuberay", "KubeRay", kuberay.KINDS),
    Preset("leaderworkerset", "LeaderWorkerSet", batch.LEADERWORKERSET),
    Preset("llm-d", "llm-d", inference.LLM_D),
    Preset("llmaz", "llmaz", inference.LLMAZ),
    Preset("llmkube", "LLMKube", inference.LLMKUBE),
    Preset("nim", "NVIDIA NIM Operator", inference.NIM),
    Preset("notebooks", "Kubeflow Notebooks", kubeflow.NOTEBOOKS),
    Preset("ome", "OME", inference.OME),
    Preset("production-stack", "vLLM production stack", inference.PRODUCTION_STACK),
    Preset("spark", "Kubeflow Spark Operator", kubeflow.SPARK),
    Preset("tekton", "Tekton Pipelines", tekton.KINDS),
    Preset("trainer", "Kubeflow Trainer", kubeflow.TRAINER),
    Preset("training-operator", "Kubeflow Training Operator", kubeflow.TRAINING_OPERATOR),
    Preset("volcano", "Volcano", batch.VOLCANO),
)


def kinds_with(workloads: Workloads) -> Kinds:
    """The built-in kinds, the kinds of the presets that the settings name, and the kinds that the settings add."""
    names = workloads.presets
    chosen = (kind for preset in PRESETS if "all" in names or preset.name in names for kind in preset.kinds)
    return with_paths({**BUILT_IN, **by_name(chosen)}, workloads.paths)
