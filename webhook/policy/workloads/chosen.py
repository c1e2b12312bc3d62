"""Kinds whose templates do not tell which GPUs their pods get, because an operator decides that."""

from __future__ import annotations

from collections.abc import Mapping

_KAITO = "KAITO asks for the GPUs of the instance type or of the nodes"
_NIM = "the NIM operator asks for the GPUs of the model's profile"

_CHOSEN: Mapping[tuple[str, str], str] = {
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


def who_chooses(group: str, kind: str) -> str | None:
    """What is known about the GPUs of an object that names none; None if nothing is."""
    return _CHOSEN.get((group, kind))


_MERGED = frozenset(
    {
        ("serving.kserve.io", "ClusterServingRuntime"),
        ("serving.kserve.io", "LLMInferenceService"),
        ("serving.kserve.io", "LLMInferenceServiceConfig"),
        ("serving.kserve.io", "ServingRuntime"),
        ("sparkoperator.k8s.io", "ScheduledSparkApplication"),
        ("sparkoperator.k8s.io", "SparkApplication"),
        ("sparkoperator.k8s.io", "SparkConnect"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
        ("trainer.kubeflow.org", "TrainingRuntime"),
    }
)
"""Kinds whose controller merges their templates with other fields or another object, which may ask for GPUs."""


def may_get_gpus(group: str, kind: str) -> bool:
    """Whether the pods of an object may get GPUs for which its templates do not ask."""
    return (group, kind) in _CHOSEN or (group, kind) in _MERGED
