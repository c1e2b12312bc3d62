"""The AdmissionReview that the API server would send when an object is created with `--dry-run=server`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a mirror pod, which only a node creates."""

_USER = {"username": "gpushare-webhook:check", "groups": ["system:authenticated"]}
_NODE = {"username": "system:node:gpushare-webhook-check", "groups": ["system:nodes", "system:authenticated"]}


@dataclass(frozen=True, slots=True)
class NewObject:
    """An object to create. `resource` is the name of its kind in the API's paths; `name` is empty for a generated one.

    `namespace` is empty for a cluster-scoped object. `value` is the whole object.
    """

    group: str
    version: str
    kind: str
    resource: str
    namespace: str
    name: str
    value: Any

    def changed_to(self, value: Any) -> NewObject:
        """Return the same object with another content."""
        return NewObject(self.group, self.version, self.kind, self.resource, self.namespace, self.name, value)


def review(created: NewObject, uid: str) -> bytes:
    """Return the review in JSON. Raises ValueError for a value that JSON cannot hold."""
    kind = {"group": created.group, "version": created.version, "kind": created.kind}
    resource = {"group": created.group, "version": created.version, "resource": created.resource}
    request = {
        "uid": uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        **({"name": created.name} if created.name else {}),
        **({"namespace": created.namespace} if created.namespace else {}),
        "operation": "CREATE",
        "userInfo": _NODE if _is_mirror(created.value) else _USER,
        "object": created.value,
        "oldObject": None,
        "dryRun": True,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "dryRun": ["All"]},
    }
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(whole, allow_nan=False, separators=(",", ":")).encode()


def _is_mirror(value: Any) -> bool:
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and MIRROR in annotations
