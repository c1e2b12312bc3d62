"""The marks by which pods, nodes, namespaces, settings and manifests show their platform, each with its source.

Any author can set a mark of a pod. So marks of pods count only on a command line that knows nothing of the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.policy.placement.node_classes import CAPABLE, CARD_COUNT, CONFIG_LABEL, DOMAIN
from webhook.policy.placement.selector import Constraint, Requirement
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.requests import FRACTIONS

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Taint

GKE_SHARING: Final = "cloud.google.com/gke-gpu-sharing-strategy"
"""The label of nodes that share GPUs (cloud.google.com/kubernetes-engine/docs/how-to/nvidia-mps-gpus)."""

_GKE_LABELS: Final = ("cloud.google.com/gke-", "cloud.google.com/compute-class")
"""What labels of GKE's nodes begin with (…/docs/concepts/about-custom-compute-classes)."""

_GKE_ANNOTATIONS: Final = (
    "networking.gke.io/",  # …/docs/how-to/setup-multinetwork-support-for-pods
    "gke-gcsfuse/",  # GoogleCloudPlatform/gcs-fuse-csi-driver pkg/webhook
)
"""What annotations begin with that GKE reads."""

_OFF_GKE_MPS: Final = {GKE_SHARING: Constraint(excluded=("mps",))}
"""The labels of nodes that do not share GPUs through GKE's MPS."""


def is_on_gke(pod: Pod, required: Requirement | None) -> bool:
    """Whether a pod has an annotation that GKE reads, or requires a label of GKE's nodes."""
    return any(key.startswith(_GKE_ANNOTATIONS) for key in pod.annotations) or requires_gke(required)


def requires_gke(required: Requirement | None) -> bool:
    """Whether a pod requires a label of GKE's nodes, so that it runs nowhere else."""
    if required is None:
        return False
    return any(key.startswith(_GKE_LABELS) for key in required.selector) or (
        required.terms is not None
        and all(
            any(key.startswith(_GKE_LABELS) and not constraint.absent for key, constraint in term.items())
            for term in required.terms
        )
    )


def requires_mps_of_gke(required: Requirement | None) -> bool:
    """Whether a pod can only land on nodes that share GPUs through GKE's MPS."""
    return required is not None and not required.satisfiable(_OFF_GKE_MPS)


GKE_TEXTS: Final = (*_GKE_LABELS, *_GKE_ANNOTATIONS, "cloud.google.com/v1")
"""What the text of manifests for GKE has; the last one is the `apiVersion` of ComputeClasses.

Of the marks, only those of GKE tell which profile suits: EKS, AKS and OpenShift run NVIDIA's device plugin, and share
GPUs in any way, or not at all.
"""

KAI_FRACTION: Final = "gpu-fraction"
KAI_MEMORY: Final = "gpu-memory"
"""Annotations of pods that ask KAI Scheduler for a part of a card."""

KAI_MPS: Final = "nvidia.mps/enabled"
"""The label of nodes with an MPS daemon (kai-scheduler/KAI-Scheduler docs/gpu-sharing/mps)."""


class Manager(NamedTuple):
    """A scheduler: its name in messages, the markers of its pods, and the remedy for its clusters.

    `scheduler` is the value of `schedulerName`, None if it also schedules for NVIDIA's device plugin. `resources` begin
    the names of its resources.
    """

    name: str
    scheduler: str | None
    annotations: frozenset[str]
    resources: tuple[str, ...]
    remedy: str


_FRACTIONING = Manager("KAI Scheduler", "kai-scheduler", frozenset(), (), "use the profile nv-fractions")

_NO_LIMIT = "set limits.perContainer and limits.perPod to null"

MANAGERS = (
    # Project-HAMi/HAMi docs/config.md, charts/hami/values.yaml
    Manager("HAMi", "hami-scheduler", frozenset(), ("nvidia.com/gpumem", "nvidia.com/gpucores"), _NO_LIMIT),
    # kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go
    Manager(
        "KAI Scheduler",
        "kai-scheduler",
        frozenset({KAI_FRACTION, KAI_MEMORY, "gpu-fraction-num-devices"}),
        (),
        "use the profile kai",
    ),
    # volcano-sh/volcano pkg/scheduler/api/devices/nvidia/vgpu/type.go
    Manager("Volcano", None, frozenset(), ("volcano.sh/vgpu-",), _NO_LIMIT),
)


def manager_of(pod: Pod) -> Manager | None:
    """The scheduler whose markers a pod has."""
    if any(key.startswith(FRACTIONS) for key in pod.annotations):
        return _FRACTIONING
    scheduler = pod.spec.get("schedulerName")
    for manager in MANAGERS:
        is_named = scheduler is not None and scheduler == manager.scheduler
        if is_named or not manager.annotations.isdisjoint(pod.annotations):
            return manager
    return manager_by_resources(pod)


def manager_by_resources(pod: Pod) -> Manager | None:
    """The scheduler whose resources a pod names."""
    names = {name for container in pod.containers for name in (*container.limits, *container.requests)}
    for manager in MANAGERS:
        for name in names:
            if name.startswith(manager.resources):
                return manager
    return None


NAMESPACE_SELECTORS: Final = ("scheduler.alpha.kubernetes.io/node-selector", "openshift.io/node-selector")
"""The annotations by which a namespace adds a node selector to its pods.

They are those of the admission plugin PodNodeSelector (kubernetes/kubernetes plugin/pkg/admission/podnodeselector), and
of OpenShift (openshift/apiserver-library-go, openshift/api).
"""

POD_SECURITY: Final = "pod-security.kubernetes.io/"
"""What the labels of namespaces about Pod Security begin with."""

EKS_ACCELERATOR: Final = "k8s.amazonaws.com/accelerator"
"""The label by which the cluster autoscaler knows GPU nodes of EKS (kubernetes/autoscaler cloudprovider/aws)."""

EKS_NODE_GROUP: Final = "eks.amazonaws.com/nodegroup"
"""The label of the nodes of a managed node group."""

_VENDORS: Final[Mapping[str, str]] = {
    "nvidia.com/gpu.present": "true",
    CAPABLE: "true",
    "kubernetes.azure.com/accelerator": "nvidia",  # Azure/AgentBaker
    "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia",  # aws/karpenter-provider-aws pkg/apis/v1/labels.go
    "eks.amazonaws.com/instance-gpu-manufacturer": "nvidia",  # EKS Auto Mode
}
"""Labels of the GPU operator, GPU feature discovery, AKS, Karpenter and EKS that say that a node has GPUs of NVIDIA."""

_MODELS: Final = (
    EKS_ACCELERATOR,
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "eks.amazonaws.com/instance-gpu-name",
)
"""Labels of EKS, GKE and Karpenter whose values name the model."""

_OTHERS: Final = re.compile(r"amd|radeon|neuron|inferentia|trainium|tpu|gaudi", re.ASCII | re.IGNORECASE)
"""Words of accelerators of other vendors."""

_PCI: Final = re.compile(r"feature\.node\.kubernetes\.io/pci-(?:03\d\d_)?10de(?:_\w+)?\.present", re.ASCII)
"""Labels of node feature discovery for a device of NVIDIA, in the forms of its charts."""

_TALOS: Final = "extensions.talos.dev/nvidia-"


def shows_gpus(labels: Mapping[str, str], taints: Iterable[Taint] = ()) -> bool:
    """Whether labels, or taints such as those of NVIDIA's guides, say that a node has GPUs of NVIDIA."""
    return (
        any(taint.key.startswith(DOMAIN) for taint in taints)
        or any(labels.get(key) == value for key, value in _VENDORS.items())
        or CONFIG_LABEL in labels
        or labels.get(CARD_COUNT, "0") != "0"
        or any(key in labels and not _OTHERS.search(labels[key]) for key in _MODELS)
        or any((value == "true" and _PCI.fullmatch(key)) or key.startswith(_TALOS) for key, value in labels.items())
    )
