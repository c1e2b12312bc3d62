"""Pods and workloads as the API server returns them, in the fields that the census reads."""

from __future__ import annotations

from typing import Any

from webhook.cluster.objects import Object


def metadata(name: str, namespace: str = "team-a", owner: tuple[str, str, str] | None = None, **rest: Any) -> Object:
    """The metadata of an object. `owner` is the API version, the kind and the name of its controller."""
    references = (
        []
        if owner is None
        else [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "uid": "u", "controller": True}]
    )
    return {"name": name, "namespace": namespace, "uid": "u", "ownerReferences": references, **rest}


def spec(gpus: int = 1, name: str = "train", **rest: Any) -> Object:
    """The spec of a pod with a container that asks for replicas; 0 for none."""
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return {"containers": [{"name": name, "image": "i", "resources": resources}], **rest}


def pod(name: str, gpus: int = 1, owner: tuple[str, str, str] | None = None, **rest: Any) -> Object:
    """A pod that runs."""
    namespace = rest.pop("namespace", "team-a")
    node = rest.pop("node", "gpu-1")
    status = {"phase": rest.pop("phase", "Running"), "podIP": "10.0.0.1"}
    return {
        "metadata": metadata(name, namespace, owner, **rest.pop("metadata", {})),
        "spec": {**spec(gpus, **rest), **({"nodeName": node} if node else {})},
        "status": status,
    }


def workload(name: str, gpus: int = 1, owner: tuple[str, str, str] | None = None, **rest: Any) -> Object:
    """An object with the template of a pod at `spec.template`."""
    namespace = rest.pop("namespace", "team-a")
    template = {"metadata": {"labels": {"app": name}}, "spec": spec(gpus, **rest)}
    return {"metadata": metadata(name, namespace, owner), "spec": {"replicas": 1, "template": template}}
