"""Kinds that may name a GPU resource and run no pods: the search leaves them out, and the report says why.

The sources of manifests run no pods either, but the objects that are rendered from them do. A rule of a Kyverno policy
may ask for GPUs where it creates or changes objects, not where it matches and validates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.manifests.recognition import FRAGMENT, KUSTOMIZATION
from webhook.policy.pods.reading import Members

_POLICY = "it is a policy about objects"

_KINDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "it describes what nodes offer": {
        "": ("Node",),
        "cloud.google.com": ("ComputeClass",),
        "core.gardener.cloud": ("CloudProfile", "NamespacedCloudProfile"),
        "eks.amazonaws.com": ("NodeClass",),
        "karpenter.azure.com": ("AKSNodeClass",),
        "karpenter.k8s.aws": ("EC2NodeClass",),
        "karpenter.kwok.sh": ("KWOKNodeClass",),
        "karpenter.sh": ("NodeClaim", "NodeOverlay", "NodePool", "Provisioner"),
        "machine.sapcloud.io": ("MachineClass",),
        "nfd.k8s-sigs.io": ("NodeFeature", "NodeFeatureGroup", "NodeFeatureRule"),
        "nodeinfo.volcano.sh": ("Numatopology",),
        "resource.k8s.io": ("DeviceClass", "ResourceSlice"),
        "topology.node.k8s.io": ("NodeResourceTopology",),
    },
    "it scales nodes": {"autoscaling.openshift.io": ("ClusterAutoscaler", "MachineAutoscaler")},
    # Placeholder pods exist in the memory of the autoscaler only (kubernetes/autoscaler, `apis/capacitybuffer`).
    "it asks for spare nodes": {"autoscaling.x-k8s.io": ("CapacityBuffer", "ProvisioningRequest")},
    "it claims devices by their class": {"resource.k8s.io": ("ResourceClaim", "ResourceClaimTemplate")},
    "it limits the pods of a namespace": {
        "": ("LimitRange", "ResourceQuota"),
        "capsule.clastix.io": ("Tenant",),
        "quota.openshift.io": ("AppliedClusterResourceQuota", "ClusterResourceQuota"),
    },
    "it gives quotas to queues": {
        "kueue.x-k8s.io": tuple(
            """
            AdmissionCheck ClusterQueue Cohort LocalQueue MultiKueueConfig ProvisioningRequestConfig ResourceFlavor
            Topology WorkloadPriorityClass
            """.split()
        ),
        "nos.nebuly.com": ("CompositeElasticQuota", "ElasticQuota"),
        "scheduling.run.ai": ("Queue",),
        "scheduling.sigs.k8s.io": ("ElasticQuota",),
        "scheduling.volcano.sh": ("Queue",),
        "scheduling.x-k8s.io": ("ElasticQuota",),
    },
    "it groups pods that another object makes": {
        "scheduling.run.ai": ("BindRequest", "PodGroup"),
        "scheduling.sigs.k8s.io": ("PodGroup",),
        "scheduling.volcano.sh": ("PodGroup",),
        "scheduling.x-k8s.io": ("PodGroup",),
    },
    "it scales pods that another object makes": {
        "autoscaling": ("HorizontalPodAutoscaler",),
        "autoscaling.k8s.io": ("VerticalPodAutoscaler", "VerticalPodAutoscalerCheckpoint"),
        "keda.sh": ("ScaledObject",),
    },
    "it describes a class of pods": {"node.k8s.io": ("RuntimeClass",), "scheduling.k8s.io": ("PriorityClass",)},
    "it describes kinds of objects": {
        "apiextensions.crossplane.io": ("CompositeResourceDefinition",),
        "apiextensions.k8s.io": ("CustomResourceDefinition",),
    },
    _POLICY: {
        "admissionregistration.k8s.io": tuple(
            """
            MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy
            ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
            """.split()
        ),
        "kyverno.io": ("PolicyException",),
        "policies.kyverno.io": ("ImageValidatingPolicy", "PolicyException", "ValidatingPolicy"),
        "templates.gatekeeper.sh": ("ConstraintTemplate",),
    },
    "it configures a program": {
        "config.kueue.x-k8s.io": ("Configuration",),
        "gpushare-webhook": ("CheckReport", "Facts", "Settings"),
        "kubescheduler.config.k8s.io": ("KubeSchedulerConfiguration",),
        "monitoring.coreos.com": ("PodMonitor", "PrometheusRule", "ServiceMonitor"),
    },
    # NVIDIA/gpu-operator, api/nvidia: they describe what the operator installs on nodes.
    "it configures the GPU operator": {"nvidia.com": ("ClusterPolicy", "GPUCluster", "NVIDIADriver")},
    "it describes a network or rights": {
        "": ("Endpoints", "Event", "Namespace", "Service", "ServiceAccount"),
        "networking.k8s.io": ("Ingress", "NetworkPolicy"),
        "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    },
}
"""By reason, groups and kinds."""

RUNS_NO_PODS: Mapping[tuple[str, str], str] = {
    (group, kind): reason for reason, groups in _KINDS.items() for group, kinds in groups.items() for kind in kinds
}
"""Why an object of a kind runs no pods, by API group and kind."""

_GROUPS = {"constraints.gatekeeper.sh": _POLICY}
"""Groups whose kinds users define and that run no pods."""


def why_no_pods(group: str, kind: str) -> str | None:
    """Why an object of a kind runs no pods; None if it may run some."""
    return RUNS_NO_PODS.get((group, kind)) or _GROUPS.get(group)


_OF_KUBERNETES = frozenset(("", "apps", "autoscaling", "batch", "extensions", "policy")).union(
    f"{name}.k8s.io"
    for name in """
    admissionregistration apiextensions apiregistration authentication authorization certificates coordination
    discovery events flowcontrol.apiserver internal.apiserver networking node rbac.authorization resource scheduling
    storage storagemigration
    """.split()
)


def is_of_kubernetes(group: str) -> bool:
    """Whether Kubernetes itself defines the kinds of a group, all of which are known. Others also end in `k8s.io`."""
    return group in _OF_KUBERNETES


RENDERED: Mapping[tuple[str, str], str] = {
    KUSTOMIZATION: "kubectl kustomize",
    FRAGMENT: "kubectl kustomize",
    ("kustomize.config.k8s.io", "Component"): "kubectl kustomize",
    ("argoproj.io", "Application"): "argocd app manifests APPNAME",
    ("argoproj.io", "ApplicationSet"): "argocd appset generate FILE",
    ("helm.cattle.io", "HelmChart"): "helm template",
    ("helm.cattle.io", "HelmChartConfig"): "helm template",
    ("helm.toolkit.fluxcd.io", "HelmRelease"): "helm template",
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): "flux build kustomization",
    ("source.toolkit.fluxcd.io", "HelmChart"): "helm template",
    ("template.openshift.io", "Template"): "oc process",
}
"""The command that renders the manifests of which an object is the source, by API group and kind."""


_KYVERNO = (("kyverno.io", "ClusterPolicy"), ("kyverno.io", "Policy"))
_PASSIVE = frozenset(("celPreconditions", "exclude", "match", "preconditions", "validate", "verifyImages"))
"""Members of a rule that compare and select."""


def active(manifest: Members, group: str, kind: str) -> Members:
    """An object without the parts of a policy that ask for nothing. All of any other object."""
    spec = manifest.get("spec")
    if (group, kind) not in _KYVERNO or not isinstance(spec, dict) or not isinstance(spec.get("rules"), list):
        return manifest
    return {**manifest, "spec": {**spec, "rules": [_active(rule) for rule in spec["rules"]]}}


def _active(rule: Any) -> Any:
    """A rule without what compares and selects, and without an object that it generates and that runs no pods."""
    if not isinstance(rule, dict):
        return rule
    left_out, generate = _PASSIVE, rule.get("generate")
    if isinstance(generate, dict) and "foreach" not in generate:
        version, kind = generate.get("apiVersion"), generate.get("kind")
        if isinstance(version, str) and isinstance(kind, str) and why_no_pods(version.rpartition("/")[0], kind):
            left_out = _PASSIVE | {"generate"}
    return {key: value for key, value in rule.items() if key not in left_out}
