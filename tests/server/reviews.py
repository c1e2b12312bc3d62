"""Reviews for servers under test, as the API server builds them."""

from __future__ import annotations

import base64
import json
import uuid
from typing import Any

Json = dict[str, Any]


def pod(replicas: object = 1, *, name: str | None = "train", **spec: Any) -> Json:
    """A pod with one container that asks for replicas."""
    metadata = {"generateName": "train-"} if name is None else {"name": name}
    container = {"name": "train", "resources": {"limits": {"nvidia.com/gpu": replicas}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def deployment(replicas: object) -> Json:
    """A Deployment whose pods ask for replicas."""
    template = {"metadata": {}, "spec": pod(replicas)["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "inference"},
        "spec": {"template": template},
    }


def review(manifest: Any, operation: str = "CREATE", **request: Any) -> Json:
    """The review of an object; `request` overrides members of its request."""
    group, _, version = manifest["apiVersion"].rpartition("/") if isinstance(manifest, dict) else ("", "", "v1")
    kind = manifest["kind"] if isinstance(manifest, dict) else "Pod"
    asked = {
        "uid": str(uuid.uuid4()),
        "kind": {"group": group, "version": version, "kind": kind},
        "namespace": "team-a",
        "operation": operation,
        "userInfo": {"username": "someone", "groups": ["system:authenticated"]},
        "object": manifest,
        "oldObject": None,
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


def patch_of(answer: Json) -> list[Json]:
    """The operations that an answer carries; none without a patch."""
    encoded = answer["response"].get("patch")
    return [] if encoded is None else list(json.loads(base64.b64decode(encoded, validate=True)))
