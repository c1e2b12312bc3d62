"""Taints of a passing state: the node is not ready, cordoned, starting, or about to be removed.

They prove nothing against a node: it, or one like it, takes pods again without a change to the pod.
"""

from __future__ import annotations

_PREFIXES = (
    "node.kubernetes.io/",  # conditions, and cordoned nodes (k8s.io/api core/v1 well_known_taints.go)
    "node.cloudprovider.kubernetes.io/",  # uninitialized and shutdown (k8s.io/cloud-provider api)
    "ToBeDeletedByClusterAutoscaler",  # kubernetes/autoscaler cluster-autoscaler/utils/taints
    "DeletionCandidateOfClusterAutoscaler",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/",  # disrupted, unregistered, rebooting (kubernetes-sigs/karpenter pkg/apis/v1/taints.go)
)


def is_passing(key: str) -> bool:
    """Whether taints with this key show a passing state."""
    return key.startswith(_PREFIXES)
