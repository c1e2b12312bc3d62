"""Taints that show a passing state of a node: not ready, cordoned, starting, about to be removed or under maintenance.

Kubernetes, cloud providers and autoscalers set and remove them. No pod should tolerate them for its GPU, and they are
no evidence that a pod can never run on the node.
"""

from __future__ import annotations

_PREFIXES = (
    "node.kubernetes.io/",  # https://kubernetes.io/docs/reference/labels-annotations-taints/
    "node.cloudprovider.kubernetes.io/",
    "node.cluster.x-k8s.io/",  # kubernetes-sigs/cluster-api api/core/v1beta2
    "cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",  # kubernetes/autoscaler utils/taints/taints.go
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/",  # kubernetes-sigs/karpenter pkg/apis/v1/taints.go
    "karpenter.azure.com/",
    "karpenter.k8s.aws/",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "remediation.medik8s.io/",
    "medik8s.io/",
)
_KEYS = frozenset({"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"})
_MAINTENANCE = "maintenance"
_STARTING = "agent-not-ready"
"""Agents of nodes remove it once they run (kubernetes/kops#15464, kubernetes-sigs/aws-ebs-csi-driver#1949)."""


def is_lifecycle(key: str) -> bool:
    """Whether a taint's key shows a passing state of the node."""
    name = key.rpartition("/")[2]
    return key.startswith(_PREFIXES) or key in _KEYS or name == _STARTING or _MAINTENANCE in name.lower()
