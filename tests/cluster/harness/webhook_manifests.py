"""The objects that install the product in a cluster, plainly: what its chart will render, with nothing to choose."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from tests.cluster.harness import webhook_image

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object


NAME = "gpushare-webhook"
HOST = f"{NAME}.{NAME}.svc"
_LABELS = {"app": NAME}
_MOUNT = "/etc/gpushare-webhook"

# What Pod Security lets no hostPath into.
_STRICT = ["baseline", "restricted"]
_EXCLUDED = [NAME, "kube-system", "kube-node-lease"]

_NAMES_GPU = (
    "[{spec}.containers, {spec}.?initContainers.orValue([])].exists(list, list.exists(c, "
    "c.?resources.?limits.orValue({{}}).exists(name, name.startsWith('nvidia.com/')) || "
    "c.?resources.?requests.orValue({{}}).exists(name, name.startsWith('nvidia.com/'))))"
)
# An update that drops a toleration: the API server would refuse it, and one of ours is put back.
_LOSES_A_TOLERATION = (
    "oldObject.spec.?tolerations.orValue([]).exists(had, !(had in object.spec.?tolerations.orValue([])))"
)
# Where each kind keeps its pod template, as CEL.
_TEMPLATES = {
    "template": "object.spec.template",
    "job-template": "object.spec.jobTemplate.spec.template",
    "pod-template": "object.template",
}
_KINDS = {
    "template": [
        ("apps", ["deployments", "statefulsets", "daemonsets", "replicasets"]),
        ("batch", ["jobs"]),
        ("", ["replicationcontrollers"]),
    ],
    "job-template": [("batch", ["cronjobs"])],
    "pod-template": [("", ["podtemplates"])],
}


def namespace() -> Object:
    """The product's namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}


def secret(certificate: bytes, key: bytes) -> Object:
    """The serving certificate."""
    data = {"tls.crt": certificate, "tls.key": key}
    encoded = {name: base64.b64encode(content).decode() for name, content in data.items()}
    return _object("v1", "Secret", {"type": "kubernetes.io/tls", "data": encoded})


def config_map(settings: Object) -> Object:
    """The settings file; JSON is YAML."""
    return _object("v1", "ConfigMap", {"data": {"settings.yaml": json.dumps(settings)}})


def service() -> Object:
    """The Service by which the API server calls."""
    ports = [{"port": 443, "targetPort": 10250}]
    return _object("v1", "Service", {"spec": {"selector": _LABELS, "ports": ports}})


def deployment(replicas: int) -> Object:
    """The product's pods, as the restricted profile of Pod Security wants them."""
    probe = {"httpGet": {"path": "/readyz", "port": 8080}, "periodSeconds": 1}
    tls, settings = f"{_MOUNT}/tls", f"{_MOUNT}/settings"
    arguments = [
        *("serve", f"--config={settings}/settings.yaml"),
        *(f"--tls-cert={tls}/tls.crt", f"--tls-key={tls}/tls.key"),
    ]
    container = {
        "name": "webhook",
        "image": webhook_image.IMAGE,
        "args": arguments,
        "ports": [{"containerPort": 10250}, {"containerPort": 8080}],
        "readinessProbe": probe,
        "volumeMounts": [{"name": "tls", "mountPath": tls}, {"name": "settings", "mountPath": settings}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod = {
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [
            {"name": "tls", "secret": {"secretName": NAME}},
            {"name": "settings", "configMap": {"name": NAME}},
        ],
    }
    template = {"metadata": {"labels": _LABELS}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": _LABELS}, "template": template}
    return _object("apps/v1", "Deployment", {"spec": spec})


def mutating(authority: bytes) -> Object:
    """The hook for pods: an entry where hostPath is allowed, one where Pod Security forbids it, and one for updates."""
    entries = [
        _entry("pods", "/mutate", authority, "Ignore", "NotIn"),
        _entry("pods-without-hostpath", "/mutate/without-hostpath", authority, "Ignore", "In"),
    ]
    for entry in entries:
        entry["rules"] = [_rule("", ["pods"], ["CREATE"])]
        entry["matchConditions"] = [_names_gpu("object.spec")]
        entry["reinvocationPolicy"] = "IfNeeded"
    return _configuration("MutatingWebhookConfiguration", [*entries, _updates(authority)])


def _updates(authority: bytes) -> Object:
    entry = _entry("pods-update", "/mutate", authority, "Ignore")
    entry["rules"] = [_rule("", ["pods"], ["UPDATE"])]
    loses = {"name": "loses-a-toleration", "expression": _LOSES_A_TOLERATION}
    entry["matchConditions"] = [loses, _names_gpu("object.spec")]
    entry["reinvocationPolicy"] = "IfNeeded"
    return entry


def validating(authority: bytes) -> Object:
    """The hook for pods and for the pod templates of workloads, where only a new or changed template is judged."""
    pods = _entry("pods", "/validate", authority, "Fail")
    pods["rules"] = [_rule("", ["pods"], ["CREATE"])]
    pods["matchConditions"] = [_names_gpu("object.spec")]
    return _configuration("ValidatingWebhookConfiguration", [pods, *(_workloads(form, authority) for form in _KINDS)])


def _workloads(form: str, authority: bytes) -> Object:
    entry = _entry(f"workloads-{form}", "/validate", authority, "Fail")
    template = _TEMPLATES[form]
    former = template.replace("object", "oldObject", 1)
    entry["rules"] = [_rule(group, resources, ["CREATE", "UPDATE"]) for group, resources in _KINDS[form]]
    entry["matchConditions"] = [
        {"name": "template-is-new", "expression": f"oldObject == null || {template} != {former}"},
        _names_gpu(f"{template}.spec"),
    ]
    return entry


def _names_gpu(spec: str) -> Object:
    return {"name": "names-a-gpu", "expression": _NAMES_GPU.format(spec=spec)}


def _entry(name: str, path: str, authority: bytes, policy: str, strictness: str = "") -> Object:
    """One webhook; `strictness` is the operator by which it is split on Pod Security's label."""
    others = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": _EXCLUDED}
    strict = {"key": "pod-security.kubernetes.io/enforce", "operator": strictness, "values": _STRICT}
    return {
        "name": f"{name}.gpushare-webhook.test",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "failurePolicy": policy,
        "clientConfig": {
            "service": {"namespace": NAME, "name": NAME, "path": path},
            "caBundle": base64.b64encode(authority).decode(),
        },
        "namespaceSelector": {"matchExpressions": [others, strict] if strictness else [others]},
    }


def _rule(group: str, resources: list[str], operations: list[str]) -> Object:
    return {"apiGroups": [group], "apiVersions": ["v1"], "operations": operations, "resources": resources}


def _configuration(kind: str, entries: list[Object]) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": NAME},
        "webhooks": entries,
    }


def _object(version: str, kind: str, body: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": NAME, "namespace": NAME}, **body}
