"""The kinds whose definitions no module has: their paths are typed from the source, whose commit is named here."""

from __future__ import annotations

from collections.abc import Mapping

_DYNAMO = "ai-dynamo/dynamo@006b6e1 deploy/operator/api/v1beta1"
_NIM = "NVIDIA/k8s-nim-operator@f63f74d config/crd/bases"

TYPED: Mapping[tuple[str, str], str] = {
    ("apps.nvidia.com", "NIMService"): _NIM,
    ("nvidia.com", "DynamoGraphDeployment"): _DYNAMO,
}
"""The source of each kind, by group and kind. None of them is taken from a Go module with a checked digest."""
