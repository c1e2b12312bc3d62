"""Minimal objects for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.cluster.harness import busybox

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object


GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
STRATEGY, CAPABLE = "nvidia.com/gpu.sharing-strategy", "nvidia.com/mps.capable"
CONFIG = "nvidia.com/device-plugin.config"
PIPE = "/mps/nvidia.com/gpu/pipe"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


def container(name: str = "main", *, gpus: int = 1, resource: str = GPU, **fields: Any) -> Object:
    """A container that sleeps; further fields by their Kubernetes names."""
    limits = {"resources": {"limits": {resource: gpus}}} if gpus else {}
    return {"name": name, "image": busybox.IMAGE, **limits, **fields}


def pod(name: str, *containers: Object, **spec: Any) -> Object:
    """A pod of one sleeping GPU container unless others are given; further fields of its spec by name."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec(*containers, **spec)}


def labelled(manifest: Object, **labels: str) -> Object:
    """The same object with labels."""
    return {**manifest, "metadata": {**manifest["metadata"], "labels": labels}}


def annotated(manifest: Object, **annotations: str) -> Object:
    """The same object with annotations."""
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def pod_spec(*containers: Object, **spec: Any) -> Object:
    """A pod's spec. A grace period of one second is enough, because the image handles SIGTERM."""
    return {"terminationGracePeriodSeconds": 1, "containers": list(containers) or [container()], **spec}


def deployment(name: str, *containers: Object, replicas: int = 1, **spec: Any) -> Object:
    """A Deployment whose pods are those of `pod`."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(*containers, **spec)}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": body}


def job(name: str, *containers: Object, **spec: Any) -> Object:
    """A Job of one pod that does not restart; further fields of the Job's spec by name."""
    template = {"spec": pod_spec(*containers, restartPolicy="Never")}
    metadata = {"name": name}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template, **spec}}


def host_path(name: str, path: str, kind: str = "DirectoryOrCreate") -> Object:
    """A hostPath volume."""
    return {"name": name, "hostPath": {"path": path, "type": kind}}
