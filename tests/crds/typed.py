"""The kinds whose definitions no module has: their paths are typed from the source, whose commit is named here."""

from __future__ import annotations

from collections.abc import Mapping

_DYNAMO = "ai-dynamo/dynamo@006b6e1 deploy/operator/api/v1beta1, and @0d531a9 deploy/operator/api/v1alpha1"
_GROVE = "ai-dynamo/grove@fcc3b3b operator/api/core/v1alpha1/crds"
_HYPERPOD = "aws/sagemaker-hyperpod-cli@011ca92 src/sagemaker/hyperpod/training/config"
_KAITO = "kaito-project/kaito@056b828 api/v1beta1"
_LLMAZ = "InftyAI/llmaz@3c13ff3 config/crd/bases"
_NIM = "NVIDIA/k8s-nim-operator@f63f74d config/crd/bases"

TYPED: Mapping[tuple[str, str], str] = {
    ("apps.nvidia.com", "NIMBuild"): _NIM,
    ("apps.nvidia.com", "NIMPipeline"): _NIM,
    ("apps.nvidia.com", "NIMService"): _NIM,
    ("grove.io", "PodCliqueSet"): _GROVE,
    ("inference.llmaz.io", "BackendRuntime"): _LLMAZ,
    ("inference.llmaz.io", "Playground"): _LLMAZ,
    ("inference.llmaz.io", "Service"): _LLMAZ,
    ("kaito.sh", "InferenceSet"): _KAITO,
    ("kaito.sh", "Workspace"): _KAITO,
    ("llmaz.io", "OpenModel"): _LLMAZ,
    ("nvidia.com", "DynamoComponentDeployment"): _DYNAMO,
    ("nvidia.com", "DynamoGraphDeployment"): _DYNAMO,
    ("sagemaker.amazonaws.com", "HyperPodPyTorchJob"): _HYPERPOD,
}
"""The source of each kind, by group and kind. None of them is taken from a Go module with a checked digest."""
